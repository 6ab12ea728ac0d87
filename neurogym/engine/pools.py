"""Blocks of trials of many environments, side by side.

A step of all environments is one look-up per array, because everything lies in pools whose first axis is the
environment. Three environments whose blocks have 7, 5 and 6 rows, each at the row marked::

    rows["ob"]    a a a[a]b b b .      environment 0 is in its first trial, a
                  c c[c]c c . . .      capacity 8: the longest block so far, with a margin
                  d d e e[e]e . .
    at            3, 8 + 2, 16 + 4     the marked rows, counted in the flattened pool
    first         0, 8 + 0, 16 + 2     where their trials begin

When an environment has stepped through its block, :meth:`Pools.load` overwrites its line with the next block. The step,
:func:`advance`, is here in NumPy, and compiled in ``step.c`` with the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym import kernels
from neurogym.engine.finished import EndedTrials
from neurogym.trials import Trials
from neurogym.trials.events import ABORT, CORRECT, END, ERROR, NONE, OUTCOME, outcome_of

#: Types of the tables.
COLUMN_TYPES = {"reward": "f8", "performance": "f8", "event": "u1", "gt": "i8"}

Selection = int | slice | np.ndarray  #: of environments or trials: one, a range, or several


class RecordColumns:
    """Values that describe trials, name to array (environment, trial), of types that hold all values so far.

    Args:
        n: Number of environments.
    """

    def __init__(self, n: int):
        self.n, self._capacity = n, 0
        self._columns: dict[str, np.ndarray] = {}

    def write(self, i: Selection, at: Selection, values: Mapping[str, np.ndarray]) -> None:
        """Describe the trials ``at`` of environments ``i``; what a record lacks is nan, or None among other values."""
        is_first = not self._columns
        for name, of_trials in values.items():
            is_late = not is_first and name not in self._columns
            self._holding(name, of_trials.dtype)
            if is_late:
                self._leave_out(name, slice(None))
            self._columns[name][i, at] = of_trials
        for name in self._columns.keys() - values.keys():
            self._leave_out(name, i)

    def _leave_out(self, name: str, i: Selection) -> None:
        """Mark a column as one that the records of environments ``i`` do not have."""
        column = self._holding(name, np.dtype(float))
        column[i] = None if column.dtype == object else np.nan

    def _holding(self, name: str, dtype: np.dtype) -> np.ndarray:
        """Column that can hold values of a type, made wider if it could not."""
        column = self._columns.get(name)
        if column is not None and (column.dtype is dtype or column.dtype == object):
            return column
        common = np.dtype(object)
        if dtype.kind in "biuf":
            common = dtype if column is None else np.promote_types(column.dtype, dtype)
        if column is None or column.dtype != common:
            wide = np.full((self.n, self._capacity), None if common.kind == "O" else 0, common)
            if column is not None:
                wide[...] = column
            self._columns[name] = column = wide
        return column

    def grow(self, capacity: int) -> None:
        """Allocate memory for as many trials of each environment."""
        more = (0, 0), (0, capacity - self._capacity)
        self._columns = {name: np.pad(column, more) for name, column in self._columns.items()}
        self._capacity = capacity

    def of(self, env: np.ndarray, trial: np.ndarray) -> dict[str, np.ndarray]:
        """Records of some trials: name to array (trials,)."""
        cell = env * self._capacity + trial
        return {name: column.take(cell) for name, column in self._columns.items()}


class Pools:
    """Trials that environments have made ahead, and the position of each environment.

    Args:
        n: Number of environments.
        hold: The action that means no response, or -1.
        most_steps: Longest trial of a task with jumps, in steps.

    Attributes:
        rows: Everything with one row per step, name to array (environment, row, ...).
        records: What describes each trial.
        offset: The row at which each trial begins in its block, (environment, trial); ``go`` its go cue, in steps.
        at: The row of each environment in the flattened ``rows``; ``first`` the row at which its trial began.
        trial: Its trial in its block; ``n_trials`` how many the block has.
        score, sum, aborts: Performance, reward and breaks of fixation in its trial so far.
        capacity: Rows that there is room for in each environment; ``filled`` how many its block has.
        skipped: Rows that its trial has skipped so far, in tasks with jumps (see :class:`neurogym.rules.Jump`).
    """

    def __init__(self, n: int, hold: int, most_steps: float):
        self.n, self.hold, self.most_steps = n, hold, most_steps
        self.rows: dict[str, np.ndarray] = {}
        self.records = RecordColumns(n)
        self.offset, self.go = np.zeros((2, n, 0), np.int64)
        self.capacity = 0
        self.filled = np.zeros(n, np.int64)
        self.at, self.first, self.trial, self.n_trials, self.aborts, self.skipped = np.zeros((6, n), np.int64)
        self.score, self.sum = np.zeros((2, n))
        self._in_order: tuple[Any, ...] | None = None  # remade after a pool has moved

    def __getstate__(self) -> dict[str, object]:
        """Drop views, so that a copy has its own arrays."""
        return {**self.__dict__, "_in_order": None}

    # -- filling ------------------------------------------------------------------------------------------------------

    def load(self, i: int | np.ndarray, block: Trials) -> None:
        """Copy a block into the pools, and begin with its first trials.

        Args:
            i: The environment whose trials these are; or of each trial, shape (trials,), where each is the block of
                another environment.
            block: The trials.
        """
        several = isinstance(i, np.ndarray)
        rows = np.diff(block.offset, append=block.total) if several else block.total
        longest = int(np.max(rows))
        if longest > self.capacity:
            self._grow(longest)
        first = i * self.capacity
        at = np.arange(block.total) + np.repeat(first - block.offset, rows) if several else slice(first, first + rows)
        for name, values in block.fields.items():
            if name not in self.rows:
                dtype = COLUMN_TYPES.get(name, values.dtype)
                self.rows[name] = np.zeros((self.n, self.capacity, *values.shape[1:]), dtype)
                self._in_order = None
            self.rows[name].reshape(-1, *values.shape[1:])[at] = values
        for name in self.rows.keys() - block.fields.keys():
            self.rows[name].reshape(-1, *self.rows[name].shape[2:])[at] = 0
        self.filled[i] = rows
        trials = 1 if several else block.n
        if trials > self.offset.shape[1]:
            self._grow_trials(trials)
        self._describe(i, 0 if several else slice(trials), block, np.zeros_like(i) if several else block.offset)
        self.trial[i], self.n_trials[i] = 0, trials

    def _describe(self, i: Selection, at: Selection, block: Trials, offset: np.ndarray) -> None:
        """Keep what describes trials, of environments ``i`` at the trials ``at``."""
        assert block.go is not None, "the trials are not complete"
        self.offset[i, at], self.go[i, at] = offset, block.go
        self.records.write(i, at, block.scalars())

    def _grow(self, rows: int) -> None:
        """Allocate memory for longer blocks, and shift the positions in the flattened pools."""
        capacity = int(rows * 1.25)
        for name, old in self.rows.items():
            self.rows[name] = new = np.zeros((self.n, capacity, *old.shape[2:]), old.dtype)
            for i, count in enumerate(self.filled):  # unused pages take no memory
                new[i, :count] = old[i, :count]
        shift = np.arange(self.n) * (capacity - self.capacity)
        self.at += shift
        self.first += shift
        self.capacity, self._in_order = capacity, None

    def _grow_trials(self, trials: int) -> None:
        """Allocate memory for blocks of more trials."""
        capacity = int(trials * 1.25)
        more = (0, 0), (0, capacity - self.offset.shape[1])
        self.offset, self.go = np.pad(self.offset, more), np.pad(self.go, more)
        self.records.grow(capacity)
        self._in_order = None

    # -- where environments are ---------------------------------------------------------------------------------------

    def begin(self, i: int | np.ndarray) -> None:
        """Place environments ``i`` at the first row of the present trial."""
        self.at[i] = self.first[i] = i * self.capacity + self.offset[i, self.trial[i]]

    def forget_sums(self, i: int | np.ndarray) -> None:
        """Reset the sums of the present trials of environments ``i``."""
        self.score[i] = self.sum[i] = self.aborts[i] = self.skipped[i] = 0

    def jumps(self, actions: np.ndarray) -> np.ndarray:
        """Rows that are skipped after actions, before a step; the same as :meth:`Cursor.jump_from` in a batch.

        Args:
            actions: Shape (environment,).
        """
        table = self.rows["jump"]
        late = self.at - self.first - self.skipped + 2 >= self.most_steps
        columns = np.where(late, table.shape[2] - 1, np.clip(actions, 0, table.shape[2] - 2))
        return table.reshape(-1, table.shape[2])[self.at, columns]

    def skip(self, rows: np.ndarray, ended: np.ndarray) -> np.ndarray:
        """Skip rows after a step; returns the rows that the trials that ended had skipped.

        Args:
            rows: What :meth:`jumps` returned.
            ended: Whether the trial of each environment ended.
        """
        goes_on = ~ended
        self.at[goes_on] += rows[goes_on]
        self.skipped[goes_on] += rows[goes_on]
        before = self.skipped[ended]
        self.skipped[ended] = 0
        return before

    @property
    def in_order(self) -> tuple[Any, ...]:
        """Arguments of the compiled step between actions and results, all arrays C-contiguous."""
        if self._in_order is None:
            tables = [self.rows.get(name) for name in COLUMN_TYPES]
            positions = self.at, self.first, self.trial, self.n_trials, self.aborts, self.score, self.sum
            self._in_order = self.hold, *tables, self.offset, self.go, *positions
        return self._in_order

    # -- looking up ---------------------------------------------------------------------------------------------------

    def field(self, name: str) -> np.ndarray:
        """A per-step field at the current row of every environment."""
        pool = self.rows[name]
        return pool.reshape(-1, *pool.shape[2:]).take(self.at, axis=0)

    def state(self) -> list[np.ndarray]:
        """Trial of each environment, steps taken and rows skipped in the trial, and accumulated scores."""
        arrays = self.trial, self.at - self.first, self.skipped, self.score, self.sum, self.aborts
        return [values.copy() for values in arrays]

    def set_state(self, state: list[np.ndarray]) -> None:
        """Restore saved positions, in blocks that are loaded.

        Raises:
            ValueError: If a position is outside the trials.
        """
        trial, steps, skipped, score, total, aborts = state
        every = np.arange(self.n)
        for values, kind in zip(state, "iiiffi", strict=True):
            if np.shape(values) != (self.n,) or values.dtype.kind != kind or not np.isfinite(values).all():
                raise ValueError(f"the batch: expected {self.n} finite numbers, got {values!r}")
        inside = (trial >= 0) & (trial < self.n_trials) & (steps >= 0) & (steps < self.filled)
        row = self.offset[every, np.where(inside, trial, 0)] + np.where(inside, steps, 0)
        if not np.all(inside & (row < self.filled)):
            raise ValueError("the batch: an environment is outside its trial")
        self.trial[:], self.skipped[:], self.aborts[:] = trial, skipped, aborts
        self.score[:], self.sum[:] = score, total
        self.begin(every)
        self.at += steps


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
    if not pools.rows:
        raise gym.error.ResetNeeded("call reset() before step()")
    compiled = kernels.get("advance")
    jumps = pools.jumps(actions) if "jump" in pools.rows else None
    result = in_numpy(pools, actions) if compiled is None else _compiled(compiled, pools, actions)
    if result is None or jumps is None:
        return result
    _, ended, _, finished = result
    skipped = pools.skip(jumps, ended)
    if finished is not None:
        finished.steps[:] -= skipped
        finished.skipped[:] = skipped
    return result


def _compiled(step: Callable[..., int], pools: Pools, actions: np.ndarray) -> AdvanceResult | None:
    n = len(actions)
    counts, sums = np.zeros((6, n), np.int64), np.empty((3, n))
    rewards, ended = np.empty(n), np.empty(n, bool)
    truth = np.empty(n, np.int64) if "gt" in pools.rows else None
    count = step(actions, *pools.in_order, counts[:5], sums, rewards, ended, truth)
    if count < 0:
        return None
    return rewards, ended, truth, EndedTrials(*counts[:, :count], *sums[:, :count]) if count else None


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
    aborts, reward = pools.aborts[i], pools.sum[i]
    finished = EndedTrials(i, trial, outcome, steps + 1, aborts, np.zeros_like(i), score, reward, reaction)
    pools.score[i] = pools.sum[i] = pools.aborts[i] = 0
    pools.trial[i] += 1
    pools.begin(i[pools.trial[i] < pools.n_trials[i]])
    return rewards, ended, truth, finished
