"""Environments of Gymnasium without trials: each episode is a trial without a right answer."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import ngym_cli as nc
from neurogym import state
from neurogym.envs.episodes import EpisodeTask
from ngym_cli.agents.trained import agent_for
from ngym_cli.config.tasks import find_task

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
    assert "not defined: the trials are episodes without a correct answer" in result.out and "nan" not in result.out


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


STEADY = """
import gymnasium as gym
import numpy as np


class Steady(gym.Env):
    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    ends = False

    def reset(self, *, seed=None, options=None):
        gym.Env.reset(self, seed=seed)
        self.steps = 0
        return np.ones(1, np.float32), {}

    def step(self, action):
        self.steps += 1
        over = self.steps == 5
        return np.ones(1, np.float32), 1.0, over and self.ends, over and not self.ends, {}


class Ending(Steady):
    ends = True


class Endless(Steady):
    def step(self, action):
        return np.ones(1, np.float32), 1.0, False, False, {}


class Bounded(Steady):
    action_space = gym.spaces.Box(10, 20, (1,), np.float32)

    def step(self, action):
        ob, _, *rest = super().step(action)
        assert 10 <= action[0] <= 20
        return ob, -abs(float(action[0]) - 15), *rest


class FromOne(Steady):
    action_space = gym.spaces.Discrete(2, start=1)

    def step(self, action):
        ob, _, *rest = super().step(action)
        assert action in (1, 2)
        return ob, float(action), *rest


class NoInfo(Steady):
    def reset(self, *, seed=None, options=None):
        return super().reset()[0]


class NoSeed(Steady):
    def reset(self):
        return super().reset()


class NoReward(Steady):
    def step(self, action):
        return np.ones(1, np.float32), None, False, False, {}


class ManyRewards(Steady):
    def step(self, action):
        return np.ones(1, np.float32), np.ones(2), False, False, {}


class OfGym(Steady):
    def step(self, action):
        return np.ones(1, np.float32), 1.0, False, {}
