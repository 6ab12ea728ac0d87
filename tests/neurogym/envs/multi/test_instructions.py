"""Instruction vectors as rule input, and tasks held out."""

import numpy as np
import pytest

from neurogym.envs.multi import make_multi

TASKS = "yang19.go-v0+yang19.anti-v0+yang19.dm1-v0"
NAMES = TASKS.split("+")


def shown(env, n=60):
    """Task and last channels of the first row of each trial."""
    env.reset(seed=0)
    block = env.unwrapped.make_trials(n)
    return block.info["task"], block.ob[block.offset]


@pytest.mark.parametrize("kind", ["npy", "npz", "table", "random"])
def test_each_task_shows_its_vector(kind, tmp_path):
    table = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
    np.save(tmp_path / "a.npy", table)
    np.savez(tmp_path / "a.npz", table)
    settings = {"npy": str(tmp_path / "a.npy"), "npz": tmp_path / "a.npz", "table": table.tolist(), "random": 5}[kind]
    env, plain = make_multi(TASKS, instructions=settings), make_multi(TASKS)
    task, ob = shown(env)
    rows = {name: ob[task == name][:, -5:] for name in NAMES}
    assert env.observation_space.shape == (plain.observation_space.shape[0] + 2,)
    assert all((vectors == vectors[0]).all() and len(vectors) for vectors in rows.values())
    result = np.stack([rows[name][0] for name in NAMES])
    if kind == "random":
        np.testing.assert_allclose(np.linalg.norm(result, axis=1), 1, rtol=1e-6)
        assert (result == shown_again(settings)).all()
    else:
        assert (result == table).all()
    assert env.observation_space.contains(ob[0])
    assert env.unwrapped.ceiling() == plain.unwrapped.ceiling()


def shown_again(settings):
    task, ob = shown(make_multi(TASKS, instructions=settings))
    return np.stack([ob[task == name][0, -settings:] for name in NAMES])


def test_the_ceiling_is_unknown_where_instructions_do_not_tell_tasks_apart():
    table = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    assert make_multi(TASKS, instructions=table).unwrapped.ceiling() is None
    assert make_multi(TASKS, instructions=table, held_out="anti").unwrapped.ceiling() is not None


@pytest.mark.parametrize("schedule", ["random", "norepeat", "sequential", "block:3", "sequential_block:3"])
def test_tasks_held_out_come_only_when_asked_for(schedule):
    env = make_multi(TASKS, schedule=schedule, held_out=["yang19.go-v0"], instructions=4)
    task, _ = shown(env)
    assert set(task) == {NAMES[1], NAMES[2]}
    np.testing.assert_allclose(env.unwrapped.shares, [0, 0.5, 0.5])
    env.unwrapped.set_i(0)
    assert [env.unwrapped.new_trial()["task"] for _ in range(4)].count(NAMES[0]) == 1
    assert env.unwrapped.new_trial(task=NAMES[0])["task"] == NAMES[0]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"instructions": [[1.0], [2.0]]}, "a row for each of the 3 tasks"),
        ({"instructions": [[1.0], [2.0], ["a"]]}, "table of numbers"),
        ({"instructions": [[1.0], [2.0], [np.nan]]}, "finite"),
        ({"instructions": 0}, "at least 1 dimension"),
        ({"instructions": "absent.npy"}, "cannot be read"),
        ({"instructions": "words.txt"}, r"\.npy or \.npz"),
        ({"instructions": 4, "rule_input": False}, "rule_input is false"),
        ({"held_out": "nothing"}, "unknown task"),
        ({"held_out": NAMES}, "at least one must be presented"),
    ],
)
def test_what_does_not_fit_is_refused(kwargs, message):
    with pytest.raises(ValueError, match=message):
        make_multi(TASKS, **kwargs)
