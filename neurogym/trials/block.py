"""A block of trials, laid out as consecutive rows.

A task makes many trials at a time: every number it draws has one entry per trial, every period has one start and one
end per trial, and the observations of all trials lie one after the other in a single array. Stepping then only reads
rows, one trial at a time in :class:`neurogym.core.TrialEnv`, many at once in :class:`neurogym.vector.TrialVectorEnv`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neurogym.messages.names import unknown
from neurogym.sampling.distributions import Distribution, PossibleValues, values_of
from neurogym.sampling.generator import Generators, RandomSource
from neurogym.spaces import Space, names_of
from neurogym.trials import rows as filling
from neurogym.trials.events import Info
from neurogym.trials.layout import Duration, InvalidOperationError, Layout, Period, broadcast_to_trials
from neurogym.trials.records import entries, is_scalar
from neurogym.trials.rows import CurrentObservations, Rows, RowValues, Where, cells

#: Attributes that a complete block consists of, apart from the places of trials.
CONTENTS = ("info", "starts", "ends", "length", "total", "fields", "go", "go_period", "has_gt", "bonus")


class Trials(Layout):
    """``n`` trials under construction, then ready to be stepped.

    Args:
        env: The task; gives the time step, timing, rewards, spaces and generator.
        n: Number of trials.
        given: Conditions fixed in advance, name to array of shape (n,).

    Attributes:
        info: What describes each trial (conditions, derived values), name to array whose first axis is the trial.
        starts: First step of each period, name to int array (n,); ``ends`` likewise, exclusive.
        fields: Everything with one row per step: ``ob``, ``gt``, the tables of the response rule, wrappers' own.
        has_gt: Whether a ground truth has been set.
        rewards: Reward of each event, a number or an array (n,); starts as the task's ``rewards``.
        bonus: Added to every step's reward, a number or (n,).
        owners: The task of each trial, where several tasks have made their trials together.
        go: Step from which reaction times count, shape (n,), and ``go_period`` its name.
    """

    def __init__(self, env: Any, n: int, requested: dict[str, np.ndarray] | None = None):
        super().__init__(n, env.dt)
        self.env = env
        self.rng: Any = env.np_random  # of the session, or for trials of several sessions `Generators`
        self.fields: dict[str, np.ndarray] = {}
        self.has_gt = False
        self.given = requested or {}
        self.info: dict[str, np.ndarray] = {}
        self.rewards: dict[str, Any] = dict(env.rewards)
        self.payments: list[tuple[Any, ...]] = []
        self.parts: Sequence[Any] = ()
        self.bonus: float | np.ndarray = 0.0
        self.go: np.ndarray | None = None
        self.go_period = ""
        self.owners: Sequence[Any] | None = None
        self._records: list[list[tuple[str, list[Any]]]] | None = None  # entries of records and of durations

    # -- what is drawn ------------------------------------------------------------------------------------------------

    def draw(self, name: str, values: PossibleValues | None = None, p: Sequence[float] | None = None) -> np.ndarray:
        """Condition ``name`` of each trial: the requested value, else drawn uniformly (or with ``p``).

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
            drawn = _drawn(self.env.conditions[name] if values is None else values_of(values), p, self.rng, self.n)
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
        if f"period_{period}" in self.given:  # requested by a wrapper, nan for the default duration
            durations = np.asarray(self.given[f"period_{period}"], dtype=float)
            drawn = np.where(np.isnan(durations), drawn, durations)
        return self.steps(drawn) * self.dt

    def constant_time(self, period: str) -> float | None:
        """Duration of a period (ms) if ``timing`` fixes a constant and no other duration is requested."""
        duration = self.env.timing.get(period)
        if type(duration) not in (int, float) or f"period_{period}" in self.given:
            return None
        return float(duration)

    def per_trial(self, remembered: Callable[[Any], Any]) -> np.ndarray:
        """Value remembered by the session of each trial, shape (n,).

        Args:
            remembered: A number that follows from the task of a session.
        """
        if self.owners is None:
            return broadcast_to_trials(self.n, remembered(self.env))
        return np.array([remembered(task) for task in self.owners])

    # -- periods ------------------------------------------------------------------------------------------------------

    def add_period(
        self,
        period: str | Sequence[str],
        duration: Duration | None = None,
        before: str | None = None,
        after: str | float | np.ndarray | None = None,
        last_period: bool = False,
        min_steps: int | Mapping[str, int] = 0,
    ) -> None:
        """Add a period, or several periods in sequence.

        Args:
            period: Name, or list of names that follow each other.
            duration: ms, a number or shape (n,), floored to whole steps; None draws from ``timing``. For a list of
                names a list of these.
            before: Name of the period at whose start this one ends.
            after: Name of the period at whose end this one starts, or a time in ms, a number or shape (n,).
                Default: the trial's start.
            last_period: Accepted for old scripts; has no effect.
            min_steps: Fewest steps the period may have (events shorter than the time step), or period to this number.

        Raises:
            InvalidOperationError: If the observations of the trials exist already.
            TypeError: If a name is not a word.
            ValueError: If names and durations differ in number, or a period is unknown or negative.
        """
        if self._rows:
            raise InvalidOperationError("add_period: periods must be added before observations or ground truth are")
        several = not isinstance(period, str)
        names = [period] if isinstance(period, str) else list(period)
        durations = list(duration) if several and isinstance(duration, (list, tuple)) else [duration] * len(names)
        if len(durations) != len(names):
            raise ValueError(f"add_period: {len(names)} periods but {len(durations)} durations")
        for name, requested in zip(names, durations, strict=True):
            if not isinstance(name, str):
                raise TypeError(f"add_period: expected a word as the name of a period, got {name!r}")
            time = self.constant_time(name) if requested is None else requested
            steps = self.whole_steps(self.sample_time(name) if time is None else time)
            fewest = min_steps.get(name, 0) if isinstance(min_steps, Mapping) else min_steps
            if fewest:
                steps = max(steps, fewest) if isinstance(steps, int) else np.maximum(steps, fewest)
            self.insert(name, steps, None if several else before, after)
            after = name

    def _lay_out(self) -> None:
        env = self.env
        if not self.starts:
            self.add_period(list(env.default_timing or env.timing))
        if not self.starts:
            self.length = np.full(self.n, max(1, int(env.session.tmax_default // env.dt)))
        if (self.length < 1).any():
            raise ValueError(
                f"a trial of {type(env).__name__} has no steps: its periods ({', '.join(self.starts)}) are all shorter "
                f"than dt = {self.dt:g} ms"
            )
        super()._lay_out()

    # -- observations and ground truth --------------------------------------------------------------------------------

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
        filling.add(self.ob, rows, columns, np.asarray(value) if per_row else self._checked(value), not per_row)

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
        noise += mu
        filling.add(ob, rows, columns, noise, by_trial=False)

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

    # -- rewards -------------------------------------------------------------------------------------------------------

    def reward(self, event: str) -> np.ndarray:
        """Reward of an event (``"correct"``, ``"fail"``, ...) in each trial, 0 if the task has none; shape (n,)."""
        amount = np.asarray(self.rewards.get(event, 0.0), dtype=float)
        if amount.shape not in ((), (self.n,)):
            raise ValueError(f"reward {event!r} needs one number or {self.n} (one per trial), got shape {amount.shape}")
        return np.ascontiguousarray(amount) if amount.ndim else broadcast_to_trials(self.n, amount.item())

    def set_action_reward(
        self,
        period: Period,
        action: int | Sequence[int],
        reward: RowValues,
        performance: RowValues = 0.0,
        ends: RowValues = True,
    ) -> None:
        """Set the reward of an action in a period, in addition to the response rule.

        Args:
            period: Name, names, or None for the whole trial.
            action: The action, or several.
            reward: A number, shape (n,), or a callable that takes :class:`Rows`.
            performance: Same forms; added to the trial's performance (0 to 1 over the trial).
            ends: Whether the action ends the trial; same forms.
        """
        self.payments.append((period, action, reward, performance, ends))

    def set_default_go(self) -> None:
        """Set the onset of reaction times: a period with a known name, else the start of the trial."""
        if self.go is None:
            named = [name for name in ("decision", "response", "go", "test", "production") if name in self.starts]
            self.go_period = named[0] if named else "trial"
            self.go = self.starts[named[0]] if named else np.zeros(self.n, np.int64)

    # -- describing ---------------------------------------------------------------------------------------------------

    def scalars(self) -> dict[str, np.ndarray]:
        """Scalars that describe the trials, as arrays of shape (n,): conditions, then period durations in ms."""
        columns = {name: value for name, value in self.info.items() if is_scalar(value)}
        return {**columns, **self.durations()}

    def durations(self) -> dict[str, np.ndarray]:
        """Durations of each period (ms, shape (n,)), with keys ``period_`` followed by the period's name."""
        return {f"period_{name}": (self.ends[name] - start) * float(self.dt) for name, start in self.starts.items()}

    def record(self, k: int) -> Info:
        """Record of trial ``k``, with Python numbers for scalars."""
        return {name: entries(values[k : k + 1])[0] for name, values in self.info.items()}

    def report(self, k: int) -> tuple[Info, dict[str, float]]:
        """Record and durations of trial ``k`` of a block that is complete."""
        if self._records is None:
            tables = self.info, self.durations()
            self._records = [[(name, entries(values)) for name, values in table.items()] for table in tables]
        record, durations = self._records
        return {name: values[k] for name, values in record}, {name: values[k] for name, values in durations}

    def free_rows(self) -> None:
        """Free the arrays of rows after these were copied elsewhere, and keep the records."""
        self.fields, self._rows, self.payments, self.given, self.parts = {}, {}, [], {}, ()

    def arrays(self) -> Info:
        """Contents of a complete block as arrays, numbers and words."""
        return {name: getattr(self, name) for name in CONTENTS}

    @classmethod
    def from_arrays(cls, env: Any, arrays: Info) -> Trials:
        """Block with the contents that :meth:`arrays` returned."""
        block = cls(env, len(arrays["length"]))
        block.place(arrays["length"])
        for name in CONTENTS:
            setattr(block, name, arrays[name])
        return block

    def part(self, first: int, count: int) -> Trials:
        """Consecutive trials as a block that shares the arrays of the whole block."""
        section = Trials(self.env if self.owners is None else self.owners[first], count)
        at = slice(first, first + count)
        row = int(self.offset[first])
        end = int(self.offset[first + count]) if first + count < self.n else self.total
        section.place(self.length[at], self.offset[at] - row)
        section.total = end - row
        section.fields = {name: values[row:end] for name, values in self.fields.items()}
        section.info = {name: values[at] for name, values in self.info.items()}
        section.starts = {name: start[at] for name, start in self.starts.items()}
        section.ends = {name: end[at] for name, end in self.ends.items()}
        section.bonus = np.broadcast_to(self.bonus, (self.n,))[at]
        section.go = None if self.go is None else self.go[at]
        section.go_period, section.has_gt = self.go_period, self.has_gt
        return section


def _drawn(values: PossibleValues, p: Sequence[float] | None, rng: RandomSource, n: int) -> np.ndarray:
    """``n`` values of a sequence, with probabilities ``p`` if there are any, or of a distribution."""
    if isinstance(values, Distribution):
        return values.sample(rng, n)
    return np.asarray(values)[rng.integers(len(values), size=n) if p is None else rng.choice(len(values), size=n, p=p)]
