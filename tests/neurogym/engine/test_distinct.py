"""Tables that hold each distinct row once say what the rows say, to the bit."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym.engine.step import CODE, COLUMN_TYPES, RuleTables, distinct
from neurogym.vector import make_vec

BITS = {"reward": np.int64, "performance": np.int64, "event": np.uint8, "gt": np.int64}


def rows_with(rewards, actions=3, gt=True):
    rng = np.random.default_rng(5)
    shape = len(rewards), actions
    reward = np.where(np.arange(actions) % 2, np.asarray(rewards, float)[:, None], 0.0)
    event = rng.choice([0, 9], shape).astype(np.uint8)
    truth = rng.integers(0, 2, len(rewards)) if gt else None
    return RuleTables(reward, rng.choice([0.0, 1.0], shape), event, truth)


def room_for(n, like):
    return RuleTables(*(None if a is None else np.zeros((n, *a.shape[1:]), a.dtype) for a in like))


CASES = {
    "few": rows_with(np.repeat([0.0, -0.1, 1.0], 50)),
    "all differ": rows_with(np.random.default_rng(1).normal(size=100)),
    "nothing is right": rows_with([0.0, 1.0] * 20, gt=False),
    "zeros of both signs, numbers that are none": rows_with([0.0, -0.0, np.nan, np.inf] * 9),
    "one": rows_with([2.0], actions=1),
}


@pytest.mark.parametrize("rows", CASES.values(), ids=CASES)
def test_entries_say_what_rows_say(rows, variant):
    n = len(rows.reward)
    code, entries = np.full(n, -1, CODE), room_for(n, rows)
    count = distinct(rows, code, entries)
    assert code.min() == 0 and code.max() == count - 1
    assert all(np.diff(np.unique(code, return_index=True)[1]) > 0), "entries are numbered as they first occur"
    seen = set()
    for name, column, table in zip(COLUMN_TYPES, rows, entries, strict=True):
        if column is not None:
            np.testing.assert_array_equal(table[code].view(BITS[name]), column.view(BITS[name]))
    for k in range(count):
        seen.add(b"".join(table[k].tobytes() for table in entries if table is not None))
    assert len(seen) == count, "no entry is there twice"
    assert distinct(rows, code, room_for(count, rows)) == count
    if count > 1:
        assert distinct(rows, code, room_for(count - 1, rows)) is None


def stepped(steps=300, id_="PerceptualDecisionMaking-v0", **kwargs):
    batch = make_vec(lambda: ngym.make(id_, **kwargs), 3)
    batch.reset(seed=3)
    batch.action_space.seed(0)
    for _ in range(steps):
        batch.step(batch.action_space.sample())
    return batch


def test_trials_ahead_take_little_memory():
    """What each action earns is kept once for all rows in which it is the same."""
    batch = stepped(3000)
    pools = batch.pools
    assert pools.filled[0] > 1000
    private = sum(pool[0].nbytes for pool in pools.rows.values()) / pools.capacity
    assert private <= pools.rows["ob"][0, 0].nbytes + 4
    assert sum(table.nbytes for table in pools.tables.values()) < 0.1 * pools.rows["_code"].nbytes
    assert not batch.tasks[0].session.ahead.block.fields
