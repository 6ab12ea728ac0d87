"""Hooks that a task may override, and results of their calls."""

from __future__ import annotations

from math import nan
from typing import Any, NamedTuple

from neurogym.cycle.making import TrialMaker
from neurogym.trials import Info
from neurogym.trials.base import ABORT, NONE, outcome_of


class StepInfo(NamedTuple):
    """Results of an overridden step apart from the reward."""

    ob: Any  #: None: the observation of the row that comes next
    terminated: bool
    truncated: bool
    info: Info


class TaskHooks(TrialMaker):
    """A task whose methods may be overridden.

    Args:
        dt: Time step in ms.

    Attributes:
        event: What the last step meant (a constant of :mod:`neurogym.rules`).
        trial_aborts: Breaks of fixation in the current trial so far.
        trial_choice: The choice of the trial and its step, if :meth:`choose` was called.
    """

    no_rt: float | None = nan  #: reaction time of a trial without a response

    def __init__(self, dt: float = 100):
        super().__init__(dt)
        self.event, self.trial_aborts = NONE, 0
        self.trial_choice: tuple[Any, int] | None = None

    @property
    def is_adaptive(self) -> bool:
        """Whether what a trial is like depends on what the agent did before; then no trial is made ahead."""
        return type(self).trial_ended is not TaskHooks.trial_ended

    @property
    def observation_depends_on_step(self) -> bool:
        """Whether observations depend on the steps of the trial, such as on the periods to which actions lead."""
        return self.rule is not None and bool(self.rule.jumps)

    @property
    def trials_per_session(self) -> int | None:
        """Number of trials per session, if the task itself starts new sessions."""
        return None

    def post_step(self, ob: Any, reward: float, terminated: bool, truncated: bool, info: Info) -> tuple:
        """Last word on what ``step`` returns; the observation is already that of the next row."""
        return ob, reward, terminated, truncated, info

    def trial_ended(self, info: Info) -> None:
        """Called when a trial has ended, before the next is made; overriding this hook makes a task adaptive.

        Args:
            info: What ``step`` returns of the trial.
        """

    def start_session(self) -> None:
        """Called by every ``reset``: forget blocks, counters and whatever else was carried across trials."""

    def report(self, event: int | None = None) -> None:
        """Report the outcome of the step, in tasks that override ``_step``.

        Args:
            event: A constant of :mod:`neurogym.rules`; by default correct or an error, as the performance so far says.
        """
        self.event = int(outcome_of(self.performance)) if event is None else event
        self.trial_aborts += event == ABORT

    def choose(self, choice: Any) -> None:
        """Record the choice of the trial now; otherwise the choice is the action that ends the trial."""
        self.trial_choice = choice, self.cursor.step
