"""One trial at a time, as NeuroGym describes trials: ``self.add_period``, ``self.add_ob``, ... in ``_new_trial``.

Everything here acts on a block of one trial; :class:`neurogym.trials.Trials` has the implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from neurogym.compat.members import built, durations, end_of_periods, in_order, older_name, zero_filled
from neurogym.cycle import TaskDefinition, trial_lengths
from neurogym.messages.names import unknown
from neurogym.trials import InvalidOperationError, Period, Trials, Where
from neurogym.trials.layout import Duration
from neurogym.trials.row_arrays import RowValues


class OneTrial(TaskDefinition):
    """Methods of an environment that describe its present trial, and members that scripts for NeuroGym use."""

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
        value, per_row = trials.entries(value, period, where)
        write(trials, value, period, where, per_row)

    def add_randn(self, mu: float = 0, sigma: RowValues = 1, period: Period = None, where: Where = None) -> None:
        """Add Gaussian noise; ``sigma`` is the s.d. per step (divide by sqrt(dt) yourself)."""
        trials = self.this_trial
        spread, per_row = trials.entries(sigma, period, where)
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
            rows = trials.entry_per_row(np.asarray(value), period, shape)
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
