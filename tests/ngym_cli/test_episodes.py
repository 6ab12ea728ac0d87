"""Environments of Gymnasium without trials: each episode is a trial without a right answer."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import ngym_cli as nc
from neurogym import state
from neurogym.envs.episodes import EpisodeTask

CORRIDOR = """
import gymnasium as gym


class Corridor(gym.Env):
    length = 5

    def __init__(self):
        self.observation_space, self.action_space = gym.spaces.Discrete(self.length), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(2))
        return self.place, {}

    def step(self, action):
        self.place = max(0, self.place + (1 if action else -1))
        ended = self.place == self.length - 1
        return self.place, 1.0 if ended else -0.1, ended, False, {}
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("corridor.py").write_text(CORRIDOR)


def act(env, rng, steps):
    """Take random steps; return observations and rewards."""
    return [env.step(int(rng.integers(2)))[:2] for _ in range(steps)]


def test_an_episode_is_a_trial_with_the_observations_and_rewards_of_the_environment():
    env = EpisodeTask(gym.make("CartPole-v1"))
    ob, _ = env.reset(seed=0)
    inner = gym.make("CartPole-v1")
    expected, _ = inner.reset(seed=env.trial["episode_seed"])
    np.testing.assert_array_equal(ob, expected)
    total = 0.0
    for action in [1] * 100:
        ob, reward, _, _, info = env.step(action)
        expected, expected_reward, terminated, _, _ = inner.step(action)
        total += reward
        assert reward == expected_reward and info["new_trial"] == terminated
        if terminated:
            break
        np.testing.assert_array_equal(ob, expected)
    assert info["trial_reward"] == total and np.isnan(info["performance"]) and info["trial_steps"] == total


def test_a_session_of_episodes_is_saved_in_the_middle_of_an_episode():
    env, copy = (EpisodeTask(gym.make("CartPole-v1")) for _ in range(2))
    env.reset(seed=3)
    act(env, np.random.default_rng(0), 7)
    copy.reset(seed=4)
    state.restore(copy, state.capture(env))
    after, again = (act(each, np.random.default_rng(1), 60) for each in (env, copy))
    assert str(after) == str(again)


@pytest.mark.parametrize("task", ["CartPole-v1", "corridor.py:Corridor"])
def test_episodes_are_trained_evaluated_and_drawn_without_performance(task):
    run = nc.train(task, timesteps=3_000, n_envs=8, eval_trials=20, progress=False)
    assert "reward per trial" in repr(run) and "performance" not in repr(run) and "ceiling" not in repr(run)
    assert np.isfinite(run.trials["reward"]).all() and run.trials["performance"].isna().all()
    assert "reward per trial" in repr(run.evaluate(20, seed=1))
    assert run.plot("learning").axes[0].get_ylabel() == "reward per trial"
    with pytest.raises(nc.UserError):
        run.plot("psychometric")


def test_the_command_prints_that_performance_is_not_defined(ngym):
    result = ngym(
        *"run --task corridor.py:Corridor --timesteps 2000 --n-envs 4 --eval-trials 20 --name a".split(),
    )
    assert result.code == 0, result.err
    assert "not defined: the trials are episodes without a right answer" in result.out and "nan" not in result.out


def test_what_needs_a_right_answer_is_refused():
    for arguments, message in (
        ({"alg": "supervised"}, "no ground truth"),
        ({"until": 0.9}, "ceiling, which is not known"),
        ({"timing": {"stimulus": 5}}, "unknown argument of task CartPole-v1 'timing'"),
    ):
        with pytest.raises(nc.UserError, match=message):
            nc.train("CartPole-v1", timesteps=1_000, progress=False, **arguments)
    with pytest.raises(nc.UserError, match="its name is 'CartPole-v1'"):
        nc.train(gym.make("CartPole-v1"), progress=False)
