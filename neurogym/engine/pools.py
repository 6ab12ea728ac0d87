"""Blocks of trials of many environments, side by side.

A step of all environments is one look-up per array, because everything lies in pools whose first axis is the
environment. Three environments whose blocks have 7, 5 and 6 rows, each at the row marked::

    rows["ob"]    a a a[a]b b b .      environment 0 is in its first trial, a
                  c c[c]c c . . .      capacity 8: the longest block so far, with a margin
                  d d e e[e]e . .
    at            3, 8 + 2, 16 + 4     the marked rows, counted in the flattened pool
    first         0, 8 + 0, 16 + 2     where their trials begin

Actions earn the same in most rows. ``rows["_code"]`` is therefore the number of an entry in short ``tables`` of each
environment (:func:`neurogym.engine.step.distinct`): reward of action 2 = ``tables["reward"][env, code, 2]``. When an
environment has stepped through its block, :meth:`Pools.load` overwrites its line with the next block.
"""

from __future__ import annotations

from collections.abc import Mapping

import gymnasium as gym
import numpy as np

from neurogym.engine.columns import RecordColumns, Selection, widened
from neurogym.engine.step import CODE, COLUMN_TYPES, BatchPositions, RuleTables, distinct
from neurogym.trials import Trials

#: Entries of the tables that there is room for at first.
FEWEST_ENTRIES = 16


