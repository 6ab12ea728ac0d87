"""Tasks that program their steps in ``_step``, as NeuroGym's do, in place of a declared rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.compat.members import five_values
from neurogym.engine.stepping import Stepping
from neurogym.spaces import Action
from neurogym.trials import InvalidOperationError, StepResult
from neurogym.trials.events import ABORT, END, MISS, NONE, OUTCOME, StepInfo, outcome_of


class _Now:
    """Placeholder for the next observation, which tasks of older versions return from ``_step``."""

    def __deepcopy__(self, memo: dict[str, Any]) -> _Now:
        """Return the same object, a singleton."""
        return self

    def __reduce__(self) -> str:
        """Refer to the singleton by name."""
        return "NOW"


NOW: Any = _Now()


class ProgrammedSteps(Stepping):
    """Methods for ``_step``, and the adapter by which the engine calls ``_step`` in place of looking up tables."""

    r_tmax: float
    abort: bool
    _acting = False  # whether _step is being called
    _now: np.ndarray | None = None  # what ob_now was in _step

    def __init_subclass__(cls, **kwargs: object):
        """Note whether the task overrides ``post_step``."""
        super().__init_subclass__(**kwargs)
        cls._shapes_steps = cls.post_step is not Stepping.post_step

    @property
    def overrides_step(self) -> bool:
        """Whether the task programs ``_step`` or ``post_step``."""
        return type(self)._step is not ProgrammedSteps._step or self._shapes_steps

    def _step(self, action: Any) -> StepResult:
        """Effect of an action at the current row. The default applies the declared rule."""
        if self.cursor.tables is None:
            raise NotImplementedError("the task must define _step or declare a rule")
        event, reward, gained = (table.item(self.cursor.row, action) for table in self.cursor.tables)
        self.report(event & OUTCOME)
        self.performance += gained
        return self.ob_now, reward, False, False, {"new_trial": event >= END}

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

    def break_fixation(self) -> tuple[float, bool]:
        """Report a break of fixation in ``_step``; return the reward and whether the trial ends."""
        self.report(ABORT)
        return self.rewards["abort"], self.abort

    def answer(self, right: bool) -> tuple[float, bool]:
        """Report the answer that ends the trial in ``_step``; return the reward and True."""
        self.performance = float(right)
        self.report()
        return self.rewards["correct" if right else "fail"], True

    def act_by_program(self, row: int, action: Action) -> tuple[int, float, StepInfo]:
        """Effect of an action at a row of the current trial by ``_step``; see ``act_at`` of the engine."""
        cursor = self.cursor
        cursor.row = row
        self.event, self._now, self._acting = NONE, None, True
        try:
            result = self._step(action)
        finally:
            self._acting = False
        if type(result) is not tuple or len(result) != 5:
            result = five_values(result, self)
        ob, reward, terminated, truncated, info = result
        ended, event = bool(info.setdefault("new_trial", False)), self.event
        if self.rule is None:
            reward += cursor.bonus
        if not ended and cursor.row + 1 >= cursor.end:
            ended = info["new_trial"] = True
            reward += self.r_tmax
            event = event or MISS
        self.trial_reward += reward
        if ended and (event == NONE or (event == MISS and self.performance >= 0.5)):
            event = int(outcome_of(self.performance))
        now = self._now
        if ob is NOW or (now is not None and (ob is now or (ended and np.array_equal(ob, now)))):
            ob = None  # type: ignore[assignment]
        programmed = tuple.__new__(StepInfo, (ob, terminated, truncated, info))  # half the time of StepInfo(...)
        return event + END * ended, reward, programmed
