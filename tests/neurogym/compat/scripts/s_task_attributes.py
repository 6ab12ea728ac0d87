"""Attributes of tasks that analyses read."""

import neurogym as ngym

assert ngym.make("PerceptualDecisionMaking-v0").unwrapped.dim_ring == 2
assert ngym.make("EconomicDecisionMaking-v0").unwrapped.offers[0] == (0, 1)
env = ngym.make("PostDecisionWager-v0").unwrapped
assert set(env.wagers) == {True, False} and len(env.cohs) == 6
env = ngym.make("Bandit-v0", n=3, p=(0.1, 0.2, 0.9), timing=None)
env.reset()
info = env.step(1)[-1]
assert list(info["trial"]["p"]) == [0.1, 0.2, 0.9]
assert ngym.make("DelayMatchCategory-v0").observation_space.shape == (3,)
assert "snail" in ngym.all_tags()
