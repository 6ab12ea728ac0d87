"""Combination of trials of several tasks into a block.

Each task makes its own trials; :func:`interleave` lays them out in the order of a schedule, and :class:`MixedRule`
applies to each trial the response rule of the task that it came from. With tasks A and B and the schedule A B B A::

    parts    TaskBlock(0, two trials of A, [0, 3]), TaskBlock(1, two trials of B, [1, 2])
    block    | A, 1st | B, 1st | B, 2nd | A, 2nd |    rows of each trial, one trial after the other

Everything with a row per step is copied to the rows of the trial's place; everything with an entry per trial (limits of
periods, rewards, records) to the place itself. What a task lacks is nan, None, or a period of no length.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from neurogym.core import TrialEnv
from neurogym.rules import Jump
from neurogym.trials import Trials
from neurogym.trials.events import EVENT_TABLES


class TaskBlock(NamedTuple):
    """Trials of one task in a block; a task may have several parts, or none.

    Attributes:
        task: Index of the task.
        trials: The trials that the task made.
        places: Their places in the block, shape (trials,).
    """

    task: int
    trials: Trials
    places: np.ndarray


class Records(NamedTuple):
    """Entries of the records of several tasks, so that every block has all of them.

    Attributes:
        columns: Name to the type and shape of each entry.
        periods: Names of periods.
        size: Memory of a mean trial (bytes).
    """

    columns: dict[str, tuple[np.dtype, tuple[int, ...]]]
    periods: list[str]
    size: float

    @classmethod
    def of(cls, tasks: Sequence[TrialEnv]) -> Records:
        """Determine the entries from a few trials of each task.

        The sizes decide how many trials are made ahead and thus what a seed gives, so they must not depend on chance or
        on what was looked at before: the trials have a seed of their own, and the tasks must be seeded afterwards.
        """
        columns: dict[str, tuple[np.dtype, tuple[int, ...]]] = {}
        periods: dict[str, None] = {}
        sizes = []
        for task in tasks:
            task.session.begin(0)
            probe = task.make_trials(4)
            for name, values in probe.info.items():
                columns.setdefault(name, (np.asarray(values).dtype, np.shape(values)[1:]))
            periods |= dict.fromkeys(probe.starts)
            sizes.append(probe.nbytes / probe.n)
        return cls(columns, list(periods), float(np.mean(sizes)))


def interleave(trials: Trials, blocks: list[TaskBlock], tables: bool, records: Records | None) -> None:
    """Fill an empty block with the trials of several tasks.

    Args:
        trials: The block; its spaces must have room for those of every task.
        blocks: Trials of each task and their places in the block.
        tables: Whether the compiled tables of the response rules are taken over, too.
        records: Entries that the block has in any case, also without trials of the tasks that have them.
    """
    trials.parts = [] if tables else blocks
    length = np.zeros(trials.n, np.int64)
    for block in blocks:
        length[block.places] = block.trials.length
    trials.place(length)
    ob = trials.ob
    trials.has_gt = any(block.trials.has_gt for block in blocks)
    for block in blocks:
        target, source = trials.rows_of(block.places), block.trials.rows_of(np.arange(block.trials.n))
        for name, values in block.trials.fields.items():
            if name == "ob" and values.ndim == 2:
                ob[target, : values.shape[1]] = values[source]
            elif tables or name not in EVENT_TABLES:
                if name not in trials.fields:
                    trials.fields[name] = np.zeros((trials.total, *values.shape[1:]), values.dtype)
                trials.fields[name][target] = values[source]
    if trials.has_gt:
        _ = trials.gt
    _gather_periods(trials, blocks, records.periods if records else [])
    _gather_records(trials, blocks)
    for name, (dtype, shape) in records.columns.items() if records else ():
        if name not in trials.info:
            trials.info[name] = _empty_column((trials.n, *shape), [dtype])


def _gather_periods(trials: Trials, blocks: list[TaskBlock], more: list[str]) -> None:
    """Gather periods (of zero length in trials without the period), rewards, and onsets of reaction times."""
    trials.go, trials.bonus, trials.rewards = np.zeros(trials.n, np.int64), np.zeros(trials.n), {}
    for name in dict.fromkeys([*(name for block in blocks for name in block.trials.starts), *more]):
        trials.starts[name], trials.ends[name] = np.zeros((2, trials.n), np.int64)
    for _, block, at in blocks:
        trials.go[at], trials.bonus[at] = block.go, block.bonus
        for name, start in block.starts.items():
            trials.starts[name][at], trials.ends[name][at] = start, block.ends[name]
        for event, amount in block.rewards.items():
            trials.rewards.setdefault(event, np.zeros(trials.n))[at] = amount
    counted_from = {block.trials.go_period for block in blocks}
    trials.go_period = counted_from.pop() if len(counted_from) == 1 else "go"


def _gather_records(trials: Trials, blocks: list[TaskBlock]) -> None:
    """Gather the records of trials; nan (None if not a number) for trials of tasks without the entry.

    Arrays that differ in shape between tasks are left out.
    """
    for name in dict.fromkeys(name for _, block, _ in blocks for name in block.info):
        having = [(np.asarray(block.info[name]), at) for _, block, at in blocks if name in block.info]
        if len({values.shape[1:] for values, _ in having}) > 1:
            continue
        complete = sum(len(at) for _, at in having) == trials.n
        column = _empty_column((trials.n, *having[0][0].shape[1:]), [values.dtype for values, _ in having], complete)
        for values, at in having:
            column[at] = values
        trials.info[name] = column


def _empty_column(shape: tuple[int, ...], dtypes: Sequence[np.dtype], complete: bool = False) -> np.ndarray:
    """Room for values of some types; what is not filled in is nan, or None if the values are not numbers."""
    if any(dtype.kind not in "biuf" for dtype in dtypes):
        return np.full(shape, None, dtype=object)
    return np.zeros(shape, np.result_type(*dtypes)) if complete else np.full(shape, np.nan)


class MixedRule:
    """Response rules of several tasks, each applied to the task's own trials.

    Args:
        tasks: The tasks, each with a declared rule.
    """

    fixate: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()
    jumps: tuple[Jump, ...] = ()
    patience: float = inf

    def __init__(self, tasks: Sequence[TrialEnv]):
        self.tasks = list(tasks)
        holds = [task.rule.hold for task in tasks]
        self.hold = max(set(holds), key=holds.count)

    def compile(self, trials: Trials, abort: bool) -> None:
        """Fill the tables of the trials, unless already copied with the trials."""
        if "event" in trials.fields:
            return
        shape = trials.total, int(trials.env.action_space.n)
        tables = {name: np.zeros(shape, np.uint8 if name == "event" else np.float64) for name in EVENT_TABLES}
        for j, block, at in trials.parts:
            of_task, task = _subset(trials, block, at), self.tasks[j]
            task.rule.compile(of_task, task.abort)
            target = trials.rows_of(at)
            for name, table in tables.items():
                table[target] = of_task.fields[name]
        trials.fields.update(tables)

    def set_go(self, trials: Trials) -> None:
        """Keep the onsets of reaction times, which were copied from each task's trials."""


def _subset(trials: Trials, block: Trials, at: np.ndarray) -> Trials:
    """Trials ``at`` of a block as a separate block, with the fields that response rules need."""
    subset = Trials(trials.env, len(at))
    subset.starts = {name: trials.starts[name][at] for name in block.starts}
    subset.ends = {name: trials.ends[name][at] for name in block.starts}
    subset.place(trials.length[at])
    subset.has_gt = block.has_gt
    if block.has_gt:
        subset.fields["gt"] = trials.gt[trials.rows_of(at)]
    subset.rewards = {event: trials.rewards[event][at] for event in block.rewards}
    subset.bonus = np.broadcast_to(trials.bonus, (trials.n,))[at]
    subset.payments, subset.go = block.payments, trials.go[at]  # type: ignore[index]
    return subset
