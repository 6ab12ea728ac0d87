"""The trial that an environment describes or steps: time, observations, ground truth, and its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from neurogym.messages.names import unknown
from neurogym.parameters.base import BaseEnv
from neurogym.spaces import Action
from neurogym.trials.block import Trials
from neurogym.trials.cursor import Cursor
from neurogym.trials.events import ABORT, CORRECT, ERROR, NONE, OUTCOMES, Info, outcome_of
from neurogym.trials.layout import InvalidOperationError

_OUTCOMES = tuple(OUTCOMES)


class _Now:
    """Placeholder for the next observation, which tasks of older versions return from ``_step``."""

    def __deepcopy__(self, memo: dict[str, Any]) -> _Now:
        """Return the same object, a singleton."""
        return self

    def __reduce__(self) -> str:
        """Refer to the singleton by name."""
        return "NOW"


NOW: Any = _Now()


class SingleTrial(BaseEnv):
    """Trial that an environment describes (in ``_new_trial``) or steps through: time, periods, arrays, and its outcome.

    Attributes:
        cursor: Where the session is.
        tmax_default: Length of trials without periods (ms).
        trial: Record of the trial.
        event: Outcome of the last step (a constant of :mod:`neurogym.rules`).
        trial_aborts: Breaks of fixation in the trial so far.
        trial_choice: The choice of the trial and its step, if :meth:`choose` was called.
        trial_reward: Sum of the rewards of the trial so far.
        no_rt: Reaction time of a trial without a response.
        derived: Names of attributes that follow from the others, so that they are no part of a saved session.
    """

    derived: ClassVar[tuple[str, ...]] = ("cursor", "block_described", "_now", "_arguments", "is_made", "rule")
    no_rt: float | None = nan

    def __init__(self, dt: float = 100):
        super().__init__(dt)
        self.tmax_default: float = 10_000
        self.cursor = Cursor()
        self.block_described: Trials | None = None  # the block that _new_trial is describing
        self._acting = False  # whether _step is being asked
        self._now: np.ndarray | None = None
        self.trial: Info = {}
        self.event, self.trial_aborts, self.trial_reward = NONE, 0, 0.0
        self.trial_choice: tuple[Action, int] | None = None

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
    def ob_now(self) -> np.ndarray:
        """The observation that the agent acts on next.

        In ``_step`` that is the next row of the trial (the last, if there is no other). Returned from ``_step`` as it
        is, it stands for whatever comes next; after the end of a trial, for the first row of the next one.
        """
        cursor = self.cursor
        if cursor.block is None:
            raise InvalidOperationError("there is no trial yet: call reset() or new_trial() first")
        if not self._acting:
            return cursor.ob[cursor.row]
        if self._now is None:
            self._now = cursor.ob[cursor.row + (not cursor.at_end)]
        return self._now

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

    # -- what the agent did in the trial -------------------------------------------------------------------------------

    def report(self, event: int | None = None) -> None:
        """Report the outcome of the step, in tasks that override ``_step``.

        Args:
            event: A constant of :mod:`neurogym.rules`; by default correct or an error, as the performance so far says.
        """
        self.event = int(outcome_of(self.performance)) if event is None else event
        self.trial_aborts += event == ABORT

    def choose(self, choice: Action) -> None:
        """Record the choice of the trial now; otherwise the choice is the action that ends the trial."""
        self.trial_choice = choice, self.cursor.step

    def complete_report(self, info: Info, action: Action, outcome: int, spans: Mapping[str, float]) -> None:
        """Add the report of a trial that has ended to what ``step`` returns.

        Args:
            info: Changed in place.
            action: The last action of the trial.
            outcome: A constant of :mod:`neurogym.rules`.
            spans: Durations of the periods (ms).
        """
        cursor = self.cursor
        block, k, step = cursor.block, cursor.trial, cursor.row - cursor.first
        assert block is not None and block.go is not None
        steps = step - cursor.skipped + 1
        choice, step = self.trial_choice or (action, step)
        self.trial_choice = None
        hold = 0 if self.rule is None else self.rule.hold
        moved = choice != hold if type(choice) is int else np.any(np.asarray(choice) != hold)
        responded = moved and (outcome in (CORRECT, ERROR))
        info["new_trial"] = True
        info["trial"] = self.trial
        info["performance"] = float(self.performance)
        info["outcome"] = _OUTCOMES[outcome]
        info["choice"] = choice
        info["rt"] = float((step - block.go.item(k)) * self.dt) if responded else self.no_rt
        info["trial_reward"] = self.trial_reward
        info["trial_steps"] = info["tr_dur"] = steps
        info["aborts"] = self.trial_aborts
        info["periods"] = spans
