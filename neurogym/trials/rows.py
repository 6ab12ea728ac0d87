"""Rows of a block of trials, and functions that fill their values.

Here in NumPy; what NumPy takes long for is compiled in ``rows.c`` too, with the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from neurogym import kernels
from neurogym.trials.events import CORRECT, END, MISS


class Rows(NamedTuple):
    """Rows of a block: position, trial, and step within the trial."""

    index: np.ndarray  # type: ignore[assignment]  #: position in the block, shape (rows,)
    trial: np.ndarray  #: trial each row belongs to, shape (rows,)
    step: np.ndarray  #: step within its trial, shape (rows,)


class CurrentObservations(np.ndarray):
    """Present observations, shape (rows, channels), with ``index``, ``trial`` and ``step`` of their rows.

    This is what a callable given to :meth:`Trials.add_ob` is called with.
    """

    index: np.ndarray
    trial: np.ndarray
    step: np.ndarray


Where = str | int | Sequence[int] | np.ndarray | range | None
#: Values for rows: a number, entries per trial or per row, or a function of the rows (or present observations) to fill.
RowValues = ArrayLike | Callable[..., ArrayLike]
#: Indices of channels or of actions; None for all.
Indices = Sequence[int] | np.ndarray | None
#: Index of channels or actions in rows.
Cells = np.ndarray | tuple[np.ndarray, slice | Sequence[int] | np.ndarray]


def neighbours(columns: Indices, width: int) -> slice | None:
    """Convert adjacent columns to a slice, which is ten times faster; None if not adjacent."""
    if columns is None:
        return slice(0, width)
    first, last = int(columns[0]), int(columns[-1])
    if last - first != len(columns) - 1 or first < 0 or last >= width:
        return None
    in_order = first == last or isinstance(columns, range) or np.array_equal(columns, range(first, last + 1))
    return slice(first, last + 1) if in_order else None


def cells(rows: Rows, columns: Indices, width: int) -> Cells:
    """Index of some columns, or of all, in some rows."""
    if columns is None:
        return rows.index
    side_by_side = neighbours(columns, width)
    return (rows.index, side_by_side) if side_by_side is not None else (rows.index[:, None], columns)


def rows_between(offset: np.ndarray, start: np.ndarray, end: np.ndarray) -> Rows:
    """Rows of a time range of each trial, trial by trial.

    Args:
        offset: First row of each trial in the block, shape (trials,).
        start: First step of the stretch in each trial, shape (trials,).
        end: Its end, exclusive.
    """
    count = np.maximum(end - start, 0)
    trial = np.repeat(np.arange(len(offset)), count)
    step = np.arange(len(trial)) - np.repeat(np.cumsum(count) - count - start, count)
    return Rows(offset[trial] + step, trial, step)


def add(to: np.ndarray, rows: Rows, columns: Indices, values: np.ndarray, by_trial: bool) -> None:
    """Add to columns of some rows.

    Args:
        to: Changed in place, shape (block, width), or (block, ...) for frames.
        rows: The rows.
        columns: The columns; None for all.
        values: Shape (), or with one entry (or one alone) per trial or row, shape (..,) or (.., columns).
        by_trial: Whether the first axis of the values is the trial.

    Raises:
        ValueError: If there is not one value, or row of values, for each row.
    """
    if to.ndim == 2 and values.ndim < 2:
        values = values.reshape(-1, 1)
    if not by_trial and values.ndim and len(values) not in (1, len(rows.index)):
        raise ValueError(f"expected values for {len(rows.index)} rows, got {len(values)}")
    compiled, is_plain = kernels.get("add"), to.ndim == 2 and to.dtype == np.float32 and to.flags.c_contiguous
    side_by_side = neighbours(columns, to.shape[1]) if is_plain else None
    if compiled is not None and side_by_side is not None:
        first, width = side_by_side.start, side_by_side.stop - side_by_side.start
        if values.shape[1] in (1, width):
            numbers = np.ascontiguousarray(values, np.float32)
            compiled(to, first, width, rows.index, numbers, rows.trial if by_trial else None)
            return
    if by_trial and values.ndim and len(values) > 1:
        values = values[rows.trial]
    to[cells(rows, columns, to.shape[-1])] += values.astype(to.dtype)


class Tables:
    """Rewards, performance gains and events of actions in each row of a block.

    Args:
        rows: Number of rows.
        actions: Number of actions.
        hold: The action that means no response, or None.
    """

    def __init__(self, rows: int, actions: int, hold: int | None):
        self.reward, self.performance = np.zeros((rows, actions)), np.zeros((rows, actions))
        self.event = np.zeros((rows, actions), np.uint8)
        self.hold = hold

    def respond(self, rows: Rows, reward: np.ndarray, event: int) -> None:
        """Set the reward, shape (trials,), and the event of any response."""
        self.reward[rows.index], self.event[rows.index] = reward[rows.trial][:, None], event
        if self.hold is not None:
            self.reward[rows.index, self.hold] = self.event[rows.index, self.hold] = 0

    def answer(self, rows: Rows, right: np.ndarray, reward: np.ndarray, needed: np.ndarray) -> None:
        """Set the reward of the correct response, shape (trials,), and mark the trials that have a correct response.

        Args:
            rows: Where it can be given.
            right: The right action of each row of the block.
            reward: Shape (trials,).
            needed: Changed in place, shape (trials,), bool.

        Raises:
            IndexError: If there is no such action.
        """
        target = right[rows.index].astype(np.int64, copy=False)
        due = np.ones(len(target), bool) if self.hold is None else target != self.hold
        if wrong := target[due & ((target < 0) | (target >= self.event.shape[1]))].tolist():
            raise IndexError(f"the correct action {wrong[0]} is outside the action space")
        cells = (rows.index[due], target[due])
        self.reward[cells] = reward[rows.trial[due]]
        self.performance[cells] = 1.0
        self.event[cells] = CORRECT | END
        needed[rows.trial[due]] = True

    def run_out(self, last: np.ndarray, needed: np.ndarray, miss: np.ndarray | None, withhold: np.ndarray) -> None:
        """Set the outcome of trials that run out: reward and event of each trial's last row.

        Args:
            last: That row, shape (trials,).
            needed: Whether an answer was.
            miss: Reward of not having given it, shape (trials,); None if nothing was to be answered at one moment.
            withhold: Reward of rightly giving none, shape (trials,).
        """
        running = self.event[last] < END
        ended = np.full_like(self.event[last], END)
        if miss is not None:
            ended |= np.where(needed, MISS, CORRECT)[:, None].astype(np.uint8)
            self.reward[last] += np.where(running, np.where(needed, miss, withhold)[:, None], 0.0)
            self.performance[last] += running & ~needed[:, None]
        self.event[last] = np.where(running, ended, self.event[last])
