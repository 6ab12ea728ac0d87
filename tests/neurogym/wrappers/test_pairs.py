"""Every ordered pair of wrappers works, or is refused in a sentence."""

import functools
import re

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from neurogym.vector import TrialVectorEnv, make_vec
from neurogym.wrappers.stack import traits
from tests.neurogym.wrappers.stacks import SEVERAL, SINGLE, TASKS, names_cover, put, rollout

EVERY = [*SINGLE, *SEVERAL]
#: Inner wrappers; each of the few in every suite is inside every other wrapper.
QUICK = ("PassReward", "ReactionTime", "SideBias", "MultiEnvs")
INNER = [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in EVERY]
REFUSED = (ValueError, TypeError, AttributeError, KeyError)
REFUSAL = re.compile(r"must be (in|out)side|only one of them|needs|do not have the same|has no choices|put ")


def _stack(task: str, inner: str, outer: str):
    return put(outer, functools.partial(put, inner, TASKS[task]))


def _same(a, b) -> bool:
    return all(
        np.array_equal(x[0], y[0]) and x[1] == y[1] and np.array_equal(x[2].get("gt"), y[2].get("gt"))
        for x, y in zip(a, b, strict=True)
    )


def _check_record(env, where: str) -> None:
    env.reset(seed=3)
    for _ in range(12):
        trial = env.unwrapped.trial
        *_, info = env.step(0)
        if info["new_trial"]:
            assert info["trial"] is trial, f"{where}: the record is not that of the trial that ended"
            assert info["outcome"] in ("correct", "error", "abort", "miss"), where


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize(
    "task", ["RDM", *(pytest.param(name, marks=pytest.mark.long) for name in ("GoNogo", "Conditional"))]
)
def test_every_pair_works_or_says_why_not(task: str, inner: str) -> None:
    try:
        put(inner, TASKS[task])
    except REFUSED as error:
        assert REFUSAL.search(str(error)), f"{inner} on {task}: {error}"
        return
    for outer in EVERY:
        where = f"{outer}({inner}({task}))"
        try:
            env = _stack(task, inner, outer)
        except REFUSED as error:
            assert REFUSAL.search(str(error)), f"{where}: {error}"
            continue
        first = rollout(env, seed=1)
        assert all(env.observation_space.contains(ob) for ob, _, _ in first), where
        assert names_cover(env.observation_space), f"{where}: {env.observation_space.name}"
        assert all(np.isfinite(reward) for _, reward, _ in first), where
        _check_record(env, where)
        assert _same(first, rollout(_stack(task, inner, outer), seed=1)), f"{where}: not reproducible"
        assert _same(first, rollout(env, seed=1)), f"{where}: reset(seed) does not start everything again"
        different = (rollout(env, seed=seed) for seed in range(2, 8))
        assert any(not _same(first, second) for second in different), f"{where}: the seed has no effect"


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.filterwarnings(r"ignore:[\s\S]*the `seed` function")  # NeuroGym 2.x scripts call it
@pytest.mark.filterwarnings(r"ignore:[\s\S]*different from the unwrapped")  # it is a stack of wrappers
@pytest.mark.filterwarnings(r"ignore:[\s\S]*observation space m.* is -?infinity")
@pytest.mark.filterwarnings("error::UserWarning")
def test_every_pair_passes_gymnasiums_checker(inner: str) -> None:
    for outer in EVERY:
        try:
            env = _stack("RDM", inner, outer)
        except REFUSED:
            continue
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("inner", INNER)
def test_batches_equal_single_environments(inner: str) -> None:
    for outer in EVERY:
        make = functools.partial(_stack, "RDM", inner, outer)
        try:
            envs = [make(), make()]
        except REFUSED:
            continue
        if not traits(envs[0]).batched:
            continue
        batch = make_vec(make, 2)
        assert isinstance(batch, TrialVectorEnv)
        actions = np.random.default_rng(0).integers(3, size=(25, 2)) * (np.random.default_rng(1).random((25, 2)) < 0.4)
        seen = [env.reset(seed=5 + i)[0] for i, env in enumerate(envs)]
        assert np.array_equal(batch.reset(seed=5)[0], np.stack(seen)), f"{outer}({inner})"
        for action in actions:
            ob, reward, _, _, infos = batch.step(action)
            alone = [env.step(int(a)) for env, a in zip(envs, action, strict=True)]
            assert np.array_equal(ob, np.stack([step[0] for step in alone])), f"{outer}({inner})"
            assert np.array_equal(reward, [step[1] for step in alone]), f"{outer}({inner})"
            assert np.array_equal(infos["new_trial"], [step[4]["new_trial"] for step in alone])
