"""One trial at a time, as NeuroGym describes trials: ``self.add_period``, ``self.add_ob``, ... in ``_new_trial``.

Everything here acts on a block of one trial; :class:`neurogym.trials.Trials` has the implementation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from neurogym import core
from neurogym.compat.members import built, end_of_periods, in_order, of_periods, older_name, zero_filled
from neurogym.engine.making import trial_length_stats
from neurogym.messages.names import unknown
from neurogym.trials import Info, InvalidOperationError, Period, Rows, Trials, Where
from neurogym.trials.records import condition_column
from neurogym.trials.rows import RowValues


class OneTrial(core.TrialEnv, original=True):
    """The trial that an environment describes (in ``_new_trial``) or steps through: time, periods and arrays.

    Attributes:
        one_by_one: Whether trials are described one at a time.
    """

    one_by_one: ClassVar[bool] = False

    def _new_trial(self, **kwargs: object) -> Info | None:
        """Describe a single trial with ``self.add_period``, ``self.add_ob``, ...; return its record.

        A task that describes many trials at once inherits this; a subclass may call it by ``super()``. Called from
        outside, as by old scripts, it begins a trial.
        """
        trials = self.session.described
        if trials is None:
            return self.session.top.new_trial(**kwargs)
        trials.given.update({name: np.array([value]) for name, value in kwargs.items()})
        self._new_trials(trials)
        return trials.record(0)

    def _new_trials(self, trials: Trials) -> None:
        """Describe many trials, which only some classes do."""
        super()._new_trials(trials)

    def new_trial(self, **conditions: object) -> Info:
        """Begin a new trial and return the record; see :meth:`neurogym.core.TrialEnv.new_trial`."""
        if self.session.described is not None:  # a user's override calls its parent
            return OneTrial._new_trial(self, **conditions) or {}
        return super().new_trial(**conditions)

    @classmethod
    def take_new_trial(cls) -> None:
        """Treat ``new_trial`` of a class like ``_new_trial``."""
        cls._new_trial = cls.__dict__["new_trial"]  # type: ignore[method-assign]
        del cls.new_trial

    def describe_one(self, trials: Trials) -> None:
        """Let the task describe a single trial.

        Raises:
            ValueError: If there are several trials.
        """
        if trials.n > 1:
            raise ValueError(f"{type(self).__name__} describes one trial at a time; make_trials(1) is the most")
        requested = {name: value[0] for name, value in trials.given.items() if not name.startswith("period_")}
        trials.given = {name: value for name, value in trials.given.items() if name.startswith("period_")}
        session = self.session
        outer, session.described = session.described, trials
        try:
            session.trial = {}
            record = self._new_trial(**requested)
            session.trial = session.trial if record is None else record
        finally:
            session.described = outer
        trials.info = {name: condition_column(value, 1) for name, value in (session.trial or {}).items()}

    # -- time ---------------------------------------------------------------------------------------------------------

    @property
    def t_ind(self) -> int:
        """Step within the trial."""
        return self.session.cursor.step

    @property
    def t(self) -> float:
        """Time within the trial (ms)."""
        return self.t_ind * self.dt

    @property
    def tmax(self) -> float:
        """Length of the current trial (ms); of tasks that program ``_step`` it can be set to end the trial sooner."""
        cursor = self.session.cursor
        return (cursor.end - cursor.first) * self.dt if cursor.block is not None else self.session.tmax_default

    @tmax.setter
    def tmax(self, value: float) -> None:
        cursor = self.session.cursor
        if self.session.described is not None or cursor.block is None:
            self.session.tmax_default = value
        else:
            steps = max(1, int(value / self.dt + 1e-6))
            cursor.end = cursor.first + min(steps, int(cursor.block.length[cursor.trial]))

    start_ind = of_periods("starts", "First step of each period.")
    end_ind = of_periods("ends", "Step after the last of each period.")
    start_t = of_periods("starts", "Start of each period (ms).", in_ms=True)
    end_t = of_periods("ends", "End of each period (ms).", in_ms=True)

    # -- description --------------------------------------------------------------------------------------------------

    def add_period(self, *args: Any, **kwargs: Any) -> None:
        """Add a period to the trial being described; see :meth:`neurogym.trials.Trials.add_period`."""
        if self.session.described is None:
            raise InvalidOperationError("add_period: the trial is complete; periods are added in _new_trial")
        self.session.described.add_period(*args, **kwargs)

    functools.update_wrapper(add_period, Trials.add_period)

    def sample_time(self, period: str) -> float:
        """A duration of a period (ms), drawn from ``timing`` and floored to whole steps."""
        described = self.session.described
        trials = described if described is not None else Trials(self, 1)
        return float(trials.sample_time(period)[0])

    def view_ob(self, period: str | None = None) -> np.ndarray:
        """Writable rows of the observations in a period."""
        return self.ob if period is None else self.ob[self._span(period)]

    def view_groundtruth(self, period: str | None = None) -> np.ndarray:
        """Writable rows of the ground truth in a period."""
        return self.gt if period is None else self.gt[self._span(period)]

    def _span(self, period: str) -> slice:
        trials, k = self.session.block_and_index()
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
        write(self.session.this_trial, self._by_row(value, period, where), period, where)

    def _by_row(self, value: RowValues, period: Period, where: Where) -> RowValues:
        """Value for channels of the observations, as a function of the rows if it has several entries."""
        trials = self.session.this_trial
        columns = trials.columns(where, self.observation_space, "channel")
        shape = trials.ob.shape[1:] if columns is None else (len(columns),)
        return entry_per_row(trials, value, period, shape)

    def add_randn(self, mu: float = 0, sigma: RowValues = 1, period: Period = None, where: Where = None) -> None:
        """Add Gaussian noise; ``sigma`` is the s.d. per step (divide by sqrt(dt) yourself)."""
        self.session.this_trial.add_randn(mu, self._by_row(sigma, period, where), period, where)

    def set_groundtruth(self, value: RowValues, period: Period = None, where: str | None = None) -> None:
        """Set the right action in a period; see :meth:`neurogym.trials.Trials.set_groundtruth`.

        Args:
            value: A number, an array that broadcasts against (rows, *action shape), or a callable that takes
                :class:`neurogym.trials.Rows`.
            period: Name, names, or None for the whole trial.
            where: Label of the action space; then ``value`` is the position in the list registered under it.
        """
        value, period = in_order(value, period)
        trials = self.session.this_trial
        shape = () if where is not None else trials.gt.shape[1:]
        trials.set_groundtruth(entry_per_row(trials, value, period, shape), period, where)

    def trial_length_stats(self, num_trials: int = 10_000) -> dict[str, float]:
        """Mean, s.d., 95th percentile and maximum of the trial length, in steps; the session is not disturbed."""
        return trial_length_stats(self, num_trials)

    # -- members that tasks written for older versions use ------------------------------------------------------------

    _ob_built, _gt_built, _tmax = built("ob"), built("gt"), end_of_periods()
    _duration = property(lambda task: {name: end - task.start_t[name] for name, end in task.end_t.items()})
    _init_ob, _init_gt = zero_filled("ob"), zero_filled("gt")
    obs, obs_now = older_name("ob"), older_name("ob_now")
    add_epoch, in_epoch = older_name("add_period"), older_name("in_period")

    def _add_ob(self, value: RowValues, period: Period = None, where: Where = None, reset: bool = False) -> None:
        """:meth:`add_ob`, or with ``reset`` :meth:`set_ob`; a task that overrides one of them may call this."""
        (OneTrial.set_ob if reset else OneTrial.add_ob)(self, value, period, where)


def entry_per_row(trials: Trials, value: RowValues, period: Period, shape: tuple[int, ...]) -> RowValues:
    """Expand a value for the rows of one or several periods to an entry of a shape per row.

    Returns:
        A function of the rows, as :class:`neurogym.trials.Trials` takes; numbers and functions as they are.
    """
    if callable(value) or np.ndim(value) == 0:
        return value
    values = np.asarray(value)

    def spread(rows: Rows) -> np.ndarray:
        full_shape = (len(rows.index), *shape)
        if values.shape == full_shape[:1] and shape in ((), (1,)):
            return values.reshape(full_shape)
        return np.broadcast_to(values, full_shape)

    names = [period] if period is None or isinstance(period, str) else list(period)
    rows = trials.rows(period)
    if len(names) == 1 or values.ndim <= len(shape) or len(values) in (1, len(rows.index)):
        entries = spread(rows)
    else:
        by_period = np.concatenate([spread(trials.rows(name)) for name in names])
        entries = by_period[trials.first_occurrences(trials.rows_in_turn(names))]
    return lambda _: entries
