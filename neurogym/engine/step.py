"""The step of a batch of environments whose blocks of trials lie side by side in pools.

Here in NumPy, and compiled in ``step.c`` with the same results.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neurogym import kernels
from neurogym.trials.events import ABORT, CORRECT, END, ERROR, NONE, OUTCOME, outcome_of

#: Types of the tables, and of the number of a row.
COLUMN_TYPES = {
    name: np.dtype(kind) for name, kind in {"reward": "f8", "performance": "f8", "event": "u1", "gt": "i8"}.items()
}
CODE = np.dtype("i4")


class RuleTables(NamedTuple):
    """Rewards, performance gains, events and correct actions; for the rows of a block or for distinct entries.

    Attributes:
        reward, performance, event: Shape (rows, actions).
        gt: Shape (rows,); None without ground truth.
    """

    reward: np.ndarray
    performance: np.ndarray
    event: np.ndarray
    gt: np.ndarray | None = None


def distinct(rows: RuleTables, code: np.ndarray, entries: RuleTables) -> int | None:
    """Write each distinct row, compared bit by bit, into a table once, in order of first occurrence.

    Args:
        rows: The rows; all arrays here are C-contiguous and of the types of `COLUMN_TYPES`.
        code: Changed in place: the entry of each row, shape (rows,), type `CODE`.
        entries: Changed in place: the table, as long as there is room for.

    Returns:
        How many entries there are; None if there is not room for all.
    """
    compiled = kernels.get("distinct")
    if compiled is not None:
        slots = np.empty(1 << (2 * len(entries.reward)).bit_length(), np.int64)
        count = compiled(*rows, code, *entries, slots)
        return None if count < 0 else count
    columns = [column.reshape(len(code), -1) for column in rows if column is not None]
    together = np.hstack([np.ascontiguousarray(column).view(np.uint8) for column in columns])
    _, first, of_row = np.unique(together, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    if len(order) > len(entries.reward):
        return None
    code[...] = np.argsort(order)[of_row.reshape(-1)]
    for table, column in zip(entries, rows, strict=True):
        if table is not None and column is not None:
            table[: len(order)] = column[first[order]]
    return len(order)


class EndedTrials(NamedTuple):
    """Trials that ended in a step, with an entry per trial."""

    env: np.ndarray
    trial: np.ndarray
    outcome: np.ndarray
    steps: np.ndarray
    aborts: np.ndarray
    performance: np.ndarray
    reward: np.ndarray
    reaction: np.ndarray  # steps from go to the response; nan without


#: Rewards, whether trials ended, correct actions if there are any, and the trials that ended if any did.
AdvanceResult = tuple[np.ndarray, np.ndarray, np.ndarray | None, EndedTrials | None]


class BatchPositions(NamedTuple):
    """Positions of a batch of environments, and contents of their trials; all arrays are C-contiguous.

    Attributes:
        hold: The action that means no response, or -1.
        code: The entry of the tables that holds for a row (environment, row).
        reward, performance: What actions earn, (environment, entry, action).
        event: What they mean, and whether they end the trial (see :mod:`neurogym.rules`).
        gt: Correct action (environment, entry); None without ground truth.
        offset, go: Where a trial begins in its block, and its go cue in it, in steps (environment, trial).
        at: The row of each environment in the flattened pools, changed by a step like all that follow.
        first: The row at which its trial began.
        trial: Its trial in its block.
        n_trials: Trials in its block.
        aborts: Aborts in its trial.
        score, sum: Performance and reward in its trial.
    """

    hold: int
    code: np.ndarray
    reward: np.ndarray
    performance: np.ndarray
    event: np.ndarray
    gt: np.ndarray | None
    offset: np.ndarray
    go: np.ndarray
    at: np.ndarray
    first: np.ndarray
    trial: np.ndarray
    n_trials: np.ndarray
    aborts: np.ndarray
    score: np.ndarray
    sum: np.ndarray


def advance(places: BatchPositions, actions: np.ndarray) -> AdvanceResult | None:
    """Take a step.

    An environment whose block is at its end stays in its last row.

    Args:
        places: Changed in place.
        actions: 64-bit integers, shape (environment,).

    Returns:
        Rewards, whether the trial ended, the correct action (None without ground truth), and the trials that ended
        (None if none did); None, and nothing is changed, if an action does not exist.
    """
    compiled = kernels.get("advance")
    if compiled is None:
        return in_numpy(places, actions)
    n = len(actions)
    counts, sums = np.empty((5, n), np.int64), np.empty((3, n))
    rewards, ended = np.empty(n), np.empty(n, bool)
    truth = None if places.gt is None else np.empty(n, np.int64)
    count = compiled(actions, *places, counts, sums, rewards, ended, truth)
    if count < 0:
        return None
    return rewards, ended, truth, EndedTrials(*counts[:, :count], *sums[:, :count]) if count else None


def in_numpy(places: BatchPositions, actions: np.ndarray) -> AdvanceResult | None:
    """`advance` without the compiled form."""
    n_envs, n_entries, n_actions = places.reward.shape
    capacity = places.code.shape[1]
    if len(actions) and (actions.min() < 0 or actions.max() >= n_actions):
        return None
    entry = np.arange(n_envs) * n_entries + places.code.take(places.at)
    truth = None if places.gt is None else places.gt.take(entry)
    cell = entry * n_actions + actions
    rewards, event = places.reward.take(cell), places.event.take(cell)
    places.score[...] += places.performance.take(cell)
    places.sum[...] += rewards
    places.aborts[...] += (event & OUTCOME) == ABORT
    ended = event >= END
    places.at[~ended] += 1
    if not ended.any():
        return rewards, ended, truth, None
    i = np.flatnonzero(ended)
    trial, steps, score = places.trial[i], places.at[i] - places.first[i], places.score[i]
    outcome = (event[i] & OUTCOME).astype(np.int64)
    outcome = np.where(outcome != NONE, outcome, outcome_of(score))
    responded = ((outcome == CORRECT) | (outcome == ERROR)) & (actions[i] != places.hold)
    reaction = np.where(responded, steps - places.go[i, trial], np.nan)
    finished = EndedTrials(i, trial, outcome, steps + 1, places.aborts[i], score, places.sum[i], reaction)
    places.score[i] = places.sum[i] = places.aborts[i] = 0
    places.trial[i] += 1
    more = i[places.trial[i] < places.n_trials[i]]
    places.at[more] = places.first[more] = more * capacity + places.offset[more, places.trial[more]]
    return rewards, ended, truth, finished
