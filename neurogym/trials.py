"""A block of trials, laid out as consecutive rows.

A task makes many trials at a time: every number it draws has one entry per trial, every period has one start and one
end per trial, and the observations of all trials lie one after the other in a single array. Stepping then only reads
rows, one trial at a time in :class:`neurogym.core.TrialEnv`, many at once in :class:`neurogym.vector.TrialVectorEnv`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym import filling
from neurogym.filling import Rows, rows_between
from neurogym.spaces import names_of
from neurogym.utils import ngym_random
from neurogym.utils.names import unknown

if TYPE_CHECKING:
    from neurogym.core import TrialEnv

Where = str | int | Sequence[int] | np.ndarray | range | None
Period = str | Iterable[str] | None


class InvalidOperationError(RuntimeError):
    """Something was asked for at a moment when it cannot be done (a period added after the observations)."""


class Trials:
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

    def __init__(self, env: TrialEnv, n: int, given: dict[str, np.ndarray] | None = None):
        self.env, self.n, self.dt, self.rng = env, n, env.dt, env.np_random
        self.given = given or {}
        self.info: dict[str, np.ndarray] = {}
        self.starts: dict[str, np.ndarray] = {}
        self.ends: dict[str, np.ndarray] = {}
        self.length = np.zeros(n, np.int64)
        self.fields: dict[str, np.ndarray] = {}
        self.rewards: dict[str, Any] = dict(env.rewards)
        self.payments: list[tuple] = []
        self.bonus: Any = 0.0
        self.go: np.ndarray | None = None
        self.go_period = ""
        self.has_gt = False
        self._rows: dict[Any, Rows] = {}

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
            values = self.env.conditions[name] if values is None else values
            if isinstance(values, tuple) and values and isinstance(values[0], str) and len(values) == 2:
                is_distribution = values[0] in ngym_random.DISTRIBUTIONS
            else:
                is_distribution = False
            if is_distribution:
                drawn = ngym_random.sample(values, self.rng, self.n)
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
        kind, value = ngym_random.parse(timing[period])
        if kind == "until":
            drawn = value - self.length * self.dt
            if np.any(drawn < 0):
                raise ValueError(f"period {period!r} should last until {value:g} ms, but the trial is already longer")
        else:
            drawn = ngym_random.sample(timing[period], self.rng, self.n)
        if f"period_{period}" in self.given:  # asked for by a wrapper, nan where it leaves the duration as it is
            asked = np.asarray(self.given[f"period_{period}"], dtype=float)
            drawn = np.where(np.isnan(asked), drawn, asked)
        return self.steps(drawn) * self.dt

    def steps(self, duration: Any) -> np.ndarray:
        """Whole steps that fit into a duration (ms), shape (n,)."""
        steps = np.floor(np.asarray(duration, dtype=float) / self.dt + 1e-6).astype(np.int64)
        return steps if steps.ndim else np.full(self.n, steps)

    # -- periods ------------------------------------------------------------------------------------------------------

    def add_period(
        self,
        period: str | Sequence[str],
        duration: Any = None,
        before: str | None = None,
        after: str | float | np.ndarray | None = None,
        last_period: bool = False,
        min_steps: int = 0,
    ) -> None:
        """Add a period, or several one after the other.

        Args:
            period: Name, or list of names that follow each other.
            duration: ms, a number or shape (n,), floored to whole steps; None draws from ``timing``. For a list of
                names a list of these.
            before: Name of the period at whose start this one ends.
            after: Name of the period at whose end this one starts, or a time in ms, a number or shape (n,).
                Default: the trial's start.
            last_period: Accepted for old scripts; has no effect.
            min_steps: Fewest steps the period may have (for events shorter than the time step).

        Raises:
            InvalidOperationError: If the observations of the trials exist already.
            ValueError: If names and durations differ in number, or a period is unknown or negative.
        """
        if "ob" in self.fields or self._rows:
            raise InvalidOperationError("add_period: periods must be added before observations or ground truth are")
        if not isinstance(period, str):
            names = list(period)
            durations = list(duration) if isinstance(duration, (list, tuple)) else [duration] * len(names)
            if len(durations) != len(names):
                raise ValueError(f"add_period: {len(names)} periods but {len(durations)} durations")
            for name, each in zip(names, durations, strict=True):
                self.add_period(name, each, after=after, min_steps=min_steps)
                after = name
            return
        steps = self.steps(self.sample_time(period) if duration is None else duration)
        if min_steps:
            steps = np.maximum(steps, min_steps)
        if np.any(steps < 0):
            raise ValueError(f"period {period!r} has a negative duration")
        if after is not None:
            start = self._boundary(self.ends, after) if isinstance(after, str) else self.steps(after)
        elif before is not None:
            start = self._boundary(self.starts, before) - steps
            if np.any(start < 0):
                raise ValueError(f"period {period!r} would start before the trial")
        else:
            start = np.zeros(self.n, np.int64)
        self.starts[period], self.ends[period] = start, start + steps
        self.length = np.maximum(self.length, start + steps)

    def _boundary(self, table: dict[str, np.ndarray], period: str) -> np.ndarray:
        if period not in table:
            raise ValueError(unknown("period", period, table))
        return table[period]

    # -- rows ---------------------------------------------------------------------------------------------------------

    def rows(self, period: Period = None) -> Rows:
        """The rows of a period (None: of the whole trials; several names: one after the other)."""
        if not self._rows:
            self._lay_out()
        key = period if period is None or isinstance(period, str) else tuple(period)
        if key not in self._rows:
            if key == ():
                nothing = np.zeros(0, np.int64)
                self._rows[key] = Rows(nothing, nothing, nothing)
            elif isinstance(key, tuple):
                self._rows[key] = self._each_once([self.rows(name) for name in key])
            else:
                start, end = self._boundary(self.starts, str(key)), self._boundary(self.ends, str(key))
                self._rows[key] = found = rows_between(self.offset, start, end)
                if len(found.index) and not 0 <= found.index.min() <= found.index.max() < self.total:
                    raise ValueError(f"period {key!r} lies outside the trials")
        return self._rows[key]

    def _each_once(self, parts: list[Rows]) -> Rows:
        """The rows of several periods, those that they share only once."""
        rows = Rows(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        seen = np.zeros(self.total, bool)
        seen[rows.index] = True
        if np.count_nonzero(seen) == len(rows.index):
            return rows
        first = np.sort(np.unique(rows.index, return_index=True)[1])
        return Rows(*(column[first] for column in rows))

    def _lay_out(self) -> None:
        if not self.starts:
            self.length = np.full(self.n, max(1, int(self.env.tmax_default // self.dt)))
        if np.any(self.length < 1):
            raise ValueError(
                f"a trial of {type(self.env).__name__} has no steps: its periods "
                f"({', '.join(self.starts)}) are all shorter than dt = {self.dt:g} ms"
            )
        self.offset = np.cumsum(self.length) - self.length
        self.total = int(self.length.sum())
        self.take_rows()

    def take_rows(self) -> None:
        """Number the rows of trials whose place in the block is known."""
        self._rows = {None: rows_between(self.offset, np.zeros(self.n, np.int64), self.length)}

    def move_period(self, period: str, start: np.ndarray, end: np.ndarray) -> None:
        """Give a period other limits (steps, shape (n,)) after the layout; used by wrappers that change timing."""
        self.starts[period], self.ends[period] = np.asarray(start), np.asarray(end)
        for key in [k for k in self._rows if k == period or (isinstance(k, tuple) and period in k)]:
            del self._rows[key]

    @property
    def nbytes(self) -> int:
        """Memory of everything with one row per step (bytes)."""
        return sum(values.nbytes for values in self.fields.values())

    # -- observations and ground truth --------------------------------------------------------------------------------

    @property
    def ob(self) -> np.ndarray:
        """Observations, shape (rows, *observation shape)."""
        return self._field("ob", self.env.observation_space)

    @property
    def gt(self) -> np.ndarray:
        """Ground truth: the right action at each row, shape (rows, *action shape)."""
        self.has_gt = True
        return self._field("gt", self.env.action_space)

    def _field(self, name: str, space: Any) -> np.ndarray:
        if name not in self.fields:
            self.rows()
            self.fields[name] = np.zeros((self.total, *space.shape), space.dtype)
        return self.fields[name]

    def _spread(self, value: Any, rows: Rows, width: bool) -> Any:
        """A value per trial (first axis) as a value per row; a callable is asked for the rows."""
        if callable(value):
            value = np.asarray(value(rows))
            return value[:, None] if width and value.ndim == 1 else value
        value = self._checked(value)
        if value.ndim == 0:
            return value
        value = value if len(value) == 1 and self.n > 1 else value[rows.trial]
        return value[:, None] if width and value.ndim == 1 else value

    def _checked(self, value: Any) -> np.ndarray:
        """A value, or one for each trial, as an array."""
        value = np.asarray(value)
        if value.ndim and len(value) not in (1, self.n):
            raise ValueError(f"a value per trial needs {self.n} entries (one per trial), got {len(value)}")
        return value

    def _target(self, where: Where, space: Any, kind: str) -> Any:
        if isinstance(where, str):
            names = names_of(space)
            if where not in names:
                raise ValueError(unknown(kind, where, names))
            where = names[where]
        if where is None:
            return None
        return [where] if np.ndim(where) == 0 else np.asarray(where)

    def _neighbours(self, columns: Any, width: int) -> slice | None:
        """Columns as a slice if they lie side by side, which is ten times faster; None if they do not."""
        if columns is None:
            return slice(0, width)
        first, last = int(columns[0]), int(columns[-1])
        side_by_side = last - first == len(columns) - 1 and first >= 0 and last < width
        return slice(first, last + 1) if side_by_side and np.array_equal(columns, range(first, last + 1)) else None

    def _cells(self, rows: Rows, columns: Any, width: int) -> Any:
        """Index of some columns, or of all, in some rows."""
        if columns is None:
            return rows.index
        neighbours = self._neighbours(columns, width)
        return (rows.index, neighbours) if neighbours is not None else (rows.index[:, None], columns)

    def add_ob(self, value: Any, period: Period = None, where: Where = None) -> None:
        """Add to the observations of a period.

        Args:
            value: A number, shape (n,) or (n, channels) with one entry per trial (or (1, channels) for all), or a
                callable that takes :class:`Rows` and returns shape (rows,) or (rows, channels).
            period: Name, names, or None for the whole trial.
            where: Label or indices of channels; None for all.
        """
        rows, columns = self.rows(period), self._target(where, self.env.observation_space, "channel")
        self._add(value, rows, columns)

    def set_ob(self, value: Any, period: Period = None, where: Where = None) -> None:
        """Like :meth:`add_ob`, but replaces what was there."""
        rows, columns = self.rows(period), self._target(where, self.env.observation_space, "channel")
        self.ob[self._cells(rows, columns, self.ob.shape[-1])] = 0
        self.add_ob(value, period, where)

    def add_randn(self, mu: float = 0, sigma: Any = 1, period: Period = None, where: Where = None) -> None:
        """Add independent Gaussian noise to rows and channels; ``sigma`` is the s.d. per step, a number or (n,)."""
        rows, columns = self.rows(period), self._target(where, self.env.observation_space, "channel")
        shape = self.ob.shape[1:] if columns is None else (len(columns),)
        noise = self.rng.standard_normal((len(rows.index), *shape), dtype=np.float32)
        noise *= self._spread(sigma, rows, width=self.ob.ndim == 2)
        noise += mu
        self._add(lambda _: noise, rows, columns)

    def _add(self, value: Any, rows: Rows, columns: Any) -> None:
        """Add a number, values per trial, or what a callable says of the rows to columns of the observations."""
        neighbours = self._neighbours(columns, self.ob.shape[-1]) if self.ob.ndim == 2 else None
        if neighbours is None:
            spread = self._spread(value, rows, width=self.ob.ndim == 2)
            self.ob[self._cells(rows, columns, self.ob.shape[-1])] += spread.astype(self.ob.dtype)
        elif callable(value):
            filling.add(self.ob, rows, neighbours, np.asarray(value(rows)), by_trial=False)
        else:
            filling.add(self.ob, rows, neighbours, self._checked(value), by_trial=True)

    def set_groundtruth(self, value: Any, period: Period = None, where: str | None = None) -> None:
        """Set the right action in a period.

        Args:
            value: A number, shape (n,), or for vector actions (n, components), or a callable that takes :class:`Rows`.
            period: Name, names, or None for the whole trial.
            where: Label of the action space; then ``value`` is the position in the list registered under it.
        """
        rows = self.rows(period)
        spread = self._spread(value, rows, width=self.gt.ndim == 2)
        if where is not None:
            spread = np.asarray(self._target(where, self.env.action_space, "action"))[spread.astype(int)]
        self.gt[rows.index] = spread

    # -- what is paid -------------------------------------------------------------------------------------------------

    def reward(self, event: str) -> np.ndarray:
        """Reward of an event (``"correct"``, ``"fail"``, ...) in each trial, 0 if the task has none; shape (n,)."""
        amount = np.asarray(self.rewards.get(event, 0.0), dtype=float)
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

    def record(self) -> dict[str, np.ndarray]:
        """One array (n,) per scalar that describes the trials: conditions, then period durations in ms."""
        columns = {name: value for name, value in self.info.items() if _is_scalar(value)}
        for name, start in self.starts.items():
            columns[f"period_{name}"] = (self.ends[name] - start) * float(self.dt)
        return columns

    def periods(self, k: int) -> dict[str, float]:
        """Duration of each period of trial ``k`` (ms), under ``period_<name>``."""
        return {
            f"period_{name}": float((self.ends[name][k] - start[k]) * self.dt) for name, start in self.starts.items()
        }


def _is_scalar(value: np.ndarray) -> bool:
    """Whether each trial has one number or word, rather than an array, a tuple or a dictionary."""
    if np.ndim(value) != 1:
        return False
    return value.dtype != object or not isinstance(value[0], (tuple, list, dict, np.ndarray))
