"""Observations and correct actions in each row of a block of trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from neurogym.messages.names import unknown
from neurogym.sampling.distributions import PossibleValues
from neurogym.sampling.generator import Generators
from neurogym.spaces import Space, names_of
from neurogym.trials import rows as filling
from neurogym.trials.layout import Layout, Period
from neurogym.trials.rows import Rows

Where = str | int | Sequence[int] | np.ndarray | range | None
#: Indices of channels or of actions; None for all.
Indices = Sequence[int] | np.ndarray | None
#: Index of channels or actions in rows.
Cells = np.ndarray | tuple[np.ndarray, slice | Sequence[int] | np.ndarray]
#: Values for rows: a number, entries per trial or per row, or a function of the rows (or present observations) to fill.
RowValues = ArrayLike | Callable[..., ArrayLike]


class TaskLike(Protocol):
    """Interface of tasks as seen by a block of trials."""

    rule: ClassVar[Any]
    dt: float
    tmax_default: float
    default_timing: ClassVar[Mapping[str, object]]
    timing: Any
    rewards: Mapping[str, float | np.ndarray]
    conditions: Mapping[str, PossibleValues]
    observation_space: Any
    action_space: Any

    @property
    def accepted_actions(self) -> int:
        """Number of discrete actions that are accepted."""

    @property
    def metadata(self) -> Mapping[str, object]:
        """Metadata of the task."""

    @property
    def np_random(self) -> np.random.Generator:
        """The generator of the session."""


class CurrentObservations(np.ndarray):
    """Present observations, shape (rows, channels), with ``index``, ``trial`` and ``step`` of their rows.

    This is what a callable given to :meth:`RowArrays.add_ob` is called with.
    """

    index: np.ndarray
    trial: np.ndarray
    step: np.ndarray


class RowArrays(Layout):
    """Periods of ``n`` trials, and arrays with a row per step.

    Args:
        env: The task; gives the time step, spaces and generator.
        n: Number of trials.

    Attributes:
        fields: Everything with one row per step: ``ob``, ``gt``, the tables of the response rule, wrappers' own.
        has_gt: Whether a ground truth has been set.
    """

    def __init__(self, env: TaskLike, n: int):
        super().__init__(n, env.dt, type(env).__name__, int(env.tmax_default // env.dt))
        self.env = env
        self.rng: Any = env.np_random  # of the session, or for trials of several sessions `Generators`
        self.fields: dict[str, np.ndarray] = {}
        self.has_gt = False

    @property
    def ob(self) -> np.ndarray:
        """Observations, shape (rows, ...)."""
        return self._field("ob", self.env.observation_space)

    @property
    def gt(self) -> np.ndarray:
        """Ground truth: the correct action at each row, shape (rows, ...)."""
        self.has_gt = True
        return self._field("gt", self.env.action_space)

    @property
    def laid_out(self) -> bool:
        """Whether the rows are known, so that no period can be added."""
        return super().laid_out or "ob" in self.fields

    @property
    def usual_periods(self) -> list[str]:
        """Periods of a trial whose task adds none: those of the task's timing, in sequence."""
        return list(self.env.default_timing or self.env.timing)

    @property
    def nbytes(self) -> int:
        """Memory of all arrays with a row per step (bytes)."""
        return sum(values.nbytes for values in self.fields.values())

    def _field(self, name: str, space: Any) -> np.ndarray:
        if name not in self.fields:
            self.rows()
            self.fields[name] = np.zeros((self.total, *space.shape), space.dtype)
        return self.fields[name]

    def _checked(self, value: ArrayLike) -> np.ndarray:
        """Convert a value, or a value per trial, to an array."""
        value = np.asarray(value)
        if value.ndim and len(value) not in (1, self.n):
            raise ValueError(f"a value per trial needs {self.n} entries (one per trial), got {len(value)}")
        return value

    def by_row(self, value: RowValues, rows: Rows, columns: bool) -> np.ndarray:
        """Expand a value per trial (first axis) to a value per row; a callable is called with the rows.

        Args:
            value: A number, shape (n,) or (1,), or with further axes, or a callable that takes :class:`Rows`.
            rows: The rows.
            columns: Whether values with one axis are to become a column.
        """
        if callable(value):
            value = np.asarray(value(rows))
        else:
            value = self._checked(value)
            if value.ndim == 0:
                return value
            value = value if len(value) == 1 and self.n > 1 else value[rows.trial]
        return value[:, None] if columns and value.ndim == 1 else value

    def entries(self, value: RowValues, period: Period, where: Where) -> tuple[Any, bool]:
        """Convert a value with an entry per row for :meth:`add_ob`; also return whether there is an entry per row."""
        if callable(value) or np.ndim(value) == 0:
            return value, False
        columns = self.columns(where, self.env.observation_space, "channel")
        shape = self.ob.shape[1:] if columns is None else (len(columns),)
        return self.entry_per_row(np.asarray(value), period, shape), True

    def entry_per_row(self, value: np.ndarray, period: Period, shape: tuple[int, ...]) -> np.ndarray:
        """Expand a value for the rows of one or several periods to an entry of a shape per row, shape (rows, ...)."""

        def spread(rows: Rows) -> np.ndarray:
            full_shape = (len(rows.index), *shape)
            if value.shape == full_shape[:1] and shape in ((), (1,)):
                return value.reshape(full_shape)
            return np.broadcast_to(value, full_shape)

        if period is None or isinstance(period, str):
            return spread(self.rows(period))
        names = list(period)
        rows = self.rows(names)
        if value.ndim <= len(shape) or len(value) in (1, len(rows.index)):
            return spread(rows)
        by_period = np.concatenate([spread(self.rows(name)) for name in names])
        return by_period[self.first_occurrences(self.rows_in_turn(names))]

    def columns(self, where: Where, space: Space[Any], kind: str) -> Any:
        """Convert labels or indices to indices in a space; None for all.

        Raises:
            ValueError: If there is no such label.
        """
        if isinstance(where, str):
            names = names_of(space)
            if where not in names:
                raise ValueError(unknown(kind, where, names))
            where = names[where]
        if type(where) is list and where and isinstance(where[0], int):
            side_by_side = range(where[0], where[0] + len(where))
            where = side_by_side if where == list(side_by_side) else where
        if where is None or (isinstance(where, range) and where.step == 1):
            return where
        return [where] if np.ndim(where) == 0 else np.asarray(where)

    def add_ob(self, value: RowValues, period: Period = None, where: Where = None, per_row: bool = False) -> None:
        """Add to the observations of a period.

        Args:
            value: A number, shape (n,) or (n, channels) with one entry per trial (or (1, channels) for all), or a
                callable that takes the present values (:class:`CurrentObservations`) and returns shape (rows,) or
                (rows, channels).
            period: Name, names (a row that they share is added to once), or None for the whole trial.
            where: Label or indices of channels; None for all.
            per_row: Whether ``value`` has one entry per row, in the order of :meth:`rows`, instead of one per trial.
        """
        self._write(value, period, where, per_row)

    def set_ob(self, value: RowValues, period: Period = None, where: Where = None, per_row: bool = False) -> None:
        """Replace observations; arguments as in :meth:`add_ob`, and a callable still receives the previous values."""
        self._write(value, period, where, per_row, replace=True)

    def _write(self, value: RowValues, period: Period, where: Where, per_row: bool, replace: bool = False) -> None:
        rows, columns = self.rows(period), self.columns(where, self.env.observation_space, "channel")
        if callable(value):
            present = self.ob[cells(rows, columns, self.ob.shape[-1])].view(CurrentObservations)
            present.index, present.trial, present.step = rows
            value, per_row = value(present), True
        if replace:
            self.ob[cells(rows, columns, self.ob.shape[-1])] = 0
        self._add(value, rows, columns, per_row)

    def add_randn(self, mu: float = 0, sigma: RowValues = 1, period: Period = None, where: Where = None) -> None:
        """Add independent Gaussian noise to rows and channels; ``sigma`` is the s.d. per step, a number or (n,)."""
        rows, columns = self.rows(period), self.columns(where, self.env.observation_space, "channel")
        ob = self.ob
        shape = ob.shape[1:] if columns is None else (len(columns),)
        if isinstance(self.rng, Generators):
            noise = self.rng.noise(rows.trial, shape)
        else:
            noise = self.rng.standard_normal((len(rows.index), *shape), dtype=np.float32)
        noise *= self.by_row(sigma, rows, columns=ob.ndim == 2)
        if mu if isinstance(mu, (int, float)) else np.any(mu):
            noise += mu
        self._add(noise, rows, columns, per_row=True)

    def _add(self, value: ArrayLike, rows: Rows, columns: Indices, per_row: bool) -> None:
        """Add a number, or values per trial or row, to columns of the observations."""
        value, ob = np.asarray(value), self.ob
        side_by_side = neighbours(columns, ob.shape[-1]) if ob.ndim == 2 else None
        if side_by_side is not None:
            filling.add(ob, rows, side_by_side, value if per_row else self._checked(value), by_trial=not per_row)
            return
        entries: Callable[[Rows], np.ndarray] | np.ndarray = (lambda _: value) if per_row else value
        spread = self.by_row(entries, rows, columns=ob.ndim == 2)
        ob[cells(rows, columns, ob.shape[-1])] += spread.astype(ob.dtype)

    def set_groundtruth(self, value: RowValues, period: Period = None, where: str | None = None) -> None:
        """Set the correct action in a period.

        Args:
            value: A number, shape (n,), or for vector actions (n, components), or a callable that takes :class:`Rows`.
            period: Name, names, or None for the whole trial.
            where: Label of the action space; then ``value`` is the position in the list registered under it.
        """
        rows = self.rows(period)
        spread = self.by_row(value, rows, columns=self.gt.ndim == 2)
        if where is not None:
            spread = np.asarray(self.columns(where, self.env.action_space, "action"))[spread.astype(int)]
        self.gt[rows.index] = spread


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
