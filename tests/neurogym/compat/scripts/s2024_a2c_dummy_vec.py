"""Reinforcement learning notebook: wrappers, DummyVecEnv, A2C, a plot of the trained agent."""

import warnings

import numpy as np
from stable_baselines3 import A2C
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import DummyVecEnv

import neurogym as ngym
from neurogym.utils import plot_env
from neurogym.wrappers import PassReward, TrialHistoryV2

warnings.filterwarnings("default")
env = ngym.make("GoNogo-v0", dt=100, timing={"fixation": ("constant", 300), "stimulus": ("constant", 500)})
env = TrialHistoryV2(env, np.array([[0.8, 0.2], [0.2, 0.8]]))
env = PassReward(env)
check_env(env)
plot_env(env, num_steps=60, ob_traces=["Fixation cue", "NoGo", "Go", "Previous reward"], fig_kwargs={"figsize": (6, 5)})
vec = DummyVecEnv([lambda: env])
model = A2C("MlpPolicy", vec, verbose=0, policy_kwargs={"net_arch": [16]})
model.learn(total_timesteps=200, log_interval=100)
plot_env(vec, num_steps=60, num_trials=None, model=model, name="trained", plot_performance=True)
vec.close()
