"""2.x: Monitor by keyword and by Config; evaluation, history."""

from neurogym.config.config import Config
from neurogym.config.base import LOCAL_DIR

import neurogym as ngym
from neurogym.utils.logging import logger
from neurogym.wrappers.monitor import Monitor, visualize_run

logger.info("starting", color="green", style="bold")
env = ngym.make("PerceptualDecisionMaking-v0", dt=100, timing={"stimulus": 300})
env = Monitor(
    env, name="demo", trigger="trial", interval=20, plot_create=True, plot_steps=30, verbose=True, save_dir="here"
)
env.reset(seed=1)
for _ in range(400):
    env.step(env.action_space.sample())
metrics = env.evaluate_policy(num_trials=10)
assert set(metrics) >= {"rewards", "mean_reward", "cum_rewards", "mean_cum_reward", "performances", "mean_performance"}
assert env.plot_training_history(figsize=(6, 4), plot_performance=False) is not None
config = Config(
    local_dir="logs", env={"name": "GoNogo"}, monitor={"name": "m", "plot": {"trigger": "step", "create": False}}
)
env = Monitor(ngym.make("GoNogo-v0"), config=config)
env.reset()
Monitor(ngym.make("GoNogo-v0"), config="no_such_config.toml")
