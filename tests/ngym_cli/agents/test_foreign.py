"""The recurrent learner on an environment of Gymnasium, and a plain learner on batches of tasks."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv

import neurogym as ngym
from neurogym.vector import make_vec
from ngym_cli import RecurrentPPO
from ngym_cli.agents.algorithms.sb3 import TrialVecEnv


@pytest.mark.slow
def test_recurrent_ppo_learns_cart_pole():
    torch.set_num_threads(1)
    venv = make_vec_env("CartPole-v1", n_envs=8, seed=0)
    agent = RecurrentPPO(
        "RecurrentPolicy",
        venv,
        n_steps=32,
        batch_size=256,
        n_epochs=20,
        gamma=0.98,
        gae_lambda=0.8,
        learning_rate=1e-3,
        seed=0,
        policy_kwargs={"network": "gru", "units": 32},
    )
    before, _ = evaluate_policy(agent, make_vec_env("CartPole-v1", n_envs=8, seed=1), 20)
    agent.learn(60_000)
    after, _ = evaluate_policy(agent, make_vec_env("CartPole-v1", n_envs=8, seed=1), 20)
    assert after > before + 60


@pytest.mark.parametrize("shape", [(), (1, 1)])
def test_actions_may_have_any_shape(shape):
    def make():
        space = gym.spaces.Box(-2, 2, shape, np.float32)
        return gym.wrappers.TransformAction(gym.make("Pendulum-v1"), lambda action: np.reshape(action, 1), space)

    agent = RecurrentPPO("RecurrentPolicy", DummyVecEnv([make] * 2), n_steps=8, policy_kwargs={"units": 4})
    agent.learn(32)
    assert agent.predict(np.zeros((5, 3), np.float32))[0].shape == (5, *shape)


def test_plain_ppo_learns_from_batches():
    venv = TrialVecEnv(make_vec(lambda: ngym.make("GoNogo-v0"), 16), "trial")
    model = PPO("MlpPolicy", venv, n_steps=64, batch_size=256, gamma=0.9, seed=0)
    before = {name: array.clone() for name, array in model.policy.state_dict().items()}
    model.learn(4_000)
    assert model.num_timesteps >= 4_000
    assert any(not torch.equal(array, before[name]) for name, array in model.policy.state_dict().items())
