"""Plots: numbers as reward keys, a configuration object, many traces."""

import neurogym as ngym
from neurogym.utils.plotting import PlotConfig, order_by_suffix, plot_env

env = ngym.make("PerceptualDecisionMaking-v0", dt=20)
env.unwrapped.rewards = {0: -0.1, 1: 1.0, "fail": 0.0}
figure = plot_env(env, num_steps=100, plot_config=PlotConfig(title="a title", create=True))
assert figure is not None
plot_env("SpatialSuppressMotion-v0", num_steps=40)
plot_env("ReachingDelayResponse-v0", num_steps=40)
plot_env("yang19.dm1-v0", num_trials=2, def_act=0, fname="a")
assert order_by_suffix(["a_10.npz", "a_9.npz"]) == ["a_9.npz", "a_10.npz"]