"""


@pytest.fixture
def steady():
    Path("steady.py").write_text(STEADY)


def learner(task, alg, timesteps, **settings):
    """Return a learner after training in an environment, and its batch of environments."""
    from ngym_cli.agents.from_config import build_model, build_venv
    from ngym_cli.config.model import from_dict
    from ngym_cli.training.prepare import new_run

    hyper = {"gamma": 0.9, "learning_rate": 0.01, "final_rate": 0.1, **settings.pop("hyperparameters", {})}
    config = {"task": task, "alg": alg, "units": 8, "n_envs": 8, "timesteps": timesteps, "hyperparameters": hyper}
    run = new_run(from_dict({**config, **settings}))
    venv = build_venv(run.config, run.config.n_envs)
    model = build_model(run.config, venv)
    model.learn(timesteps)
    return model, venv


def value_of_the_first_step(model, venv):
    seen = venv.reset()
    if hasattr(model.policy, "networks"):
        agent = agent_for(model.policy, 0)
        return float(agent.act(seen, agent.initial_state(8))[0].values.mean())
    return float(model.policy.predict_values(model.policy.obs_to_tensor(seen)[0]).detach().mean())


SLOW, FAST = {"n_steps": 8, "learning_rate": 0.02}, {"n_steps": 32, "n_epochs": 10, "batch_size": 64}


@pytest.mark.parametrize(
    ("task", "alg", "hyper", "low", "high"),
    [
        ("Steady", "recurrent_ppo", FAST, 9, 11),
        pytest.param("Steady", "recurrent_ppo", FAST | {"l2_rate": 1e-6}, 9, 11, marks=pytest.mark.long),  # in torch
        pytest.param("Steady", "recurrent_a2c", SLOW, 9, 11, marks=pytest.mark.long),
        ("Steady", "a2c", SLOW, 9, 11),
        ("Ending", "recurrent_ppo", FAST, 1, 6),
        pytest.param("Ending", "a2c", SLOW, 1, 6, marks=pytest.mark.long),
    ],
)
def test_the_value_of_a_state_that_a_time_limit_cut_off_is_added(steady, task, alg, hyper, low, high):
    """Worth of reward 1 at each step with a discount of .9: 10 if a limit cuts episodes off, else less."""
    model, venv = learner(f"steady.py:{task}", alg, 12_000, hyperparameters=hyper)
    assert low < value_of_the_first_step(model, venv) < high


@pytest.mark.parametrize("reset_state", ["trial", "never"])
@pytest.mark.parametrize("alg", ["recurrent_ppo", "recurrent_a2c", "reinforce"])
def test_the_last_reward_before_a_time_limit_has_the_value_of_what_was_cut_off(steady, alg, reset_state):
    for task in ("Steady", "Ending"):
        model, _ = learner(f"steady.py:{task}", alg, 600, hyperparameters={"n_steps": 10}, reset_state=reset_state)
        rollout = model.rollout_buffer
        added = rollout.rewards[rollout.ends] - 1
        assert len(added) and np.all(added != 0) == (task == "Steady") == np.any(added != 0)
        assert np.all(rollout.rewards[~rollout.ends] == 1)


def test_both_flags_of_an_episode_are_kept(steady):
    for name, flags in (("Steady", (False, True)), ("Ending", (True, False))):
        env = EpisodeTask(user_class(name)())
        env.reset(seed=0)
        steps = [env.step(0) for _ in range(12)]
        assert [step[2:4] == flags for step in steps] == [step[4]["new_trial"] for step in steps]
        assert [k for k, step in enumerate(steps) if any(step[2:4])] == [4, 9]
    endless = EpisodeTask(user_class("Endless")(), most_steps=3)
    endless.reset(seed=0)
    assert [endless.step(0)[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]


def user_class(name):
    return find_task(f"steady.py:{name}").entry


def test_actions_are_those_of_the_environment(steady):
    bounded, from_one = EpisodeTask(user_class("Bounded")()), EpisodeTask(user_class("FromOne")())
    bounded.reset(seed=0)
    assert [bounded.step(np.full(1, action, np.float32))[1] for action in (-1, 0, 1)] == [-5, 0, -5]
    from_one.reset(seed=0)
    steps = [from_one.step(action) for action in (0, 1, 0, 0, 1)]
    assert [step[1] for step in steps] == [1, 2, 1, 1, 2] and steps[-1][4]["choice"] == 2
    with pytest.raises(ValueError, match="not in Discrete"):
        from_one.step(2)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NoInfo", "NoInfo.reset returned an array of shape .1,.; expected observation, info"),
        ("NoSeed", r"NoSeed.reset takes no seed; expected reset\(self, \*, seed=None, options=None\)"),
        ("NoReward", "NoReward.step returned the reward None; expected a number"),
        ("ManyRewards", "ManyRewards.step returned the reward an array of shape .2,.; expected a number"),
        ("OfGym", "OfGym.step returned 4 values; expected five values"),
    ],
)
def test_a_method_that_does_not_return_what_gymnasium_asks_for_is_named(steady, ngym, tmp_path, name, message):
    with pytest.raises(nc.UserError, match=message) as refused:
        nc.train(f"steady.py:{name}", timesteps=100, progress=False)
    assert "\n" not in str(refused.value)


def test_environments_without_trials_are_checked(steady, ngym):
    fine = ngym("check", "CartPole-v1", "steady.py:Steady", "--json").document
    assert [[row["status"] for row in each["checks"]] for each in fine] == [["ok", "ok"]] * 2
    wrong = ngym("check", "steady.py:OfGym")
    assert wrong.code == 1 and "OfGym.step returned 4 values; expected five values" in wrong.out


def test_a_search_for_performance_is_refused_before_it_trains(steady, ngym):
    words = ("sweep", "--task", "steady.py:Steady", "--search", 2, "--space", "units=int:4:8", "--timesteps", 500)
    wrong = ngym(*words)
    assert wrong.code == 2 and "--maximize reward_per_trial" in wrong.err and not Path("runs").exists()
