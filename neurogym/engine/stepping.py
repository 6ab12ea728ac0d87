"""The step of one environment; for a batch the same rules are in :mod:`neurogym.engine.step`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import inf, nan
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from neurogym.parameters import BaseEnv
from neurogym.plotting.frames import TrialSoFar
from neurogym.rules import Rule
from neurogym.spaces import Action, checked_action
from neurogym.trials import Cursor, Info, StepResult, Trials
from neurogym.trials.events import ABORT, CORRECT, END, ERROR, NONE, OUTCOME, OUTCOMES, StepInfo, outcome_of
from neurogym.wrappers.stack import Stack
from neurogym.wrappers.tasks import Traits

_OUTCOMES = tuple(OUTCOMES)


class Stepping(BaseEnv):
    """Position in the trials of a session, and the step from there.

    Attributes:
        cursor: Block, trial and row of the session.
        trial: Record of the trial.
        event: Outcome of the last step (a constant of :mod:`neurogym.rules`).
        trial_aborts: Breaks of fixation in the trial so far.
        trial_choice: The choice of the trial and its step, if the task reported a choice.
        trial_reward: Sum of the rewards of the trial so far.
        no_rt: Reaction time of a trial without a response.
        last: ``info`` of the trial that ended last in this session, None if none did.
        num_finished: Trials that ended in this session.
        next_by_itself: Whether the step that ends a trial begins the next one.
        goes_on: Whether a session goes on after a step that terminated or truncated an episode; the last observation
            is then in ``info["final_obs"]``. Other environments are reset.
        one_by_one: Whether trials are described one at a time.
        derived: Names of attributes that follow from the others, so that they are no part of a saved session.
    """

    derived: ClassVar[tuple[str, ...]] = ("cursor", "_stack", "_seen", "rule")
    rule: ClassVar[Rule | None] = None
    abort: bool
    next_by_itself: bool = True
    goes_on: bool = False
    one_by_one: ClassVar[bool] = False
    no_rt: float | None = nan
    _shapes_steps: bool = False  # whether the task overrides post_step

    _is_batched: bool  # whether what an action does is looked up, known when a trial begins
    _n_actions: int
    _spans_of_trial: Info

    def __init__(self, dt: float = 100):
        super().__init__(dt)
        self.tmax_default: float = 10_000
        self.cursor = Cursor()
        self._stack: Stack | None = None
        self.trial: Info = {}
        self.event, self.trial_aborts, self.trial_reward = NONE, 0, 0.0
        self.trial_choice: tuple[Action, int] | None = None
        self.last: Info | None = None
        self.num_finished = 0
        self._last_gt: Action | None = None
        self._seen: TrialSoFar | None = None
        self._is_settled = True  # whether the rule has been applied to the trial that wrappers began
        self._made_ahead = False  # whether the block may have been made before the agent acted

    # -- defined by the task and by its session -----------------------------------------------------------------------

    def describe(self, trials: Trials) -> None:
        """Describe an empty block of trials."""
        raise NotImplementedError

    def check_conditions(self, requested: Mapping[str, object]) -> None:
        """Refuse conditions of which no trial can be made."""

    def start_session(self) -> None:
        """Called by every ``reset``: forget blocks, counters and whatever else was carried across trials."""

    def next_trial_depends_on(self) -> Hashable:
        """Part of the session's state on which the next trial depends, as a hashable value; None if undeclared.

        Worth saying of a task that follows the agent: in a batch, tasks that are equal in it describe their next trials
        together. ``_new_trials`` is then asked once, of one of them, for one trial of each; what it draws comes from
        ``trials.rng`` (or ``trials.draw``, ...), with a first axis that is the trial. What it takes from
        ``trials.per_trial`` may differ among them.
        """
        return None

    @property
    def traits(self) -> Traits:
        """Capabilities of the task without wrappers."""
        raise NotImplementedError

    def length_is_fixed(self) -> bool:
        """Whether every trial has the same length."""
        raise NotImplementedError

    @property
    def stack(self) -> Stack:
        """The wrappers, taken together."""
        raise NotImplementedError

    def finish_pending_step(self) -> None:
        """Apply the rule to a trial changed by the ``new_trial`` of wrappers."""
        raise NotImplementedError

    def begin_next(self) -> None:
        """Begin the next trial."""
        raise NotImplementedError

    def act_by_program(self, row: int, action: Action) -> tuple[int, float, StepInfo]:
        """Effect of an action at a row of the current trial as the task programs it; see :meth:`act_at`."""
        raise NotImplementedError

    def trial_ended(self, info: Info) -> None:
        """Called when a trial has ended, before the next is made; overriding this hook makes a task adaptive.

        Args:
            info: What ``step`` returns of the trial.
        """

    def post_step(self, ob: np.ndarray, reward: float, terminated: bool, truncated: bool, info: Info) -> StepResult:
        """Last word on what ``step`` returns; the observation is already that of the next row."""
        return ob, reward, terminated, truncated, info

    @property
    def most_steps(self) -> float:
        """Longest trial of a task with jumps, in steps."""
        return self.rule.patience / self.dt if self.rule else inf

    # -- stepping -----------------------------------------------------------------------------------------------------

    def step(self, action: Action, stack: Stack | None = None) -> StepResult:
        """Act on the current row.

        Args:
            action: The action.
            stack: Wrappers that show the observation.

        Returns:
            Observation of the next row (row 0 of the next trial if this one ended), reward, terminated, truncated and
            info with ``new_trial`` and ``gt``; at the end of a trial also ``trial`` (the finished one),
            ``performance``, ``outcome``, ``choice``, ``rt`` (ms, nan without a response), ``trial_reward``,
            ``trial_steps``, ``aborts`` and ``decision_onset`` (ms, from which reaction times count).

        Raises:
            ResetNeeded: If there is no trial yet.
            ValueError: If the action is not in the action space, or ``_step`` does not return five values.
        """
        cursor = self.cursor
        row, width = cursor.row, cursor.width
        is_plain = stack is None and type(action) is int and 0 <= action < width
        if is_plain and cursor.quiet[row * width + action]:  # nothing happens: the same as below, in half the time
            cursor.row, self.event = row + 1, NONE
            info: Info = {"new_trial": False}
            if cursor.gt is not None:
                self._last_gt = info["gt"] = cursor.gt[row]
            return cursor.ob[row + 1].copy(), 0.0, False, False, info
        ended, action, reward, info, programmed = self.act_in_trial(action)
        if self.render_mode is not None:
            self._seen = TrialSoFar.after(self._seen, self, row, action, reward, ended)
        if ended and self.next_by_itself:
            self.begin_next()
        return self.step_result(stack, action, reward, info, programmed)

    def limit_short_way(self) -> None:
        """Let all steps of the current trial go the long way where each step has something to do."""
        if not self._is_batched or not self._is_settled or self.render_mode is not None:
            self.cursor.width = 0

    def act_in_trial(self, action: Action) -> tuple[bool, Action, float, Info, StepInfo | None]:
        """Act on the current row, and report the trial if the action ends the trial: first part of :meth:`step`.

        The next one is not begun, so that many environments can begin theirs together before :meth:`step_result`.

        Returns:
            Whether the trial has ended, and what :meth:`step_result` takes.
        """
        cursor = self.cursor
        if cursor.block is None:
            raise gym.error.ResetNeeded("call reset() before step()")
        if type(action) is not int or not 0 <= action < self._n_actions:
            action = checked_action(action, self.action_space, self._n_actions)
        if not self._is_settled:
            self.finish_pending_step()
        row = cursor.row
        event, reward, programmed = self.act_at(row, action)
        info: Info = {"new_trial": False} if programmed is None else programmed.info
        self.event = event & OUTCOME
        if event < END:
            if cursor.jump is None:
                cursor.row = row + 1
            else:
                cursor.jump_from(row, action, self.most_steps)
        else:
            self._report_trial(action, event & OUTCOME, info)
        if cursor.gt is not None:
            self._last_gt = truth = cursor.gt[row]
            if "gt" not in info:
                info["gt"] = truth
        return event >= END, action, reward, info, programmed

    def act_at(self, row: int, action: Action) -> tuple[int, float, StepInfo | None]:
        """Effect of an action at a row of the current trial; for a batch the same is in :mod:`neurogym.engine.step`.

        What it adds to performance, to the trial's reward and to the breaks of fixation is added; the session stays at
        the row.

        Args:
            row: Row of the block.
            action: As :func:`neurogym.spaces.checked_action` returns it.

        Returns:
            What the action meant (an outcome, plus :data:`neurogym.rules.END` if it ended the trial), the reward, and
            the results of an overridden ``_step`` apart from it (None if the declared rule was applied).

        Raises:
            ValueError: If ``_step`` does not return five values.
        """
        if not self._is_batched:
            return self.act_by_program(row, action)
        events, rewards, gains = self.cursor.tables  # type: ignore[misc]  # there are tables, since the task looks up
        event, reward = events.item(row, action), rewards.item(row, action)
        self.performance += gains.item(row, action)
        self.trial_reward += reward
        if event != NONE:  # at most steps nothing happens
            if event & OUTCOME == ABORT:
                self.trial_aborts += 1
            elif event == END:  # ended without an answer that the rule knows
                event |= int(outcome_of(self.performance))
        return event, reward, None

    def step_result(
        self, stack: Stack | None, action: Action, reward: float, info: Info, programmed: StepInfo | None
    ) -> StepResult:
        """Return the result of :meth:`step`, with the observation of the new current row: second part of :meth:`step`.

        Args:
            stack: The wrappers that show it, None if there are none.
            action: The action.
            reward: What it earned.
            info: Report of the trial.
            programmed: Results of an overridden ``_step`` apart from the reward.
        """
        cursor = self.cursor
        ob = cursor.ob[cursor.row]
        if programmed is None:
            if stack is None:
                return ob.copy(), reward, False, False, info
            return stack.observe(ob, action, reward, self.field, copied=False), reward, False, False, info
        ob = ob.copy() if programmed.ob is None else programmed.ob
        terminated, truncated = programmed.terminated, programmed.truncated
        if self._shapes_steps:
            ob, reward, terminated, truncated, info = self.post_step(ob, reward, terminated, truncated, info)
        if stack is not None:
            if "final_obs" in info:
                info["final_obs"] = stack.observe(info["final_obs"], action, reward, self.field)
            ob = stack.observe(ob, action, reward, self.field)
        return ob, reward, terminated, truncated, info

    def _report_trial(self, action: Action, outcome: int, info: Info) -> None:
        """Report the trial that an action has ended in ``info``, and to the task and the wrappers."""
        self.num_finished += 1
        self.last = info
        cursor = self.cursor
        step = cursor.row - cursor.first
        info["trial_steps"] = info["tr_dur"] = step - cursor.skipped + 1
        choice, step = self.trial_choice or (action, step)
        self.trial_choice = None
        hold = 0 if self.rule is None else self.rule.hold
        moved = choice != hold if type(choice) is int else np.any(np.asarray(choice) != hold)
        responded = moved and outcome in (CORRECT, ERROR)
        go = cursor.block.go.item(cursor.trial)  # type: ignore[union-attr]  # a trial is on, and complete
        info["new_trial"] = True
        info["trial"] = self.trial
        info["performance"] = float(self.performance)
        info["outcome"] = _OUTCOMES[outcome]
        info["choice"] = choice
        info["rt"] = float((step - go) * self.dt) if responded else self.no_rt
        info["trial_reward"] = self.trial_reward
        info["aborts"] = self.trial_aborts
        info["decision_onset"] = float(go * self.dt)
        info["periods"] = self._spans_of_trial
        if not self._made_ahead:
            self.trial_ended(info)
            self.stack.trial_ended(info)

    def follow(self, action: Action, outcome: int, steps: int, aborts: int, performance: float, reward: float) -> None:
        """Report the current trial after a batch has stepped through every row; the next trial is not begun.

        For trials that depend on what the agent did: all is as if the trial had been stepped through here.

        Args:
            action: The last.
            outcome: A constant of :mod:`neurogym.rules`.
            steps: Steps that the trial took.
            aborts: Breaks of fixation in it.
            performance: Its performance.
            reward: Sum of its rewards.
        """
        self.cursor.row = self.cursor.first + steps - 1 + self.cursor.skipped
        self.performance, self.trial_reward, self.trial_aborts = performance, reward, aborts
        self.event = outcome
        info: Info = {}
        self._report_trial(action, outcome, info)
        if self.cursor.gt is not None:
            info["gt"] = self._last_gt = self.cursor.gt[self.cursor.row]

    def field(self, name: str) -> Any:
        """Value of a per-step field of the block at the current row; ``last_gt``: see :class:`TrialWrapper`."""
        if name != "last_gt":
            return self.cursor.field(name)
        return np.zeros_like(self.cursor.field("gt")) if self._last_gt is None else self._last_gt
