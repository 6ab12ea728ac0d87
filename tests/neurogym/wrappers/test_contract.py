"""What holds for every wrapper."""

import copy
import functools
import pickle
import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import neurogym as ngym
from neurogym import wrappers
from neurogym.state import capture, restore
from neurogym.vector import TrialVectorEnv, make_vec
from neurogym.wrappers.stack import traits
from tests.neurogym.wrappers.stacks import SEVERAL, SINGLE, TASKS, finished_row, names_cover, put, rollout

EVERY = [*SINGLE, *SEVERAL]
#: Wrappers that look at single steps, or only report; they are stepped one by one.
ONE_BY_ONE = {
    *("BiasCorrection", "Combine", "CurriculumLearning", "LearnTransMatrix", "Monitor"),
    *("PerfectIntegrator", "Shaping", "TTLPulse"),
}


def _make(name: str) -> functools.partial:
    task = "Conditional" if name == "VariableMapping" else "RDM"
    return functools.partial(put, name, TASKS[task])


@pytest.mark.parametrize("name", EVERY)
def test_it_says_what_it_does(name: str) -> None:
    cls = wrappers.wrapper_class(wrappers.key_of(name))
    assert cls is wrappers.wrapper_class(name) is getattr(ngym, name)
    assert {"description", "paper_name", "paper_link", "order"} <= set(cls.metadata)
    assert cls.__doc__ and "Args:" in cls.__doc__


@pytest.mark.parametrize("name", EVERY)
def test_gymnasium_accepts_it(name: str) -> None:
    env = _make(name)()
    assert names_cover(env.observation_space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("name", EVERY)
def test_it_runs_on_a_batch_exactly_as_alone(name: str) -> None:
    make = _make(name)
    envs = [make() for _ in range(3)]
    assert traits(envs[0]).batched == (name not in ONE_BY_ONE)
    batch = make_vec(make, 3)
    assert isinstance(batch, TrialVectorEnv) == (name not in ONE_BY_ONE)
    rng = np.random.default_rng(0)
    actions = rng.integers(3, size=(150, 3)) * (rng.random((150, 3)) < 0.3)
    assert np.array_equal(batch.reset(seed=7)[0], np.stack([env.reset(seed=7 + i)[0] for i, env in enumerate(envs)]))
    for action in actions:
        ob, reward, _, _, _infos = batch.step(action)
        alone = [env.step(int(a)) for env, a in zip(envs, action, strict=True)]
        assert np.array_equal(ob, np.stack([step[0] for step in alone]))
        assert np.array_equal(reward, [step[1] for step in alone])
        rows = [finished_row(i, step[4]) for i, step in enumerate(alone) if step[4]["new_trial"]]
        assert (batch.finished is None) == (not rows)
        for j, row in enumerate(rows):
            assert set(row) == set(batch.finished)
            for key, value in row.items():
                second = batch.finished[key][j]
                missing = [each is None or each != each for each in (value, second)]
                assert value == second or all(missing), key


@pytest.mark.parametrize("name", EVERY)
def test_a_session_can_be_captured_and_continued(name: str) -> None:
    env, second = _make(name)(), _make(name)()
    rollout(env, seed=1, steps=60)
    second.reset(seed=99)
    restore(second, pickle.loads(pickle.dumps(capture(env))))
    for action in np.random.default_rng(5).integers(3, size=120):
        first, two = env.step(int(action)), second.step(int(action))
        assert np.array_equal(first[0], two[0]) and first[1] == two[1] and first[4]["new_trial"] == two[4]["new_trial"]


@pytest.mark.parametrize("name", EVERY)
def test_what_it_knows_of_a_trial_is_in_the_record(name: str) -> None:
    env = _make(name)()
    plain = set(TASKS["Conditional" if name == "VariableMapping" else "RDM"]().unwrapped.make_trials(1).info)
    record = next(info["trial"] for _, _, info in rollout(env, seed=0, steps=80) if info["new_trial"])
    silent = {"Identity", "Noise", "PassAction", "PassReward", "ReactionTime", "MissTrialReward", "Modality", "PassGT"}
    silent |= {"MotionEnergy"}
    silent |= {"LearnTransMatrix", "Monitor", "BiasCorrection", "DynamicNoise", "StimAccSignal", "TTLPulse"}
    assert (set(record) > plain) == (name not in silent | {"PerfectIntegrator"})


@pytest.mark.parametrize("name", EVERY)
def test_a_copy_goes_its_own_way(name: str) -> None:
    env = _make(name)()
    env.reset(seed=3)
    twin = copy.deepcopy(env)
    ahead = [twin.step(0)[0] for _ in range(20)]
    assert all(np.array_equal(ob, env.step(0)[0]) for ob in ahead)


@pytest.mark.parametrize("refused", ["SideBias", "PassReward", "ReactionTime", "CatchTrials", "Combine"])
def test_it_needs_a_trial_based_task(refused: str) -> None:
    import gymnasium as gym

    env = gym.make("CartPole-v1")
    arguments = {"SideBias": ([[0.5, 0.5]],), "Combine": (env,)}.get(refused, ())
    with pytest.raises((TypeError, ValueError, AttributeError)):
        getattr(wrappers, refused)(env, *arguments)


def test_a_refused_wrapper_leaves_the_task_as_it_was() -> None:
    env = ngym.make("PerceptualDecisionMaking-v0")
    with pytest.raises(ValueError):
        wrappers.SideBias(env, probs=[[0.5, 0.6]])
    with pytest.raises(AttributeError):
        wrappers.ReactionTime(ngym.make("ReadySetGo-v0"))
    assert not env.unwrapped.wrappers
