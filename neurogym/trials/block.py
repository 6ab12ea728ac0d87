"""A block of trials, laid out as consecutive rows.

A task makes many trials at a time: every number it draws has one entry per trial, every period has one start and one
end per trial, and the observations of all trials lie one after the other in a single array. Stepping then only reads
rows, one trial at a time in :class:`neurogym.core.TrialEnv`, many at once in :class:`neurogym.vector.TrialVectorEnv`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from neurogym.messages.names import unknown
from neurogym.sampling.distributions import Distribution, values_of
from neurogym.spaces import Labels, names_of
from neurogym.trials import rows as filling
from neurogym.trials.layout import Layout, Period
from neurogym.trials.rows import Rows

Where = str | int | Sequence[int] | np.ndarray | range | None


class Task(Protocol):
    """What a block of trials knows of its task."""

    rule: ClassVar[Any]
    metadata: dict[str, Any]

    dt: float
    tmax_default: float
    timing: Any
    rewards: Any
    conditions: Any
    observation_space: Any
    action_space: Any

    @property
    def np_random(self) -> np.random.Generator:
        """The generator of the session."""


class Present(np.ndarray):
    """Observations as they are, shape (rows, channels), with ``index``, ``trial`` and ``step`` of their rows.

    This is what a callable given to :meth:`Trials.add_ob` is called with.
    """

    index: np.ndarray
    trial: np.ndarray
    step: np.ndarray


class Trials(Layout):
    """``n`` trials under construction, then ready to be stepped.

    Args:
        env: The task; gives the time step, timing, rewards, spaces and generator.
        n: Number of trials.
        given: Conditions fixed in advance, name to array of shape (n,).

    Attributes:
        info: What describes each trial (conditions, derived values), name to array whose first axis is the trial.
        starts: First step of each period, name to int array (n,); ``ends`` likewise, exclusive.
        length: Steps of each trial, shape (n,). May be shortened after the layout, never lengthened.
        fields: Everything with one row per step: ``ob``, ``gt``, the tables of the response rule, wrappers' own.
        rewards: Reward of each event, a number or an array (n,); starts as the task's ``rewards``.
        bonus: Added to every step's reward, a number or (n,).
        go: Step from which reaction times count, shape (n,), and ``go_period`` its name.
    """

    def __init__(self, env: Task, n: int, given: dict[str, np.ndarray] | None = None):
        super().__init__(n, env.dt, type(env).__name__, int(env.tmax_default // env.dt))
        self.env, self.rng = env, env.np_random
        self.given = given or {}
        self.info: dict[str, np.ndarray] = {}
        self.fields: dict[str, np.ndarray] = {}
        self.rewards: dict[str, Any] = dict(env.rewards)
        self.payments: list[tuple] = []
        self.bonus: Any = 0.0
        self.go: np.ndarray | None = None
        self.go_period = ""
        self.has_gt = False
        self._told: tuple[dict[str, Any], dict[str, Any]] | None = None

    # -- what is drawn ------------------------------------------------------------------------------------------------

    def draw(self, name: str, values: Any = None, p: Sequence[float] | None = None) -> np.ndarray:
        """The condition ``name`` of each trial: as asked for, else drawn uniformly (or with ``p``) from its values.

        Args:
            name: Name in the trial's record.
            values: A sequence, or a distribution such as ``("uniform", (0, 1))``; default: ``env.conditions[name]``.
            p: Probability of each value of a sequence.

        Returns:
            Array of shape (n,).
        """
        if name in self.given:
            drawn = np.asarray(self.given[name])
        else:
            values = self.env.conditions[name] if values is None else values_of(values)
            if isinstance(values, Distribution):
                drawn = values.sample(self.rng, self.n)
            elif p is not None:
                drawn = np.asarray(values)[self.rng.choice(len(values), size=self.n, p=p)]
            else:
                drawn = np.asarray(values)[self.rng.integers(len(values), size=self.n)]
        self.info[name] = drawn
        return drawn

    def sample_time(self, period: str) -> np.ndarray:
        """Durations of a period (ms, shape (n,)), drawn from ``timing`` and floored to whole steps."""
        timing = self.env.timing
        if period not in timing:
            raise ValueError(unknown("period", period, timing))
        duration = Distribution.of(timing[period])
        if duration.kind == "until":
            drawn = duration.arguments - self.length * self.dt
            if np.any(drawn < 0):
                raise ValueError(
                    f"period {period!r} should last until {duration.arguments:g} ms, but the trial is already longer"
                )
        else:
            drawn = duration.sample(self.rng, self.n)
        if f"period_{period}" in self.given:  # asked for by a wrapper, nan where it leaves the duration as it is
            asked = np.asarray(self.given[f"period_{period}"], dtype=float)
            drawn = np.where(np.isnan(asked), drawn, asked)
        return self.steps(drawn) * self.dt

    def constant_time(self, period: str) -> float | None:
        """The duration of a period (ms) if ``timing`` makes it the same in all trials and nobody asks for another."""
        duration = self.env.timing.get(period)
        if type(duration) not in (int, float) or f"period_{period}" in self.given:
            return None
        return float(duration)

    # -- observations and ground truth --------------------------------------------------------------------------------

    @property
    def ob(self) -> np.ndarray:
        """Observations, one per row, shape (rows, ...)."""
        return self._field("ob", self.env.observation_space)

    @property
    def gt(self) -> np.ndarray:
        """Ground truth: the right action at each row, shape (rows, ...)."""
        self.has_gt = True
        return self._field("gt", self.env.action_space)

    @property
    def laid_out(self) -> bool:
        """Whether the rows are known, so that no period can be added."""
        return super().laid_out or "ob" in self.fields

    @property
    def nbytes(self) -> int:
        """Memory of everything with one row per step (bytes)."""
        return sum(values.nbytes for values in self.fields.values())

    def _field(self, name: str, space: Any) -> np.ndarray:
        if name not in self.fields:
            self.rows()
            self.fields[name] = np.zeros((self.total, *space.shape), space.dtype)
        return self.fields[name]

    def _checked(self, value: Any) -> np.ndarray:
        """A value, or one for each trial, as an array."""
        value = np.asarray(value)
        if value.ndim and len(value) not in (1, self.n):
            raise ValueError(f"a value per trial needs {self.n} entries (one per trial), got {len(value)}")
        return value

    def by_row(self, value: Any, rows: Rows, columns: bool) -> Any:
        """A value per trial (first axis) as a value per row; a callable is asked for the rows.

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

    def columns(self, where: Where, space: Any, kind: str) -> Any:
        """Indices that a label, an index or several mean in a space; None for all.

        Raises:
            ValueError: If there is no such label.
        """
        if isinstance(where, str):
            names = getattr(space, "name", None)
            names = names if isinstance(names, Labels) else names_of(space)
            if where not in names:
                raise ValueError(unknown(kind, where, names))
            where = names[where]
        if where is None or (isinstance(where, range) and where.step == 1):
            return where
        return [where] if np.ndim(where) == 0 else np.asarray(where)

    def add_ob(self, value: Any, period: Period = None, where: Where = None, per_row: bool = False) -> None:
        """Add to the observations of a period.

        Args:
            value: A number, shape (n,) or (n, channels) with one entry per trial (or (1, channels) for all), or a
                callable that takes the present values (:class:`Present`) and returns shape (rows,) or (rows, channels).
            period: Name, names (a row that they share is added to once), or None for the whole trial.
            where: Label or indices of channels; None for all.
            per_row: Whether ``value`` has one entry per row, in the order of :meth:`rows`, instead of one per trial.
        """
        rows, columns = self.rows(period), self.columns(where, self.env.observation_space, "channel")
        if callable(value):
            value, per_row = np.asarray(value(self._present(rows, columns))), True
        self._add(value, rows, columns, per_row)

    def set_ob(self, value: Any, period: Period = None, where: Where = None, per_row: bool = False) -> None:
        """Like :meth:`add_ob`, but replaces what was there; a callable still sees it."""
        rows, columns = self.rows(period), self.columns(where, self.env.observation_space, "channel")
        if callable(value):
            value, per_row = np.asarray(value(self._present(rows, columns))), True
        self.ob[cells(rows, columns, self.ob.shape[-1])] = 0
        self._add(value, rows, columns, per_row)

    def add_randn(self, mu: float = 0, sigma: Any = 1, period: Period = None, where: Where = None) -> None:
        """Add independent Gaussian noise to rows and channels; ``sigma`` is the s.d. per step, a number or (n,)."""
        rows, columns = self.rows(period), self.columns(where, self.env.observation_space, "channel")
        shape = self.ob.shape[1:] if columns is None else (len(columns),)
        noise = self.rng.standard_normal((len(rows.index), *shape), dtype=np.float32)
        noise *= self.by_row(sigma, rows, columns=self.ob.ndim == 2)
        if np.any(mu):
            noise += mu
        self._add(noise, rows, columns, per_row=True)

    def _present(self, rows: Rows, columns: Any) -> Present:
        present = self.ob[cells(rows, columns, self.ob.shape[-1])].view(Present)
        present.index, present.trial, present.step = rows
        return present

    def _add(self, value: Any, rows: Rows, columns: Any, per_row: bool) -> None:
        """Add a number, or values per trial or row, to columns of the observations."""
        value = np.asarray(value).view(np.ndarray)
        side_by_side = neighbours(columns, self.ob.shape[-1]) if self.ob.ndim == 2 else None
        if side_by_side is not None:
            filling.add(self.ob, rows, side_by_side, value if per_row else self._checked(value), by_trial=not per_row)
            return
        given: Callable[[Rows], np.ndarray] | np.ndarray = (lambda _: value) if per_row else value
        spread = self.by_row(given, rows, columns=self.ob.ndim == 2)
        self.ob[cells(rows, columns, self.ob.shape[-1])] += spread.astype(self.ob.dtype)

    def set_groundtruth(self, value: Any, period: Period = None, where: str | None = None) -> None:
        """Set the right action in a period.

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

    # -- what is paid -------------------------------------------------------------------------------------------------

    def reward(self, event: str) -> np.ndarray:
        """Reward of an event (``"correct"``, ``"fail"``, ...) in each trial, 0 if the task has none; shape (n,)."""
        amount = self.rewards.get(event, 0.0)
        if isinstance(amount, float):
            return np.full(self.n, amount)
        amount = np.asarray(amount, dtype=float)
        if amount.shape not in ((), (self.n,)):
            raise ValueError(f"reward {event!r} needs one number or {self.n} (one per trial), got shape {amount.shape}")
        return np.ascontiguousarray(amount) if amount.ndim else np.full(self.n, amount)

    def pay(
        self,
        period: Period,
        action: int | Sequence[int],
        reward: Any,
        performance: Any = 0.0,
        ends: bool = True,
    ) -> None:
        """Say what an action earns in a period, where the response rule alone does not.

        Args:
            period: Name, names, or None for the whole trial.
            action: The action, or several.
            reward: A number, shape (n,), or a callable that takes :class:`Rows`.
            performance: Likewise; added to the trial's performance (0 to 1 over the trial).
            ends: Whether the action ends the trial.
        """
        self.payments.append((period, action, reward, performance, ends))

    def set_default_go(self) -> None:
        """Let reaction times count from a period whose name says so, else from the start of the trial."""
        if self.go is None:
            named = [name for name in ("decision", "response", "go", "test", "production") if name in self.starts]
            self.go_period = named[0] if named else "trial"
            self.go = self.starts[named[0]] if named else np.zeros(self.n, np.int64)

    # -- describing ---------------------------------------------------------------------------------------------------

    def scalars(self) -> dict[str, np.ndarray]:
        """One array (n,) per scalar that describes the trials: conditions, then period durations in ms."""
        columns = {name: value for name, value in self.info.items() if _is_scalar(value)}
        for name, start in self.starts.items():
            columns[f"period_{name}"] = (self.ends[name] - start) * float(self.dt)
        return columns

    def record(self, k: int) -> dict[str, Any]:
        """What describes trial ``k``, with Python numbers for scalars."""
        record = {}
        for name, values in self.info.items():
            value = values[k]
            record[name] = value.item() if isinstance(value, np.generic) else value
        return record

    def told(self, k: int) -> tuple[dict[str, Any], dict[str, float]]:
        """Record and durations of trial ``k`` of a block that is complete."""
        if self._told is None:
            columns = {name: _by_trial(values) for name, values in self.info.items()}
            spans = {
                f"period_{name}": ((self.ends[name] - start) * float(self.dt)).tolist()
                for name, start in self.starts.items()
            }
            self._told = columns, spans
        columns, spans = self._told
        return {name: values[k] for name, values in columns.items()}, {name: ms[k] for name, ms in spans.items()}

    def part(self, first: int, count: int) -> Trials:
        """Some consecutive trials as a block that shares the arrays of this one."""
        part = Trials(self.env, count)
        at = slice(first, first + count)
        row = int(self.offset[first])
        end = int(self.offset[first + count]) if first + count < self.n else self.total
        part.place(self.length[at], self.offset[at] - row)
        part.total = end - row
        part.fields = {name: values[row:end] for name, values in self.fields.items()}
        part.info = {name: values[at] for name, values in self.info.items()}
        part.starts = {name: start[at] for name, start in self.starts.items()}
        part.ends = {name: end[at] for name, end in self.ends.items()}
        part.bonus = np.broadcast_to(self.bonus, (self.n,))[at]
        part.go = None if self.go is None else self.go[at]
        part.go_period, part.has_gt = self.go_period, self.has_gt
        return part


def neighbours(columns: Any, width: int) -> slice | None:
    """Columns as a slice if they lie side by side, which is ten times faster; None if they do not."""
    if columns is None:
        return slice(0, width)
    first, last = int(columns[0]), int(columns[-1])
    if last - first != len(columns) - 1 or first < 0 or last >= width:
        return None
    in_order = first == last or isinstance(columns, range) or np.array_equal(columns, range(first, last + 1))
    return slice(first, last + 1) if in_order else None


def cells(rows: Rows, columns: Any, width: int) -> Any:
    """Index of some columns, or of all, in some rows."""
    if columns is None:
        return rows.index
    side_by_side = neighbours(columns, width)
    return (rows.index, side_by_side) if side_by_side is not None else (rows.index[:, None], columns)


def _by_trial(values: np.ndarray) -> Any:
    """One entry per trial, with Python numbers for scalars."""
    if values.dtype != object:
        return values.tolist() if values.ndim == 1 else values
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _is_scalar(value: np.ndarray) -> bool:
    """Whether each trial has one number or word, rather than an array, a tuple or a dictionary."""
    if np.ndim(value) != 1:
        return False
    return value.dtype != object or not isinstance(value[0], (tuple, list, dict, np.ndarray))
