"""A block of trials, laid out as consecutive rows.

A task makes many trials at a time: every number it draws has one entry per trial, every period has one start and one
end per trial, and the observations of all trials lie one after the other in a single array. Stepping then only reads
rows, one trial at a time in :class:`neurogym.core.TrialEnv`, many at once in :class:`neurogym.vector.TrialVectorEnv`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from neurogym.messages.names import unknown
from neurogym.sampling.distributions import Distribution, PossibleValues, values_of
from neurogym.sampling.generator import Generators, RandomSource
from neurogym.trials.events import Info
from neurogym.trials.layout import Period, broadcast_to_trials
from neurogym.trials.row_arrays import RowArrays, RowValues, TaskLike

#: Attributes that a complete block consists of, apart from the places of trials.
CONTENTS = ("info", "starts", "ends", "length", "total", "fields", "go", "go_period", "has_gt", "bonus")
_SCALARS = frozenset({bool, int, float, str, type(None)})


class Trials(RowArrays):
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
        owners: The task of each trial, where several tasks have made their trials together.
        go: Step from which reaction times count, shape (n,), and ``go_period`` its name.
    """

    def __init__(self, env: TaskLike, n: int, requested: dict[str, np.ndarray] | None = None):
        super().__init__(env, n)
        self.given = requested or {}
        self.info: dict[str, np.ndarray] = {}
        self.rewards: dict[str, Any] = dict(env.rewards)
        self.payments: list[tuple[Any, ...]] = []
        self.parts: Sequence[Any] = ()
        self.bonus: float | np.ndarray = 0.0
        self.go: np.ndarray | None = None
        self.go_period = ""
        self.owners: Sequence[TaskLike] | None = None
        self._records: tuple[_Records, _Records] | None = None

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

    def draw_rest(self, name: str, settled: np.ndarray) -> np.ndarray:
        """:meth:`draw`, with no random draw for trials whose condition is settled.

        Args:
            name: Name in the trial's record.
            settled: The condition of each trial, 0 where it is drawn; shape (n,).
        """
        rest = np.flatnonzero(settled == 0)
        if name in self.given or len(rest) == self.n:
            return self.draw(name)
        drawn = self.info[name] = settled.copy()
        if len(rest):
            rng = self.rng.of(rest) if isinstance(self.rng, Generators) else self.rng
            drawn[rest] = _drawn(self.env.conditions[name], None, rng, len(rest))
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

    # -- rewards -------------------------------------------------------------------------------------------------------

    def reward(self, event: str) -> np.ndarray:
        """Reward of an event (``"correct"``, ``"fail"``, ...) in each trial, 0 if the task has none; shape (n,)."""
        amount = self.rewards.get(event, 0.0)
        if isinstance(amount, float):
            return broadcast_to_trials(self.n, amount)
        amount = np.asarray(amount, dtype=float)
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
        columns = {name: value for name, value in self.info.items() if _is_scalar(value)}
        return {**columns, **self.durations()}

    def durations(self) -> dict[str, np.ndarray]:
        """Durations of each period (ms, shape (n,)), with keys ``period_`` followed by the period's name."""
        if self.n == 1:
            return {name: np.array([duration]) for name, duration in self._spans_of_one().items()}
        return {f"period_{name}": (self.ends[name] - start) * float(self.dt) for name, start in self.starts.items()}

    def _spans_of_one(self) -> dict[str, float]:
        """:meth:`durations` of the only trial, as numbers."""
        dt, ends = float(self.dt), self.ends
        return {f"period_{name}": (ends[name].item() - start.item()) * dt for name, start in self.starts.items()}

    def record(self, k: int) -> Info:
        """Record of trial ``k``, with Python numbers for scalars."""
        record = {}
        for name, values in self.info.items():
            value = values[k]
            record[name] = value.item() if isinstance(value, np.generic) else value
        return record

    def report(self, k: int) -> tuple[Info, dict[str, float]]:
        """Record and durations of trial ``k`` of a block that is complete."""
        if self._records is None:
            if self.n == 1:
                return self.record(0), self._spans_of_one()
            self._records = _Records(self.info, self.n), _Records(self.durations(), self.n)
        info, durations = self._records
        return info.of_trial(k), durations.of_trial(k) if durations.others else durations.first.copy()

    def free_rows(self) -> None:
        """Free the arrays of rows after these were copied elsewhere, and keep the records."""
        self.fields, self._rows, self.payments, self.given, self.parts = {}, {}, [], {}, ()

    def arrays(self) -> Info:
        """Contents of a complete block as arrays, numbers and words."""
        return {name: getattr(self, name) for name in CONTENTS}

    @classmethod
    def from_arrays(cls, env: TaskLike, arrays: Info) -> Trials:
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


def varies(value: object, n: int) -> bool:
    """Whether a condition is an array with an entry per trial, rather than a value for all trials."""
    return isinstance(value, np.ndarray) and value.ndim > 0 and n > 1 and len(value) == n


def condition_column(value: Any, n: int) -> np.ndarray:
    """A condition as an array whose first axis is the trial."""
    if varies(value, n):
        return value
    if type(value) in _SCALARS or (np.ndim(value) == 0 and not isinstance(value, (dict, set))):
        return broadcast_to_trials(n, value) if not isinstance(value, str) else np.array([value] * n)
    return np.fromiter([value] * n, object, n)


class _Records:
    """Records of the trials of a block, for access in sequence.

    Args:
        columns: Name to array whose first axis is the trial.
        n: Number of trials.

    Attributes:
        first: Record of the first trial.
        others: Names and entries of what differs between trials.
    """

    def __init__(self, columns: dict[str, np.ndarray], n: int):
        entries = {name: _entries(values) for name, values in columns.items()}
        self.first = {name: values[0] for name, values in entries.items()}
        differ = [name for name, values in columns.items() if n > 1 and _differ(values)]
        self.others = [(name, entries[name]) for name in differ]

    def of_trial(self, k: int) -> Info:
        """Record of trial ``k``."""
        record = self.first.copy()
        for name, values in self.others:
            record[name] = values[k]
        return record


def _differ(values: np.ndarray) -> bool:
    """Whether trials need individual entries because values differ or are not scalars."""
    return values.dtype == object or values.ndim > 1 or bool((values != values[0]).any())


def _entries(values: np.ndarray) -> list[Any]:
    """Convert a column to per-trial entries, with Python numbers for scalars."""
    if values.dtype != object:
        return values.tolist() if values.ndim == 1 else list(values)
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _is_scalar(value: np.ndarray) -> bool:
    """Whether each trial has a number or word, rather than an array, a tuple or a dictionary."""
    if value.ndim != 1:
        return False
    return value.dtype != object or not isinstance(value[0], (tuple, list, dict, np.ndarray))
