"""The step of a batch of environments whose blocks of trials lie side by side in pools.

Here in NumPy, and compiled in ``step.c`` with the same results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from neurogym import kernels
from neurogym.trials.events import ABORT, CORRECT, END, ERROR, NONE, OUTCOME, outcome_of

if TYPE_CHECKING:
    from neurogym.engine.pools import Pools

#: Types of the tables.
COLUMN_TYPES = {"reward": "f8", "performance": "f8", "event": "u1", "gt": "i8"}


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
    skipped: np.ndarray  # rows that were not stepped through (see `neurogym.rules.Jump`)


#: Rewards, whether trials ended, correct actions if there are any, and the trials that ended if any did.
AdvanceResult = tuple[np.ndarray, np.ndarray, np.ndarray | None, EndedTrials | None]


def advance(pools: Pools, actions: np.ndarray) -> AdvanceResult | None:
    """Take a step.

    An environment whose block is at its end stays in its last row.

    Args:
        pools: Changed in place.
        actions: 64-bit integers, shape (environment,).

    Returns:
        Rewards, whether the trial ended, the correct action (None without ground truth), and the trials that ended
        (None if none did); None, and nothing is changed, if an action does not exist.

    Raises:
        ResetNeeded: If there are no trials yet.
    """
    arguments, compiled = pools.in_order, kernels.get("advance")
    jumps = pools.jumps(actions) if "jump" in pools.rows else None
    result = in_numpy(pools, actions) if compiled is None else _compiled(compiled, actions, arguments)
    if result is None or jumps is None:
        return result
    rewards, ended, truth, finished = result
    skipped = pools.skip(jumps, ended)
    if finished is not None:
        finished = finished._replace(steps=finished.steps - skipped, skipped=skipped)
    return rewards, ended, truth, finished


def _compiled(step: Callable[..., int], actions: np.ndarray, pools: tuple[Any, ...]) -> AdvanceResult | None:
    n, gt = len(actions), pools[4]
    counts, sums = np.empty((5, n), np.int64), np.empty((3, n))
    rewards, ended = np.empty(n), np.empty(n, bool)
    truth = None if gt is None else np.empty(n, np.int64)
    count = step(actions, *pools, counts, sums, rewards, ended, truth)
    if count < 0:
        return None
    if not count:
        return rewards, ended, truth, None
    columns = *counts[:, :count], *sums[:, :count], np.zeros(count, np.int64)
    return rewards, ended, truth, EndedTrials._make(columns)


def in_numpy(pools: Pools, actions: np.ndarray) -> AdvanceResult | None:
    """`advance` without the compiled form."""
    rows, at, n_actions = pools.rows, pools.at, pools.rows["event"].shape[2]
    if len(actions) and (actions.min() < 0 or actions.max() >= n_actions):
        return None
    truth = rows["gt"].take(at) if "gt" in rows else None
    cell = at * n_actions + actions
    rewards, event = rows["reward"].take(cell), rows["event"].take(cell)
    pools.score += rows["performance"].take(cell)
    pools.sum += rewards
    pools.aborts += (event & OUTCOME) == ABORT
    ended = event >= END
    at[~ended] += 1
    if not ended.any():
        return rewards, ended, truth, None
    i = np.flatnonzero(ended)
    trial, steps, score = pools.trial[i], at[i] - pools.first[i], pools.score[i]
    outcome = (event[i] & OUTCOME).astype(np.int64)
    outcome = np.where(outcome != NONE, outcome, outcome_of(score))
    responded = ((outcome == CORRECT) | (outcome == ERROR)) & (actions[i] != pools.hold)
    reaction = np.where(responded, steps - pools.go[i, trial], np.nan)
    sums = pools.aborts[i], score, pools.sum[i]
    finished = EndedTrials(i, trial, outcome, steps + 1, *sums, reaction, np.zeros_like(i))
    pools.score[i] = pools.sum[i] = pools.aborts[i] = 0
    pools.trial[i] += 1
    pools.begin(i[pools.trial[i] < pools.n_trials[i]])
    return rewards, ended, truth, finished
