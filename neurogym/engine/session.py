"""Session of one task: its trials are made, begun, stepped and reported.

The step of a batch follows the same rules in :mod:`neurogym.engine.pools`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from neurogym.engine.making import make_trials
from neurogym.plotting.frames import TrialSoFar
from neurogym.spaces import Action, checked_action, n_actions
from neurogym.state import snapshot
from neurogym.trials import Cursor, Info, InvalidOperationError, StepResult, Trials
from neurogym.trials.cursor import PrefetchedTrials
from neurogym.trials.events import (
    ABORT,
    CORRECT,
    END,
    ERROR,
    EVENT_TABLES,
    NONE,
    OUTCOME,
    OUTCOMES,
    StepInfo,
    outcome_of,
)
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.forwarding import layers
from neurogym.wrappers.stack import Stack

_OUTCOMES = tuple(OUTCOMES)


class DescribesTrials(Protocol):
    """Task that describes many trials at once; see :class:`neurogym.core.TrialEnv`."""

    _new_trials: Callable[[Trials], None]


class Session:
    """Position in the trials of a task, and the step from there.

    Args:
        task: The task, which describes the trials.

    Attributes:
        top: Source of new trials: the task, or the outermost :class:`TrialWrapper` around it.
        ahead: The trials made in advance.
        cursor: Block, trial and row.
        described: The block that the task describes, where it describes one trial at a time; None at all other times.
        trial: Record of the trial.
        performance: Performance in the trial so far.
        event: Outcome of the last step (a constant of :mod:`neurogym.rules`).
        trial_aborts: Breaks of fixation in the trial so far.
        trial_choice: The choice of the trial and its step, if the task reported a choice.
        trial_reward: Sum of the rewards of the trial so far.
        last: ``info`` of the trial that ended last, None if none did.
        num_tr: Trials that began, ``num_finished`` those that ended.
        next_by_itself: Whether the step that ends a trial begins the next one.
        most_actions: Discrete actions below it are accepted, in place of those of the action space: next to tasks with
            more actions. What the task itself lacks is never right.
        tmax_default: Length of a trial without periods (ms).
        seen: The trial so far as it is drawn.
        last_gt: Ground truth of the row that was acted on last.
        in_program: Whether a programmed ``_step`` is being called, and ``ob_now`` what it was told of the observation.
    """

    #: What a saved session has of this object; the rest follows from it, or is made again.
    STATE = (
        *("trial", "performance", "event", "trial_aborts", "trial_choice", "trial_reward", "last"),
        *("num_tr", "num_finished", "next_by_itself", "most_actions", "tmax_default", "last_gt"),
        *("_is_settled", "_made_ahead", "_is_batched", "_n_actions", "_spans_of_trial"),
    )

    _is_batched: bool  # whether what an action does is looked up, known when a trial begins
    _n_actions: int
    _spans_of_trial: Info

    def __init__(self, task: Any):
        self.task = task
        self.top: Any = task
        self.ahead = PrefetchedTrials()
        self.cursor = Cursor()
        self.described: Trials | None = None
        self.trial: Info = {}
        self.performance, self.event, self.trial_aborts, self.trial_reward = 0.0, NONE, 0, 0.0
        self.trial_choice: tuple[Action, int] | None = None
        self.last: Info | None = None
        self.num_tr = self.num_finished = 0
        self.next_by_itself, self.most_actions = True, 0
        self.tmax_default: float = 10_000
        self.seen: TrialSoFar | None = None
        self._stack: Stack | None = None
        self.last_gt: Action | None = None
        self.in_program = False
        self.ob_now: Any = None
        self._is_settled = True  # whether the rule has been applied to the trial that wrappers began
        self._made_ahead = False  # whether the block may have been made before the agent acted

    @property
    def accepted_actions(self) -> int:
        """Number of discrete actions that are accepted; 0 if actions are vectors."""
        return self.most_actions or n_actions(self.task.action_space)

    # -- the wrappers -------------------------------------------------------------------------------------------------

    @property
    def stack(self) -> Stack:
        """The wrappers that act on the task's trials, taken together."""
        if self._stack is None:
            self._stack = Stack(self.top)
        return self._stack

    @property
    def wrappers(self) -> list[TrialWrapper]:
        """The wrappers that act on the task's trials, innermost first."""
        return self.stack.wrappers

    def set_top(self, wrapper: gym.Env) -> None:
        """Make ``wrapper`` the source of new trials; called when a :class:`TrialWrapper` is added."""
        self.top, self._stack, self._made_ahead = wrapper, None, False
        self.ahead.restart()

    def use(self, wrapper: gym.Env) -> None:
        """Make the hooks of the stepped stack the active hooks, if a task is wrapped by several stacks."""
        if wrapper is not self.top and wrapper not in layers(self.top):
            self.set_top(wrapper)

    def shown_by(self, wrapper: gym.Env) -> Stack | None:
        """The wrappers that show observations to the agent, of a stack that only uses hooks; None for other stacks."""
        if self.task.traits.own_step:
            return None
        stack = self.stack if wrapper is self.top else Stack(wrapper)
        return stack if stack.only_hooks else None

    @property
    def groups_trials(self) -> bool:
        """Whether the next trials of several such tasks with equal parameters can be described at once."""
        if self.task.next_trial_depends_on() is None or self.task.traits.one_by_one:
            return False
        if self.stack.revises or self.stack.begins_trials:
            return False
        return not any(callable(spec) for spec in self.task.timing.values())  # may draw from generators of their own

    # -- trials -------------------------------------------------------------------------------------------------------

    def make_ahead(self, n: int | None = None) -> Trials:
        """Make the next trials of the session and store the block in ``ahead``, with the state before.

        Args:
            n: Number of trials; default few after a reset, later more.
        """
        ahead = self.ahead
        ahead.block = None
        before = snapshot(self.top)
        block = make_trials(self.task, n or min(ahead.size, self.task.traits.most_ahead or ahead.size), {})
        ahead.take(block, before)
        return block

    def describe(self, trials: Trials) -> None:
        """Let the task describe an empty block of trials."""
        if self.stack.of_task.one_by_one:
            self.task.describe_one(trials)
        else:
            task: DescribesTrials = self.task
            task._new_trials(trials)

    def new_trial(self, **conditions: object) -> Info:
        """Begin a new trial and return the record.

        Args:
            **conditions: Conditions of the trial, in place of randomly drawn ones.

        Raises:
            ValueError: If a condition or its value is unknown.
        """
        ahead, stack = self.ahead, self.stack
        if conditions or not stack.ahead:
            return self.begin_trial(make_trials(self.task, 1, conditions), 0)
        block: Trials = self.make_ahead() if ahead.is_used_up else ahead.block  # type: ignore[assignment]
        k = ahead.next
        ahead.next = k + 1
        return self.begin_trial(block, k)

    def begin_trial(self, block: Trials, k: int) -> Info:
        """Begin trial ``k`` of a block made for this session; return the record."""
        self.performance, self.trial_reward, self.trial_aborts = 0.0, 0.0, 0
        stack, cursor = self.stack, self.cursor
        if block is cursor.block:
            cursor.go_on(k)
        else:
            cursor.enter(block, k)
            self._is_batched, self._made_ahead = stack.of_task.batched, stack.ahead
            self._n_actions = self.accepted_actions
        self.trial, self._spans_of_trial = block.report(k)
        self.num_tr += 1
        self._is_settled = self.task.rule is None or not stack.begins_trials
        return self.trial

    def begin_next(self) -> None:
        """Begin the next trial, through the outermost wrapper if a wrapper overrides ``new_trial``."""
        ahead, stack = self.ahead, self.stack
        block, k = ahead.block, ahead.next
        if stack.begins_trials:
            self.top.new_trial()
        elif block is None or ahead.is_stale or k >= block.n or not stack.ahead:
            self.new_trial()
        else:  # what new_trial does where trials are ready; of trials of one step it is a fifth of the time
            ahead.next = k + 1
            self.begin_trial(block, k)

    def finish_pending_step(self) -> None:
        """Apply the rule to a trial changed by the ``new_trial`` of wrappers."""
        if self._is_settled:
            return
        self._is_settled = True
        trial = self.cursor.alone()
        for table in EVENT_TABLES:
            trial.fields.pop(table, None)
        self.task.rule.compile(trial, self.task.abort)
        self.cursor.enter(trial, 0, self.cursor.step)

    def begin(self, seed: int | None = None) -> None:
        """Start a session; the first trial is begun by ``new_trial``.

        Args:
            seed: Starts the generator anew.
        """
        if seed is not None:
            gym.Env.reset(self.task, seed=seed)
        for spec in self.task.timing.values():
            if seed is not None and hasattr(spec, "seed"):  # a duration with its own generator
                spec.seed(int(self.task.np_random.integers(2**31)))
        self.ahead.restart()
        self.last, self.num_tr, self.num_finished, self.last_gt, self.trial_choice = None, 0, 0, None, None
        self.seen = None
        self.task.start_session()
        self.stack.start_session()

    # -- the current trial --------------------------------------------------------------------------------------------

    def block_and_index(self) -> tuple[Trials, int]:
        """Block and position of the trial that is being described, else of the current trial.

        Raises:
            InvalidOperationError: If there is no trial yet.
        """
        if self.described is not None:
            return self.described, 0
        if self.cursor.block is None:
            raise InvalidOperationError("there is no trial yet: call reset() or new_trial() first")
        return self.cursor.block, self.cursor.trial

    @property
    def this_trial(self) -> Trials:
        """Trial that is being described, else the current trial, as a block of one trial.

        Raises:
            InvalidOperationError: If there is no trial yet.
        """
        trials, _ = self.block_and_index()
        return trials if trials is self.described else self.cursor.alone()

    def replace(self, name: str, present: np.ndarray, value: ArrayLike) -> None:
        """Replace the observations or ground truth of this trial; new values may have more channels or another type.

        Args:
            name: ``ob`` or ``gt``.
            present: The present values.
            value: The new ones.

        Raises:
            ValueError: If there is not one row per step.
        """
        value = np.asarray(value)
        dtype = value.dtype if name == "ob" and self.described is None else present.dtype
        if value.ndim < present.ndim or (value.shape[1:] == present.shape[1:] and dtype == present.dtype):
            present[...] = value
            return
        trials = self.this_trial
        if len(value) != trials.total:
            raise ValueError(f"{name} needs one row per step, {trials.total}, got {len(value)}")
        trials.fields[name] = value.astype(dtype)
        if self.described is None:
            self.cursor.enter(trials, 0, self.cursor.step, self.cursor.end - self.cursor.first)

    def field(self, name: str) -> Any:
        """Value of a per-step field of the block at the current row; ``last_gt``: see :class:`TrialWrapper`."""
        if name != "last_gt":
            return self.cursor.field(name)
        return np.zeros_like(self.cursor.field("gt")) if self.last_gt is None else self.last_gt

    # -- stepping -----------------------------------------------------------------------------------------------------

    def step(self, action: Action, stack: Stack | None = None) -> StepResult:
        """Act on the current row; see :meth:`neurogym.core.TrialEnv.step`.

        Args:
            action: The action.
            stack: Wrappers that show the observation.
        """
        cursor = self.cursor
        if cursor.block is None:
            raise gym.error.ResetNeeded("call reset() before step()")
        if type(action) is not int or not 0 <= action < self._n_actions:
            action = checked_action(action, self.task.action_space, self._n_actions)
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
            self.last_gt = truth = cursor.gt[row]
            if "gt" not in info:
                info["gt"] = truth
        if self.task.render_mode is not None:
            self.seen = TrialSoFar.after(self.seen, cursor, row, action, reward, event >= END)
        if event >= END and self.next_by_itself:
            self.begin_next()
        if programmed is not None:
            return self._result_of_program(stack, action, reward, programmed)
        ob = cursor.ob[cursor.row]
        if stack is None:
            return ob.copy(), reward, False, False, info
        return stack.observe(ob, action, reward, self.field, copied=False), reward, False, False, info

    @property
    def most_steps(self) -> float:
        """Longest trial of a task with jumps, in steps."""
        return self.task.rule.patience / self.task.dt if self.task.rule else inf

    def act_at(self, row: int, action: Action) -> tuple[int, float, StepInfo | None]:
        """Effect of an action at a row of the current trial; for a batch the same is in :mod:`neurogym.engine.pools`.

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
            return self.task.act_by_program(row, action)
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

    def _result_of_program(
        self, stack: Stack | None, action: Action, reward: float, programmed: StepInfo
    ) -> StepResult:
        """Result of :meth:`step` of a task that programs its steps, with the observation of the new current row."""
        ob = self.cursor.ob[self.cursor.row].copy() if programmed.ob is None else programmed.ob
        _, terminated, truncated, info = programmed
        if self.task.shapes_steps:
            ob, reward, terminated, truncated, info = self.task.post_step(ob, reward, terminated, truncated, info)
        if stack is not None:
            if "final_obs" in info:
                info["final_obs"] = stack.observe(info["final_obs"], action, reward, self.field)
            ob = stack.observe(ob, action, reward, self.field)
        return ob, reward, terminated, truncated, info

    def _report_trial(self, action: Action, outcome: int, info: Info) -> None:
        """Report the trial that an action has ended in ``info``, and to the task and the wrappers."""
        self.num_finished += 1
        self.last = info
        cursor, task = self.cursor, self.task
        step = cursor.row - cursor.first
        info["trial_steps"] = info["tr_dur"] = step - cursor.skipped + 1
        choice, step = self.trial_choice or (action, step)
        self.trial_choice = None
        hold = 0 if task.rule is None else task.rule.hold
        moved = choice != hold if type(choice) is int else np.any(np.asarray(choice) != hold)
        responded = moved and outcome in (CORRECT, ERROR)
        go = cursor.block.go.item(cursor.trial)  # type: ignore[union-attr]  # a trial is on, and complete
        info["new_trial"] = True
        info["trial"] = self.trial
        info["performance"] = float(self.performance)
        info["outcome"] = _OUTCOMES[outcome]
        info["choice"] = choice
        info["rt"] = float((step - go) * task.dt) if responded else nan if self._is_batched else task.no_rt
        info["trial_reward"] = self.trial_reward
        info["aborts"] = self.trial_aborts
        info["decision_onset"] = float(go * task.dt)
        info["periods"] = self._spans_of_trial
        if not self._made_ahead:
            task.trial_ended(info)
            self.stack.trial_ended(info)

    def follow(
        self, action: Action, outcome: int, steps: int, aborts: int, performance: float, reward: float, skipped: int
    ) -> None:
        """Report the current trial after a batch has stepped through every row; the next trial is not begun.

        For trials that depend on what the agent did: all is as if the trial had been stepped through here.

        Args:
            action: The last.
            outcome: A constant of :mod:`neurogym.rules`.
            steps: Steps that the trial took.
            aborts: Breaks of fixation in it.
            performance: Its performance.
            reward: Sum of its rewards.
            skipped: Rows that it skipped.
        """
        self.cursor.skipped = skipped
        self.cursor.row = self.cursor.first + steps - 1 + skipped
        self.performance, self.trial_reward, self.trial_aborts = performance, reward, aborts
        self.event = outcome
        info: Info = {}
        self._report_trial(action, outcome, info)
        if self.cursor.gt is not None:
            info["gt"] = self.last_gt = self.cursor.gt[self.cursor.row]
