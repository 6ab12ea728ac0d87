"""Layout of a block of trials: positions and rows of periods."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from neurogym.messages.names import unknown
from neurogym.trials.rows import Rows, rows_between

Period = str | Iterable[str] | None
RowsKey = str | tuple[str, ...] | None  #: a period as the key of its rows
#: Duration of a period (ms), a number or one per trial; or those of several periods, None where they are to be drawn.
Duration = float | np.ndarray | Sequence[float | np.ndarray | None]


class InvalidOperationError(RuntimeError):
    """Operation requested at the wrong moment, such as a period added after the observations."""


def broadcast_to_trials(n: int, value: float) -> np.ndarray:
    """Repeat a number for each of ``n`` trials, shape (n,); for a single trial ``np.full`` is three times slower."""
    return np.array([value]) if n == 1 else np.full(n, value)


_MOST_CACHED_ROWS = 8192  #: of a layout whose rows are kept for the next block with the same layout


@functools.lru_cache(maxsize=64)
def _rows_of_layout(n: int, periods: tuple[tuple[str, tuple[int, int]], ...]) -> dict[RowsKey, Rows]:
    """Rows of a layout in which all trials are alike; blocks with this layout look them up and add those they need."""
    return {}


class Layout:
    """Periods of ``n`` trials, with the rows of consecutive trials stored in sequence.

    Args:
        n: Number of trials.
        dt: Time step (ms).

    Attributes:
        starts: First step of each period, name to int array (n,); ``ends`` likewise, exclusive.
        length: Steps of each trial, shape (n,). May be shortened after the layout, never lengthened.
        offset: First row of each trial, shape (n,), known after the layout.
        total: Number of rows, known after the layout.
    """

    offset: np.ndarray
    total: int

    def __init__(self, n: int, dt: float):
        self.n, self.dt = n, dt
        self.starts: dict[str, np.ndarray] = {}
        self.ends: dict[str, np.ndarray] = {}
        self.length = np.zeros(n, np.int64)
        self._rows: dict[RowsKey, Rows] = {}
        self._alike: dict[str, tuple[int, int]] = {}  # start and end of periods that are the same in all trials
        self._laid: np.ndarray = self.length  # the lengths that follow from the periods

    def steps(self, duration: Duration) -> np.ndarray:
        """Number of whole steps in a duration (ms), shape (n,)."""
        steps = np.floor(np.asarray(duration, dtype=float) / self.dt + 1e-6).astype(np.int64)
        return steps if steps.ndim else np.full(self.n, steps)

    def whole_steps(self, duration: Duration) -> int | np.ndarray:
        """:meth:`steps`, with an integer for a number or a single trial."""
        if isinstance(duration, (int, float)) and math.isfinite(duration):
            return math.floor(duration / self.dt + 1e-6)
        steps = self.steps(duration)
        return steps if self.n > 1 else steps.item()

    # -- periods ------------------------------------------------------------------------------------------------------

    def insert(
        self,
        period: str,
        steps: int | np.ndarray,
        before: str | None = None,
        after: str | float | np.ndarray | None = None,
    ) -> None:
        """Add a period of so many steps; other arguments as in :meth:`neurogym.trials.Trials.add_period`.

        Raises:
            ValueError: If a period is unknown, negative, or would start before the trial.
        """
        if steps < 0 if isinstance(steps, int) else (steps < 0).any():
            raise ValueError(f"period {period!r} has a negative duration")
        start: int | np.ndarray = 0
        if after is not None:
            start = self._limit(self.ends, after) if isinstance(after, str) else self.whole_steps(after)
        elif before is not None:
            start = self._limit(self.starts, before) - steps
            if np.any(start < 0):
                raise ValueError(f"period {period!r} would start before the trial")
        self._alike.pop(period, None)
        if isinstance(start, int) and isinstance(steps, int):
            self._alike[period] = start, start + steps
        self.starts[period] = broadcast_to_trials(self.n, start) if isinstance(start, int) else start
        self.ends[period] = self.starts[period] + steps
        self.length = self._laid = np.maximum(self.length, self.ends[period])

    def _limit(self, table: dict[str, np.ndarray], period: str) -> int | np.ndarray:
        """First or last boundary of a period: an integer if the same in all trials."""
        alike = self._alike.get(period)
        if alike is not None:
            return alike[table is self.ends]
        return self.boundary(table, period)

    def boundary(self, table: dict[str, np.ndarray], period: str) -> np.ndarray:
        """Entry of a period in ``starts`` or ``ends``, shape (n,).

        Raises:
            ValueError: If there is no such period.
        """
        if period not in table:
            raise ValueError(unknown("period", period, table))
        return table[period]

    # -- rows ---------------------------------------------------------------------------------------------------------

    def rows(self, period: Period = None) -> Rows:
        """Rows of a period (None: of whole trials; several names: of several periods in sequence).

        A row that several of the named periods share is given once.
        """
        if not self._rows:
            self._lay_out()
        key = period if period is None or isinstance(period, str) else tuple(period)
        if key not in self._rows:
            if key == ():
                nothing = np.zeros(0, np.int64)
                self._rows[key] = Rows(nothing, nothing, nothing)
            elif isinstance(key, tuple):
                rows = self.rows_in_turn(key)
                first = self.first_occurrences(rows)
                self._rows[key] = Rows(*(column[first] for column in rows))
            else:
                start, end = self.boundary(self.starts, str(key)), self.boundary(self.ends, str(key))
                self._rows[key] = rows = rows_between(self.offset, start, end)
                inside = start.min(initial=0) >= 0 and (self.offset + end).max(initial=0) <= self.total
                if not inside and len(rows.index) and not 0 <= rows.index.min() <= rows.index.max() < self.total:
                    raise ValueError(f"period {key!r} lies outside the trials")
        return self._rows[key]

    def rows_in_turn(self, periods: Sequence[str | None]) -> Rows:
        """Rows of several periods in sequence; shared rows are repeated."""
        return Rows(*(np.concatenate(column) for column in zip(*map(self.rows, periods), strict=True)))

    def first_occurrences(self, rows: Rows) -> slice | np.ndarray:
        """Positions at which each row occurs first; a slice of everything if no row occurs twice."""
        seen = np.zeros(self.total, bool)
        seen[rows.index] = True
        if np.count_nonzero(seen) == len(rows.index):
            return slice(None)
        return np.sort(np.unique(rows.index, return_index=True)[1])

    def rows_of(self, at: np.ndarray) -> np.ndarray:
        """Rows of the trials ``at``, trial by trial."""
        return rows_between(self.offset[at], np.zeros(len(at), np.int64), self.length[at]).index

    def span(self, k: int) -> slice:
        """Rows of trial ``k``."""
        first = self.offset.item(k)
        return slice(first, first + self.length.item(k))

    def _lay_out(self) -> None:
        steps = int(self.length[0])
        are_alike = len(self._alike) == len(self.starts) and self._laid is self.length
        if not are_alike or self.n * steps > _MOST_CACHED_ROWS:
            self.place(self.length)
            return
        self.offset, self.total = np.arange(0, self.n * steps, steps), self.n * steps
        self._rows = _rows_of_layout(self.n, tuple(self._alike.items()))
        if None not in self._rows:
            self._rows[None] = rows_between(self.offset, np.zeros(self.n, np.int64), self.length)

    def place(self, length: np.ndarray, offset: np.ndarray | None = None) -> None:
        """Lay out trials of known lengths (steps, shape (n,)), in sequence unless ``offset`` is given."""
        self.length = length
        self.offset = np.cumsum(length) - length if offset is None else offset
        self.total = int(length.sum()) if offset is None else int((offset + length).max(initial=0))
        self._rows = {None: rows_between(self.offset, np.zeros(self.n, np.int64), length)}

    def move_period(self, period: str, start: np.ndarray, end: np.ndarray) -> None:
        """Give a period other limits (steps, shape (n,)) after the layout; used by wrappers that change timing."""
        self.starts[period], self.ends[period] = np.asarray(start), np.asarray(end)
        self._alike.pop(period, None)
        keys = {key: key if isinstance(key, tuple) else (key,) for key in self._rows}
        # A new dictionary, since other blocks may have rows in common with this one.
        self._rows = {key: self._rows[key] for key, names in keys.items() if period not in names}
