"""The batch keeps the contract of Stable-Baselines3's ``VecEnv``: the same calls give what its own batch gives."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize

import neurogym as ngym
from neurogym.vector import make_vec
from neurogym.wrappers import PassAction, PassReward
from ngym_cli.agents.algorithms.sb3 import TrialVecEnv

N = 3


def stack():
    return PassReward(ngym.make("PerceptualDecisionMaking-v0", timing={"stimulus": 200}))


BATCHES = {
    "Stable-Baselines3": lambda: DummyVecEnv([stack] * N),
    "trials": lambda: TrialVecEnv(make_vec(stack, N)),
    "one after the other": lambda: TrialVecEnv(make_vec(lambda: Monitor(stack()), N)),
}


@pytest.fixture(params=BATCHES)
def venv(request):
    created = BATCHES[request.param]()
    created.reset()
    yield created
    created.close()


@pytest.mark.parametrize(("indices", "changed"), [(None, [0, 1, 2]), (0, [0]), ([0, 2], [0, 2]), (range(1, 2), [1])])
def test_attributes_are_of_single_environments(venv, indices, changed):
    for task in venv.get_attr("unwrapped"):
        task.name_of_mine = "old"
    for task in venv.get_attr("unwrapped", indices):
        task.name_of_mine = "new"
    assert [i for i, name in enumerate(venv.get_attr("name_of_mine")) if name == "new"] == changed
    assert venv.get_attr("name_of_mine", indices) == ["new"] * len(changed)
    venv.set_attr("other_of_mine", 1)
    venv.set_attr("other_of_mine", 2, indices)
    assert [i for i, value in enumerate(venv.get_attr("other_of_mine")) if value == 2] == changed


@pytest.mark.parametrize(("indices", "called"), [(None, [0, 1, 2]), (1, [1]), ([0, 2], [0, 2])])
def test_methods_are_called_on_single_environments(venv, indices, called):
    tasks, calls = venv.get_attr("unwrapped"), []
    for i, task in enumerate(tasks):
        task.mine = lambda *args, i=i, **kwargs: calls.append((i, args, kwargs)) or i
    assert venv.env_method("mine", 1, indices=indices, two=2) == called
    assert calls == [(i, (1,), {"two": 2}) for i in called]


def test_wrappers_are_found(venv):
    assert venv.env_is_wrapped(PassReward) == [True] * N and venv.env_is_wrapped(PassReward, [0, 1]) == [True] * 2
    assert venv.env_is_wrapped(PassAction) == [False] * N


def test_what_does_not_exist_is_refused(venv):
    assert venv.has_attr("timing") and not venv.has_attr("nothing_of_the_kind")
    with pytest.raises(AttributeError):
        venv.env_method("nothing_of_the_kind")
    with pytest.raises(IndexError):
        venv.get_attr("timing", [N])


def test_wrappers_of_stable_baselines3_take_it(venv):
    wrapped = VecNormalize(VecMonitor(venv), norm_reward=False)
    observations = wrapped.reset()
    assert observations.shape == (N, *venv.observation_space.shape)
    for _ in range(20):
        observations, rewards, dones, infos = wrapped.step(np.array([venv.action_space.sample() for _ in range(N)]))
    assert rewards.shape == dones.shape == (N,) and len(infos) == N
    assert wrapped.get_attr("dt") == venv.get_attr("dt")


def test_a_changed_setting_applies_to_the_chosen_environment_from_the_next_trial_on():
    venv = TrialVecEnv(make_vec(stack, N))
    venv.seed(0)
    venv.reset()
    venv.set_attr("cohs", [77.0], indices=[1])
    trials = {i: [] for i in range(N)}
    while min(map(len, trials.values())) < 6:
        venv.step(np.zeros(N, int))
        for i, coh in zip(*((venv.finished or {}).get(name, ()) for name in ("env", "coh")), strict=True):
            trials[i].append(coh)
    assert set(trials[1][1:]) == {77.0} and all(77.0 not in trials[i] for i in (0, 2))


def test_a_monitor_is_found_so_that_evaluations_do_not_warn(recwarn):
    from stable_baselines3.common.evaluation import evaluate_policy

    class Fixates:
        def predict(self, observations, **_):
            return np.zeros(len(observations), int), None

    def short():
        return Monitor(gym.wrappers.TimeLimit(stack(), 20))

    evaluate_policy(Fixates(), TrialVecEnv(make_vec(short, 1)), n_eval_episodes=1)
    assert not [each for each in recwarn if "Monitor" in str(each.message)]
