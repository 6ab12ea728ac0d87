"""Base class of tasks: :class:`TrialEnv`.

A task describes its trials in ``_new_trials`` and declares in ``rule`` how they are answered::

    class Match(TrialEnv):
        default_timing = {"fixation": 200, "stimulus": 500, "decision": 200}
        default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0}
        rule = Rule(fixate=("fixation", "stimulus"), answer=("decision",))

        def __init__(self, dt=100, rewards=None, timing=None, sigma=1.0):
            super().__init__(dt=dt, rewards=rewards, timing=timing)
            self.sigma = sigma / np.sqrt(dt)
            self.conditions = {"ground_truth": [0, 1]}
            self.observation_space = spaces.Box(-np.inf, np.inf, shape=(3,), name={"fixation": 0, "stimulus": [1, 2]})
            self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

        def _new_trials(self, trials):
            truth = trials.draw("ground_truth")
            trials.add_ob(1, ["fixation", "stimulus"], where="fixation")
            trials.add_ob(np.eye(2)[truth], "stimulus", where="stimulus")
            trials.add_randn(0, self.sigma, "stimulus", where="stimulus")
            trials.set_groundtruth(truth, "decision", where="choice")

It describes many trials at once: what it draws has one entry per trial. The periods of ``default_timing`` follow each
other; a task with other periods adds them (``trials.add_period``). A task may instead describe one trial at a time
(``_new_trial``, in which ``self.add_period``, ``self.add_ob``, ... mean the same for that trial), and program its own
``_step`` where the ordinary rule does not do.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.compat.one_trial import OneTrial
from neurogym.cycle import TaskDefinition, env_string, make_trials, sample
from neurogym.parameters import BaseEnv
from neurogym.plotting.frames import TrialSoFar, picture
from neurogym.spaces import Action, checked_action
from neurogym.state import snapshot
from neurogym.trials import Info, InvalidOperationError, StepResult, Trials
from neurogym.trials.events import ABORT, END, NONE, OUTCOME, TABLES, StepInfo, outcome_of
from neurogym.wrappers.base import OrderEnforcing, TrialWrapper, no_action
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.stack import Stack

__all__ = [
    "BaseEnv",
    "EpochEnv",
    "Hooks",
    "InvalidOperationError",
    "OrderEnforcing",
    "PeriodEnv",
    "TrialEnv",
    "TrialWrapper",
    "env_string",
    "no_action",
]


class TrialEnv(OneTrial):
    """An environment made of trials, and trials made of periods.

    At step t the agent sees row t of the trial and acts; the reward and ``info`` returned belong to that row. The step
    that ends a trial reports it and returns row 0 of the next one. Actions take effect in :meth:`act_at` and nowhere
    else; for a batch, the same is compiled (``neurogym/vector/step.c``).

    Args:
        dt: Time step in ms.
        num_trials_before_reset: Accepted for old scripts; a session has no end of its own.
        r_tmax: Reward added when a trial runs out (tasks that program ``_step``).
        rewards: Replaces entries of the class's ``default_rewards``.
        timing: Replaces entries of the class's ``default_timing`` (ms; forms: :mod:`neurogym.sampling.distributions`).
        abort: Whether breaking fixation ends the trial (declared rules).

    Attributes:
        default_timing: Period to duration, class attribute.
        default_rewards: Event to reward, class attribute.
        rule: The declared response rule, or None if the task programs ``_step``.
        rewards: Event to reward. What is changed, here or by :meth:`update`, takes effect with the next trial.
        timing: Period to duration, likewise.
        conditions: What can be asked of :meth:`new_trial`: name to a sequence of values or a distribution.
        trial: The current trial's record, a dictionary.

    Raises:
        ValueError: For a malformed duration. Of unknown rewards and periods there is a warning.
    """

    _shapes_steps: bool = False

    def __init_subclass__(cls, **kwargs: object):
        """Treat ``new_trial`` in a subclass like ``_new_trial``."""
        super().__init_subclass__(**kwargs)
        if "adaptive" in cls.__dict__:
            raise TypeError(f"{cls.__name__}: adaptive is not declared any more; override trial_ended instead")
        if "new_trial" in cls.__dict__:
            cls._new_trial = cls.__dict__["new_trial"]  # type: ignore[method-assign]
            del cls.new_trial
        cls._shapes_steps = cls.post_step is not TrialEnv.post_step
        if "_new_trial" in cls.__dict__:
            cls.one_by_one = True
        elif "_new_trials" in cls.__dict__:
            cls.one_by_one = False

    # -- trials -------------------------------------------------------------------------------------------------------

    def make_trials(self, n: int, **conditions: object) -> Trials:
        """``n`` new trials, wrappers included, that are not stepped here: material for batches and data sets.

        Args:
            n: Number of trials.
            **conditions: Conditions, a value for all trials or an array (n,).

        Raises:
            ValueError: If no trial can be made with a value. Of an unknown condition, or a number that is not among its
                values, there is a warning.
        """
        return make_trials(self, n, conditions)

    def sample(self, rng: np.random.Generator, n: int, **conditions: object) -> Trials:
        """``n`` trials of the task without its wrappers, drawn from a generator; the session is not touched.

        Args:
            rng: Source of everything random in the trials.
            n: Number of trials; 1 for tasks that describe one trial at a time.
            **conditions: Conditions, a value for all trials or an array (n,).

        Raises:
            ValueError: If no trial can be made with a value.

        Example:
            >>> import neurogym as ngym
            >>> task = ngym.make("PerceptualDecisionMaking-v0").unwrapped
            >>> trials = task.sample(np.random.default_rng(0), 3, coh=51.2)
            >>> trials.n, trials.info["coh"].tolist(), trials.ob.shape == (trials.total, 3)
            (3, [51.2, 51.2, 51.2], True)
        """
        return sample(self, rng, n, conditions)

    def make_ahead(self, n: int | None = None) -> Trials:
        """Make the next trials of the session and store the block in ``ahead``, with the state before.

        Args:
            n: Number of trials; default few after a reset, later more.
        """
        ahead = self.ahead
        ahead.block = None
        before = snapshot(self.top)
        block = self.make_trials(n or ahead.size(self.most_ahead))
        ahead.take(block, before)
        return block

    def new_trial(self, **kwargs: object) -> Info:
        """Begin a new trial and return the record.

        Args:
            **kwargs: Conditions of the trial, in place of randomly drawn ones.

        Raises:
            ValueError: If a condition or its value is unknown.
        """
        if self.is_describing:  # a user's override calls its parent
            return TaskDefinition._new_trial(self, **kwargs) or {}
        ahead, stack = self.ahead, self.stack
        if kwargs or not stack.ahead:
            return self.begin_trial(self.make_trials(1, **kwargs), 0)
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
            self._is_batched, self._n_actions, self._made_ahead = stack.looks_up, self.accepted_actions, stack.ahead
        self.trial, self._spans_of_trial = block.report(k)
        self.num_tr += 1
        self._is_settled = self.rule is None or not stack.begins_trials
        return self.trial

    def begin_next(self) -> None:
        """Begin the next trial, through the outermost wrapper if a wrapper overrides ``new_trial``."""
        ahead, stack = self.ahead, self.stack
        block, k = ahead.block, ahead.next
        if stack.begins_trials:
            self.top.new_trial()
        elif block is None or ahead.is_stale or k >= block.n or not stack.ahead:
            self.new_trial()
        else:  # what new_trial does where trials are ready
            ahead.next = k + 1
            self.begin_trial(block, k)

    def settle(self) -> None:
        """Apply the rule to a trial changed by the ``new_trial`` of wrappers."""
        if self._is_settled:
            return
        self._is_settled = True
        trial, step = self.cursor.alone(), self.cursor.step
        for table in TABLES:
            trial.fields.pop(table, None)
        self.rule.compile(trial, self.abort)  # type: ignore[union-attr]
        self.cursor.enter(trial, 0)
        self.cursor.row += step

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
            ``trial_steps`` and ``aborts``.

        Raises:
            ResetNeeded: If there is no trial yet.
            ValueError: If the action is not in the action space, or ``_step`` does not return five values.
        """
        cursor = self.cursor
        row, quiet = cursor.row, cursor.quiet
        if quiet is not None and stack is None and type(action) is int and 0 <= action < cursor.width:
            plain = self._is_batched and self._is_settled and action < self._n_actions and self.render_mode is None
            if plain and quiet[row * cursor.width + action]:  # nothing happens: the same as below, in half the time
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
            self.settle()
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
            ob = stack.observe(ob, action, reward, self.field)
        return ob, reward, terminated, truncated, info

    def shown_by(self, wrapper: gym.Env) -> Stack | None:
        """The wrappers that show observations to the agent, of a stack that only uses hooks; None for other stacks."""
        if "step" in vars(self) or type(self).step is not TrialEnv.step:
            return None
        stack = self.stack if wrapper is self.top else Stack(wrapper)
        return stack if stack.only_hooks else None

    def act_at(self, row: int, action: Action) -> tuple[int, float, StepInfo | None]:
        """Effect of an action at a row of the current trial; no other place defines the effect.

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

    def _report_trial(self, action: Action, outcome: int, info: Info) -> None:
        """Report the trial that an action has ended in ``info``, and to the task and the wrappers."""
        self.num_finished += 1
        self.last = info
        self.complete_report(info, action, outcome, self._spans_of_trial)
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

    def render(self, mode: str | None = None) -> np.ndarray | None:
        """Draw the trial so far, or after the last step of a trial the whole trial.

        Args:
            mode: ``"rgb_array"``; default what the task was made with (``render_mode``). ``"human"`` draws nothing.

        Returns:
            Shape (height, width, 3), 0 to 255; None if nothing is to be drawn.

        Raises:
            ResetNeeded: If there is no trial yet.
        """
        return picture(self._seen, self) if (mode or self.render_mode) == "rgb_array" else None

    def field(self, name: str) -> Any:
        """Value of a per-step field of the block at the current row; ``last_gt``: see :class:`TrialWrapper`."""
        if name != "last_gt":
            return self.cursor.field(name)
        return np.zeros_like(self.cursor.field("gt")) if self._last_gt is None else self._last_gt


PeriodEnv = EpochEnv = TrialEnv
