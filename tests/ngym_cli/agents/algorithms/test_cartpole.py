"""Correctness beyond our tasks: balancing a pole whose velocities are not seen."""

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from ngym_cli.agents.algorithms.recurrent_ppo import RecurrentPPO

SETTINGS = {"n_steps": 64, "batch_size": 512, "n_epochs": 10, "gae_lambda": 0.9, "max_grad_norm": 0.5}


class Positions(gym.ObservationWrapper):
    """Cart position and pole angle; the velocities must be remembered."""

    def __init__(self, env):
        super().__init__(env)
        high = env.observation_space.high[[0, 2]]
        self.observation_space = gym.spaces.Box(-high, high, dtype=np.float32)

    def observation(self, observation):
        return observation[[0, 2]].astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cartpole_without_velocities_is_balanced_to_the_end(seed):
    n_envs = 8
    venv = VecNormalize(DummyVecEnv([lambda: Positions(gym.make("CartPole-v1"))] * n_envs), gamma=0.99)
    venv.seed(seed)
    model = RecurrentPPO("RecurrentPolicy", venv, learning_rate=lambda left: 2e-3 * left, seed=seed, **SETTINGS)
    model.learn(100_000)
    venv.training = venv.norm_reward = False
    obs, state, starts = venv.reset(), None, np.ones(n_envs, bool)
    lengths, running = [], np.zeros(n_envs, int)
    while len(lengths) < 40:
        actions, state = model.predict(obs, state, starts, deterministic=True)
        obs, _, starts, _ = venv.step(actions)
        running += 1
        lengths += running[starts].tolist()
        running[starts] = 0
    assert np.mean(lengths) == 500
