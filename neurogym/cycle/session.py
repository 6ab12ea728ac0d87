"""Session of a task: hooks that a task may override, the start of a session, and what it counts."""

from __future__ import annotations

from math import nan
from typing import Any, NamedTuple, Protocol, runtime_checkable

import gymnasium as gym

from neurogym.compat.members import forgive_reset
from neurogym.cycle.making import TrialMaker
from neurogym.plotting.frames import TrialSoFar
from neurogym.trials import Info, ResetResult
from neurogym.trials.base import ABORT, NONE, outcome_of


@runtime_checkable
class _Seeded(Protocol):
    """Duration with a random generator of the same object."""

    def seed(self, seed: int) -> object: ...


class StepInfo(NamedTuple):
    """Results of an overridden step apart from the reward."""

    ob: Any  #: None: the observation of the row that comes next
    terminated: bool
    truncated: bool
    info: Info


class Session(TrialMaker):
    """Hooks of a task and the start of a session; :class:`neurogym.cycle.stepping.TrialCycle` adds the trials.

    Args:
        dt: Time step in ms.

    Attributes:
        event: What the last step meant (a constant of :mod:`neurogym.rules`).
        trial_aborts: Breaks of fixation in the current trial so far.
        trial_choice: The choice of the trial and its step, if :meth:`choose` was called.
        last: ``info`` of the trial that ended last in this session, None if none did.
        num_finished: Trials that ended in this session.
        num_tr: Trials that began in this session.
        trial_reward: Sum of the rewards of the current trial so far.
        next_by_itself: Whether the step that ends a trial begins the next one.
    """

    next_by_itself: bool = True
    no_rt: float | None = nan  #: reaction time of a trial without a response

    def __init__(self, dt: float = 100):
        super().__init__(dt)
        self.event, self.trial_aborts, self.trial_reward = NONE, 0, 0.0
        self.trial_choice: tuple[Any, int] | None = None
        self.last: dict[str, Any] | None = None
        self.num_tr = self.num_finished = 0
        self._last_gt: Any = None
        self._seen: TrialSoFar | None = None
        self._made_ahead = False  # whether the block may have been made before the agent acted

    @property
    def is_adaptive(self) -> bool:
        """Whether what a trial is like depends on what the agent did before; then no trial is made ahead."""
        return type(self).trial_ended is not Session.trial_ended

    @property
    def observation_depends_on_step(self) -> bool:
        """Whether observations depend on the steps of the trial, such as on the periods to which actions lead."""
        return self.rule is not None and bool(self.rule.jumps)

    @property
    def trials_per_session(self) -> int | None:
        """Number of trials per session, if the task itself starts new sessions."""
        return None

    # -- hooks --------------------------------------------------------------------------------------------------------

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

    # -- trials -------------------------------------------------------------------------------------------------------

    def begin_session(self, seed: int | None = None) -> None:
        """All of :meth:`reset` but the first trial.

        Args:
            seed: Starts the generator anew.
        """
        if seed is not None:
            gym.Env.reset(self, seed=seed)
        for spec in self.timing.values():
            if seed is not None and isinstance(spec, _Seeded):
                spec.seed(int(self.np_random.integers(2**31)))
        self.ahead.restart()
        self.last, self.num_tr, self.num_finished, self._last_gt, self.trial_choice = None, 0, 0, None, None
        self.start_session()
        self.stack.start_session()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None, **old: Any) -> ResetResult:
        """Start a session at row 0 of the first trial, without taking a step.

        Args:
            seed: Restarts the generator; determines the whole session, wrappers included.
            options: Conditions of the first trial, as for :meth:`new_trial`; ``no_step`` and ``step_fn`` of older
                versions have no effect.
            **old: ``no_step`` and ``step_fn`` of older versions, without effect.

        Raises:
            ValueError: If a condition or its value is unknown.
        """
        forgive_reset(old)
        self.begin_session(seed)
        self.top.new_trial(**{name: v for name, v in (options or {}).items() if name not in ("no_step", "step_fn")})
        self._seen = None
        return self.cursor.ob[self.cursor.row].copy(), {}