class Pools:
    """Trials that environments have made ahead, and the position of each environment.

    Args:
        n: Number of environments.
        hold: The action that means no response, or -1.

    Attributes:
        rows: Everything with one row per step but the tables, name to array (environment, row, ...); ``_code`` is the
            entry of the tables that holds for a row.
        tables: What actions earn and mean and what is right (see :mod:`neurogym.engine.step`), name to array
            (environment, entry, ...).
        records: What describes each trial.
        offset: The row at which each trial begins in its block, (environment, trial); ``go`` its go cue, in steps.
        at: The row of each environment in the flattened ``rows``; ``first`` the row at which its trial began.
        trial: Its trial in its block; ``n_trials`` how many the block has.
        score, sum, aborts: Performance, reward and breaks of fixation in its trial so far.
        capacity: Rows that there is room for in each environment; ``filled`` how many its block has.
        skipped: Rows that its trial has skipped so far, in tasks with jumps (see :class:`neurogym.rules.Jump`).
    """

    def __init__(self, n: int, hold: int):
        self.n, self.hold = n, hold
        self.rows: dict[str, np.ndarray] = {}
        self.tables: dict[str, np.ndarray] = {}
        self.records = RecordColumns(n)
        self.offset, self.go = np.zeros((2, n, 0), np.int64)
        self.capacity = 0
        self._room = FEWEST_ENTRIES
        self.filled, self._entries = np.zeros((2, n), np.int64)  # and entries of its tables
        self.at, self.first, self.trial, self.n_trials, self.aborts, self.skipped = np.zeros((6, n), np.int64)
        self.score, self.sum = np.zeros((2, n))
        self._places: BatchPositions | None = None  # remade after a pool or table has moved
        self._views: list[RuleTables] = []  # tables of each environment, remade after a move

    def __getstate__(self) -> dict[str, object]:
        """Drop views, so that a copy has its own arrays."""
        return {**self.__dict__, "_places": None, "_views": []}

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
        like, code = int(np.ravel(i)[0]), np.empty(block.total, CODE)
        self._fill_tables(like, block, code)
        for name, values in {**block.fields, "_code": code}.items():
            if name not in COLUMN_TYPES:
                if name not in self.rows:
                    self.rows[name] = np.zeros((self.n, self.capacity, *values.shape[1:]), values.dtype)
                self.rows[name].reshape(-1, *values.shape[1:])[at] = values
        for table in self.tables.values():
            table[i, : self._entries[like]] = table[like, : self._entries[like]]
        self.filled[i], self._entries[i] = rows, self._entries[like]
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

    def _fill_tables(self, i: int, block: Trials, code: np.ndarray) -> None:
        """Write the distinct rows of a block's tables as the entries of environment ``i``, and the code of each row."""
        fields = block.fields
        if not self._views or ("gt" in fields) > ("gt" in self.tables):
            self._make_room_for(fields)
        reward, performance, event, gt = [_plain(fields.get(name), kind) for name, kind in COLUMN_TYPES.items()]
        if gt is None and "gt" in self.tables:
            gt = np.zeros(block.total, np.int64)
        rows = RuleTables(reward, performance, event, gt)  # type: ignore[arg-type]
        while (count := distinct(rows, code, self._views[i])) is None:
            self._room *= 4
            self._make_room_for(fields)
        self._entries[i] = count

    def _make_room_for(self, fields: Mapping[str, np.ndarray]) -> None:
        """Allocate memory for the distinct rows of tables with these fields."""
        for name in [name for name in COLUMN_TYPES if name in fields or name in self.tables]:
            old = self.tables.get(name)
            if old is None or old.shape[1] < self._room:
                like = fields[name] if old is None else old[0]
                self.tables[name] = new = np.zeros((self.n, self._room, *like.shape[1:]), COLUMN_TYPES[name])
                for i, count in enumerate([] if old is None else self._entries):
                    new[i, :count] = old[i, :count]  # type: ignore[index]
        tables = [self.tables[name] for name in COLUMN_TYPES if name in self.tables]
        self._views, self._places = [RuleTables(*views) for views in zip(*tables, strict=True)], None

    def fields(self, i: int, at: slice) -> dict[str, np.ndarray]:
        """Rows of the block of environment ``i``, in the format of :class:`~neurogym.trials.Trials`."""
        code = self.rows["_code"][i, at]
        tables = {name: table[i].take(code, axis=0) for name, table in self.tables.items()}
        return {**{name: pool[i, at] for name, pool in self.rows.items() if name != "_code"}, **tables}

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
        self.capacity, self._places = capacity, None

    def _grow_trials(self, trials: int) -> None:
        """Allocate memory for blocks of more trials."""
        capacity = int(trials * 1.25)
        self.offset, self.go = widened(self.offset, capacity), widened(self.go, capacity)
        self.records.grow(capacity)
        self._places = None

    # -- where environments are ---------------------------------------------------------------------------------------

    def begin(self, i: int | np.ndarray) -> None:
        """Place environments ``i`` at the first row of the present trial."""
        self.at[i] = self.first[i] = i * self.capacity + self.offset[i, self.trial[i]]

    def forget_sums(self, i: int | np.ndarray) -> None:
        """Reset the sums of the present trials of environments ``i``."""
        self.score[i] = self.sum[i] = self.aborts[i] = self.skipped[i] = 0

    def jumps(self, actions: np.ndarray, most: float) -> np.ndarray:
        """Rows that are skipped after actions, before a step; the same as :meth:`Cursor.jump_from` in a batch.

        Args:
            actions: Shape (environment,).
            most: Longest trial, in steps.
        """
        table = self.rows["jump"]
        late = self.at - self.first - self.skipped + 2 >= most
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

    def places(self) -> BatchPositions:
        """Arrays for the compiled step.

        Raises:
            ResetNeeded: If there are no trials yet.
        """
        if self._places is None:
            if not self.rows:
                raise gym.error.ResetNeeded("call reset() before step()")
            sums = {"aborts": self.aborts, "score": self.score, "sum": self.sum}
            where = {"at": self.at, "first": self.first, "trial": self.trial, "n_trials": self.n_trials}
            tables = {"code": self.rows["_code"], **self.tables, "gt": self.tables.get("gt")}
            trials = {"offset": self.offset, "go": self.go}
            self._places = BatchPositions(hold=self.hold, **tables, **trials, **where, **sums)  # type: ignore[arg-type]
        return self._places

    # -- looking up ---------------------------------------------------------------------------------------------------

    def field(self, name: str) -> np.ndarray:
        """A per-step field at the current row of every environment."""
        at = self.at
        if name in self.tables:
            pool, at = self.tables[name], np.arange(self.n) * self._room + self.rows["_code"].take(at)
        else:
            pool = self.rows[name]
        return pool.reshape(-1, *pool.shape[2:]).take(at, axis=0)

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
        if np.any(trial < 0) or np.any(trial >= self.n_trials):
            raise ValueError("the batch: an environment is outside its trials")
        if np.any(steps < 0) or np.any(steps >= self.filled):  # before the sum, which may overflow
            raise ValueError("the batch: an environment is outside its trial")
        self.trial[:], self.skipped[:], self.score[:], self.sum[:], self.aborts[:] = (
            trial,
            skipped,
            score,
            total,
            aborts,
        )
        self.begin(every)
        self.at += steps
        if np.any(self.at - every * self.capacity >= self.filled):
            raise ValueError("the batch: an environment is outside its trial")


def _plain(values: np.ndarray | None, kind: np.dtype) -> np.ndarray | None:
    """Convert an array to the contiguous form that `distinct` expects."""
    if values is None or (values.dtype is kind and values.flags.c_contiguous):
        return values
    return np.ascontiguousarray(values, kind)
