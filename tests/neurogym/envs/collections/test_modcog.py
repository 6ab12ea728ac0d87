"""Tasks of Mod-Cog: what is right follows from what is shown."""

import functools

import numpy as np
import pytest

import neurogym as ngym
from neurogym.envs import registration
from neurogym.envs.collections import modcog as task
from neurogym.envs.contract import CHECKS, NothingToCheck, Subject

#: Activity of a ring for a stimulus in each direction.
BUMPS = 0.8 * np.exp(-0.5 * np.minimum(AWAY := np.abs(np.subtract.outer(range(16), range(16))), 16 - AWAY) ** 2)


@pytest.fixture(scope="module")
def env():
    created = task.ModCog(sigma=0.0)
    created.reset(seed=0)
    return created


def test_twenty_tasks_and_all_their_compositions():
    assert len(task.BASE) == 20 and len(task.COMPOSED_TASKS) == 20 + 40 + 22 + 44
    assert {"dlygointrseql", "dmcintl", "rtgoseqr"} <= set(task.COMPOSED_TASKS)
    assert not any("int" in name for name in task.COMPOSED_TASKS if not task.COMPOSED_TASKS[name].delayed)


def test_compositions_have_ids_that_lists_of_all_tasks_leave_out():
    ids = registration.get_collection("modcog")
    assert ids == [f"modcog.{name}-v0" for name in task.COMPOSED_TASKS]
    assert not set(ids) & set(registration.every_task())
    with pytest.raises(ValueError, match="did you mean 'dlygointr'"):
        task.ModCog(tasks="dlygointrr")


@pytest.mark.parametrize("name", ["go", "dlyantiintl", "multidlydmintrseql", "dnmcseqr"])
def test_a_task_by_its_id_is_that_task_among_all_without_rule_input(name):
    alone, all_ = ngym.make(f"modcog.{name}-v0", sigma=0.0), task.ModCog(sigma=0.0)
    assert alone.unwrapped.metadata["paper_link"] == "https://doi.org/10.1162/neco_a_01613"
    for env in (alone, all_):
        env.reset(seed=3)
    alone.unwrapped.new_trial()
    all_.new_trial(task=name)
    assert alone.unwrapped.trial.keys() | {"task"} == all_.trial.keys() | {"task"}
    assert alone.observation_space.shape == (33,) and len(alone.unwrapped.ob) > 10
    assert alone.unwrapped.gt.max() <= 16


def _expected(ob, pieces, delay):
    """First direction of the answer, None to withhold, from what is shown; equal stimuli leave it to chance."""
    rings = ob[:, 1:33].reshape(len(ob), 2, 16)
    visible = np.flatnonzero(rings.max(axis=(1, 2)) > 0.1)
    if pieces.family == "dm":
        strength = np.linalg.solve(BUMPS, rings[:, list(pieces.judged)].sum(axis=(0, 1)))
        weaker, stronger = np.sort(strength)[-2:]
        return np.nan if stronger - weaker < 1e-3 else strength.argmax() + pieces.integrate * delay
    first, last = (int(rings[row].max(axis=0).argmax()) for row in (visible[0], visible[-1]))
    if pieces.family == "go":
        return last + 8 * pieces.anti + pieces.integrate * delay
    same = first // 8 == last // 8 if pieces.category else first == last
    return last + pieces.integrate * delay if same != pieces.anti else None


@pytest.mark.parametrize("name", task.COMPOSED_TASKS)
def test_what_is_right_follows_from_what_is_shown(env, name):
    pieces = task.COMPOSED_TASKS[name]
    for _ in range(5):
        env.new_trial(task=name)
        decide = np.flatnonzero(env.ob[:, 0] == 0)
        assert env.ob[:, 33 + list(task.COMPOSED_TASKS).index(name)].all() and env.ob[:, 33:].sum() == len(env.ob)
        answer = _expected(env.ob, pieces, env.trial["delay_steps"])
        moved = pieces.sequence * np.arange(len(decide))
        right = np.zeros(len(decide)) if answer is None else 1 + (answer + moved) % 16
        assert np.isnan(right).all() or env.gt[decide].tolist() == right.tolist()
        assert not env.gt[: decide[0]].any()


@pytest.mark.parametrize("tasks", ["all", "ctxdlydm1intlseqr"])
@pytest.mark.parametrize("check", sorted(set(CHECKS) - {"metadata", "necessary"}))  # these are of tasks in lists
def test_contract(check, tasks):
    try:
        CHECKS[check](Subject("ModCog", functools.partial(task.ModCog, tasks=tasks)))
    except NothingToCheck as reason:
        pytest.skip(str(reason))
