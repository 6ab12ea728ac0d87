"""One trial at a time, as NeuroGym describes trials: ``self.add_period``, ``self.add_ob``, ... in ``_new_trial``.

Everything here acts on a block of one trial; :class:`neurogym.trials.Trials` has the implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from neurogym.compat.members import built, durations, end_of_periods, forgive_reset, in_order, older_name, zero_filled
from neurogym.engine.making import trial_lengths
from neurogym.engine.session import Session
from neurogym.messages.names import unknown
from neurogym.parameters import BaseEnv
from neurogym.sampling.distributions import Distribution
from neurogym.spaces import Action
from neurogym.trials import Info, InvalidOperationError, Period, ResetResult, Rows, Trials, Where
from neurogym.trials.layout import Duration
from neurogym.trials.records import condition_column
from neurogym.trials.types import RowValues


class OneTrial(Session):
    """The trial that an environment describes (in ``_new_trial``) or steps through: time, periods and arrays."""

    def _new_trial(self, **kwargs: object) -> Info | None:
        """Describe a single trial with ``self.add_period``, ``self.add_ob``, ...; return its record.

        A task that describes many trials at once inherits this; a subclass may call it by ``super()``. Called from
        outside, as by old scripts, it begins a trial.
        """
        if self.block_described is None:
            return self.top.new_trial(**kwargs)
        trials = self.this_trial
        trials.given.update({name: np.array([value]) for name, value in kwargs.items()})
        self._new_trials(trials)
        return trials.record(0)

    def new_trial(self, **kwargs: object) -> Info:
        """Begin a new trial and return the record; see :meth:`neurogym.engine.session.Session.new_trial`."""
        if self.block_described is not None:  # a user's override calls its parent
            return OneTrial._new_trial(self, **kwargs) or {}
        return super().new_trial(**kwargs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None, **old: object) -> ResetResult:
        """Start a session; see :meth:`neurogym.engine.session.Session.reset`.

        Args:
            seed: Restarts the generator.
            options: Conditions of the first trial; ``no_step`` and ``step_fn`` of older versions have no effect.
            **old: ``no_step`` and ``step_fn`` of older versions, without effect.

        Raises:
            ValueError: If a condition or its value is unknown.
        """
        forgive_reset(old)
        conditions = {name: v for name, v in (options or {}).items() if name not in ("no_step", "step_fn")}
        return super().reset(seed=seed, options=conditions)

    def _new_trials(self, trials: Trials) -> None:
        """Describe ``trials.n`` trials: draw conditions, add periods, observations and ground truth."""
        raise NotImplementedError(f"{type(self).__name__} must define _new_trials, _new_trial or new_trial")

    def describe(self, trials: Trials) -> None:
        """Describe an empty block of trials with the hook that the task overrides.

        Raises:
            ValueError: If there are several trials and the task describes one at a time.
        """
        if not self.one_by_one:
            self._new_trials(trials)
        elif trials.n == 1:
            self._describe_one(trials)
        else:
            raise ValueError(f"{type(self).__name__} describes one trial at a time; make_trials(1) is the most")

    def _describe_one(self, trials: Trials) -> None:
        """Let the task describe a single trial."""
        requested = {name: value[0] for name, value in trials.given.items() if not name.startswith("period_")}
        trials.given = {name: value for name, value in trials.given.items() if name.startswith("period_")}
        outer, self.block_described = self.block_described, trials
        try:
            self.trial = {}
            record = self._new_trial(**requested)
            self.trial = self.trial if record is None else record
        finally:
            self.block_described = outer
        trials.info = {name: condition_column(value, 1) for name, value in (self.trial or {}).items()}

    @property
    def this_trial(self) -> Trials:
        """Trial that is being described, else the current trial, as a block of one trial.

        Raises:
            InvalidOperationError: If there is no trial yet.
        """
        trials, _ = self.block_and_index()
        return trials if trials is self.block_described else self.cursor.alone()

    @property
    def is_describing(self) -> bool:
        """Whether ``_new_trial`` is describing a trial."""
        return self.block_described is not None

    def block_and_index(self) -> tuple[Trials, int]:
        """Block and position of the trial that is being described, else of the current trial."""
        if self.block_described is not None:
            return self.block_described, 0
        if self.cursor.block is None:
            raise InvalidOperationError("there is no trial yet: call reset() or new_trial() first")
        return self.cursor.block, self.cursor.trial

    # -- time ---------------------------------------------------------------------------------------------------------

    @property
    def t_ind(self) -> int:
        """Step within the trial."""
        return self.cursor.row - self.cursor.first

    @property
    def t(self) -> float:
        """Time within the trial (ms)."""
        return self.t_ind * self.dt

    @property
    def tmax(self) -> float:
        """Length of the current trial (ms); of tasks that program ``_step`` it can be set to end the trial sooner."""
        cursor = self.cursor
        return (cursor.end - cursor.first) * self.dt if cursor.block is not None else self.tmax_default

    @tmax.setter
    def tmax(self, value: float) -> None:
        cursor = self.cursor
        if self.block_described is not None or cursor.block is None:
            self.tmax_default = value
        else:
            steps = max(1, int(value / self.dt + 1e-6))
            cursor.end = cursor.first + min(steps, int(cursor.block.length[cursor.trial]))

    @property
    def start_ind(self) -> dict[str, int]:
        """First step of each period."""
        trials, k = self.block_and_index()
        return {name: int(start[k]) for name, start in trials.starts.items()}

    @property
    def end_ind(self) -> dict[str, int]:
        """Step after the last of each period."""
        trials, k = self.block_and_index()
        return {name: int(end[k]) for name, end in trials.ends.items()}

    @property
    def start_t(self) -> dict[str, float]:
        """Start of each period (ms)."""
        return {name: step * self.dt for name, step in self.start_ind.items()}

    @property
    def end_t(self) -> dict[str, float]:
        """End of each period (ms)."""
        return {name: step * self.dt for name, step in self.end_ind.items()}

    def in_period(self, period: str, t: float | None = None) -> bool:
        """Whether time ``t`` (ms; default: now) lies in a period, start included, end excluded."""
        trials, k = self.block_and_index()
        start = trials.starts.get(period)
        if start is None:
            raise ValueError(unknown("period", period, trials.starts))
        cursor = self.cursor
        step = cursor.row - cursor.first if t is None else t / self.dt
        return bool(start.item(k) <= step < trials.ends[period].item(k))

    # -- observations and ground truth --------------------------------------------------------------------------------

    @property
    def gt_now(self) -> Action:
        """Ground truth at the current row."""
        if self.cursor.gt is None:
            raise AttributeError(f"{type(self).__name__} has no ground truth")
        return self.cursor.gt[self.cursor.row]

    @property
    def ob(self) -> np.ndarray:
        """Observations of the current trial, shape (steps, *observation shape); writable."""
        trials, k = self.block_and_index()
        ob = trials.ob  # lays the trials out if they are not yet
        return ob[trials.span(k)]

    @ob.setter
    def ob(self, value: ArrayLike) -> None:
        self._replace("ob", self.ob, value)

    @property
    def gt(self) -> np.ndarray:
        """Ground truth of the current trial, shape (steps, *action shape); writable."""
        trials, k = self.block_and_index()
        if self.block_described is None and not trials.has_gt:
            raise AttributeError(f"{type(self).__name__} has no ground truth")
        gt = trials.gt
        return gt[trials.span(k)]

    @gt.setter
    def gt(self, value: ArrayLike) -> None:
        self._replace("gt", self.gt, value)

    def _replace(self, name: str, present: np.ndarray, value: ArrayLike) -> None:
        """Replace the values of the trial; new values may have more channels or another type."""
        value = np.asarray(value)
        dtype = value.dtype if name == "ob" and self.block_described is None else present.dtype
        if value.ndim < present.ndim or (value.shape[1:] == present.shape[1:] and dtype == present.dtype):
            present[...] = value
            return
        trials = self.this_trial
        if len(value) != trials.total:
            raise ValueError(f"{name} needs one row per step, {trials.total}, got {len(value)}")
        trials.fields[name] = value.astype(dtype)
        if self.block_described is None:
            step, length = self.cursor.step, self.cursor.end - self.cursor.first
            self.cursor.enter(trials, 0)
            self.cursor.row, self.cursor.end = self.cursor.first + step, self.cursor.first + length

    # -- description --------------------------------------------------------------------------------------------------

    def add_period(
        self,
        period: str | Sequence[str],
        duration: Duration | None = None,
        before: str | None = None,
        after: str | float | np.ndarray | None = None,
        last_period: bool = False,
        min_steps: int | Mapping[str, int] = 0,
    ) -> None:
        """Add a period to the trial being described; see :meth:`neurogym.trials.Trials.add_period`."""
        if self.block_described is None:
            raise InvalidOperationError("add_period: the trial is complete; periods are added in _new_trial")
        self.block_described.add_period(period, duration, before, after, last_period, min_steps)

    def sample_time(self, period: str) -> float:
        """A duration of a period (ms), drawn from ``timing`` and floored to whole steps."""
        trials = self.block_described if self.block_described is not None else Trials(self, 1)
        return float(trials.sample_time(period)[0])

    def view_ob(self, period: str | None = None) -> np.ndarray:
        """Writable rows of the observations in a period."""
        return self.ob if period is None else self.ob[self._span(period)]

    def view_groundtruth(self, period: str | None = None) -> np.ndarray:
        """Writable rows of the ground truth in a period."""
        return self.gt if period is None else self.gt[self._span(period)]

    def _span(self, period: str) -> slice:
        trials, k = self.block_and_index()
        if period not in trials.starts:
            raise ValueError(unknown("period", period, trials.starts))
        return slice(trials.starts[period].item(k), trials.ends[period].item(k))

    def add_ob(self, value: RowValues, period: Period = None, where: Where = None) -> None:
        """Add to the observations of the trial; see :meth:`neurogym.trials.Trials.add_ob`.

        Args:
            value: A number, an array that broadcasts against (rows, channels), or a callable of the present values.
            period: Name, names (a row that they share is added to once), or None for the whole trial.
            where: Label or indices of channels; None for all.
        """
        self._write(Trials.add_ob, value, period, where)

    def set_ob(self, value: RowValues, period: Period = None, where: Where = None) -> None:
        """Like :meth:`add_ob`, but replaces what was there."""
        self._write(Trials.set_ob, value, period, where)

    def _write(self, write: Callable[..., None], value: RowValues, period: Period, where: Where) -> None:
        value, period = in_order(value, period)
        trials = self.this_trial
        value, per_row = row_entries(trials, value, period, where)
        write(trials, value, period, where, per_row)

    def add_randn(self, mu: float = 0, sigma: RowValues = 1, period: Period = None, where: Where = None) -> None:
        """Add Gaussian noise; ``sigma`` is the s.d. per step (divide by sqrt(dt) yourself)."""
        trials = self.this_trial
        spread, per_row = row_entries(trials, sigma, period, where)
        trials.add_randn(mu, (lambda _: spread) if per_row else spread, period, where)

    def set_groundtruth(self, value: RowValues, period: Period = None, where: str | None = None) -> None:
        """Set the right action in a period; see :meth:`neurogym.trials.Trials.set_groundtruth`.

        Args:
            value: A number, an array that broadcasts against (rows, *action shape), or a callable that takes
                :class:`neurogym.trials.Rows`.
            period: Name, names, or None for the whole trial.
            where: Label of the action space; then ``value`` is the position in the list registered under it.
        """
        value, period = in_order(value, period)
        trials = self.this_trial
        if not callable(value) and np.ndim(value):
            shape = () if where is not None else trials.gt.shape[1:]
            rows = entry_per_row(trials, np.asarray(value), period, shape)
            trials.set_groundtruth(lambda _: rows, period, where)
        else:
            trials.set_groundtruth(value, period, where)

    def trial_length_stats(self, num_trials: int = 10_000) -> dict[str, float]:
        """Mean, s.d., 95th percentile and maximum of the trial length, in steps; the session is not disturbed."""
        steps = trial_lengths(self, num_trials)
        return {
            "mean": round(float(steps.mean()), 3),
            "std": round(float(steps.std()), 3),
            "percentile_95": round(float(np.percentile(steps, 95)), 3),
            "max": round(float(steps.max()), 3),
        }

    # -- members that tasks written for older versions use ------------------------------------------------------------

    _ob_built, _gt_built, _tmax, _duration = built("ob"), built("gt"), end_of_periods(), durations()
    _init_ob, _init_gt = zero_filled("ob"), zero_filled("gt")
    obs, obs_now = older_name("ob"), older_name("ob_now")
    add_epoch, in_epoch = older_name("add_period"), older_name("in_period")

    def _add_ob(self, value: RowValues, period: Period = None, where: Where = None, reset: bool = False) -> None:
        """:meth:`add_ob`, or with ``reset`` :meth:`set_ob`; a task that overrides one of them may call this."""
        (OneTrial.set_ob if reset else OneTrial.add_ob)(self, value, period, where)


def row_entries(trials: Trials, value: RowValues, period: Period, where: Where) -> tuple[Any, bool]:
    """Convert a value with an entry per row for ``Trials.add_ob``; also return whether there is an entry per row."""
    if callable(value) or np.ndim(value) == 0:
        return value, False
    columns = trials.columns(where, trials.env.observation_space, "channel")
    shape = trials.ob.shape[1:] if columns is None else (len(columns),)
    return entry_per_row(trials, np.asarray(value), period, shape), True


def entry_per_row(trials: Trials, value: np.ndarray, period: Period, shape: tuple[int, ...]) -> np.ndarray:
    """Expand a value for the rows of one or several periods to an entry of a shape per row, shape (rows, ...)."""

    def spread(rows: Rows) -> np.ndarray:
        full_shape = (len(rows.index), *shape)
        if value.shape == full_shape[:1] and shape in ((), (1,)):
            return value.reshape(full_shape)
        return np.broadcast_to(value, full_shape)

    if period is None or isinstance(period, str):
        return spread(trials.rows(period))
    names = list(period)
    rows = trials.rows(names)
    if value.ndim <= len(shape) or len(value) in (1, len(rows.index)):
        return spread(rows)
    by_period = np.concatenate([spread(trials.rows(name)) for name in names])
    return by_period[trials.first_occurrences(trials.rows_in_turn(names))]


def env_string(env: gym.Env, short: bool = False) -> str:
    """A description of a task: name, text, paper, rewards, tags; the short form is ``<TaskName>``."""
    task: Any = env.unwrapped
    if short:
        return f"<{type(task).__name__}>"
    meta = task.metadata
    lines = [f"### {type(task).__name__}", "", (type(task).__doc__ or "Missing description").strip(), ""]
    paper, link = meta.get("paper_name"), meta.get("paper_link")
    lines.append("Reference paper: " + (f"{paper} ({link or 'missing link'})" if paper else "missing paper"))
    if isinstance(task, BaseEnv) and task.rewards:
        lines.append("Rewards: " + ", ".join(f"{name} {value}" for name, value in dict(task.rewards).items()))
    if isinstance(task, BaseEnv) and task.timing:
        timing = (f"{name} {Distribution.of(spec).phrase()}" for name, spec in dict(task.timing).items())
        lines.append("Timing: " + ", ".join(timing))
    lines.append("Tags: " + (", ".join(meta.get("tags", [])) or "none"))
    return "\n".join(lines)
