"""Arguments and hooks of a task, and the start of a session."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import inf
from typing import Any, ClassVar, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np

from neurogym import scores
from neurogym.compat.leniency import warn_once
from neurogym.compat.members import five_values, forgive_reset
from neurogym.cycle.description import env_string
from neurogym.messages.names import unknown
from neurogym.plotting.frames import TrialSoFar
from neurogym.rules import Rule
from neurogym.sampling.distributions import Distribution, Patterns, Vectors, is_number, is_possible
from neurogym.scores import Score
from neurogym.spaces import Action
from neurogym.trials import Info, ResetResult, StepResult, Trials
from neurogym.trials.block import condition_column
from neurogym.trials.cursor import PreparedTrials
from neurogym.trials.events import ABORT, END, MISS, NONE, OUTCOME, StepInfo, outcome_of
from neurogym.trials.single import NOW, SingleTrial
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.forwarding import layers
from neurogym.wrappers.stack import Stack
from neurogym.wrappers.tasks import Traits


@runtime_checkable
class _Seeded(Protocol):
    """Duration with a random generator of the same object."""

    def seed(self, seed: int) -> object: ...


class TaskDefinition(SingleTrial):
    """Arguments and hooks of a task, and the start of a session; :class:`neurogym.core.TrialEnv` steps the trials.

    Arguments, and attributes for users, are explained at :class:`neurogym.core.TrialEnv`.

    Attributes:
        ahead: The trials made in advance.
        top: Source of new trials: the task, or the outermost :class:`TrialWrapper` around it.
        most_ahead: Most trials to make in advance; None: what fits into memory.
        last: ``info`` of the trial that ended last in this session, None if none did.
        num_finished: Trials that ended in this session.
        num_tr: Trials that began in this session.
        next_by_itself: Whether the step that ends a trial begins the next one.
        one_by_one: Whether trials are described one at a time.
    """

    remakes = True
    derived: ClassVar[tuple[str, ...]] = ("ahead", "top", "_stack", "_seen")
    rule: ClassVar[Rule | None] = None
    r_tmax: float
    abort: bool
    most_ahead: ClassVar[int | None] = None
    next_by_itself: bool = True
    one_by_one: ClassVar[bool] = False

    def __init__(
        self,
        dt: float = 100,
        num_trials_before_reset: int = 10_000_000,
        r_tmax: float = 0,
        rewards: Mapping[str, object] | None = None,
        timing: Mapping[str, object] | None = None,
        abort: bool = False,
    ):
        super().__init__(dt)
        self.ahead = PreparedTrials()
        self.top: Any = self
        self._stack: Stack | None = None
        self.last: Info | None = None
        self.num_tr = self.num_finished = 0
        self._last_gt: Action | None = None
        self._seen: TrialSoFar | None = None
        self._is_settled = True  # whether the rule has been applied to the trial that wrappers began
        self._made_ahead = False  # whether the block may have been made before the agent acted
        self.num_tr_exp = num_trials_before_reset
        self.r_tmax = r_tmax
        self.abort = abort
        self.rewards = self._merged("reward", self.default_rewards, rewards)
        self.timing = self._merged("period", self.default_timing, timing)
        for spec in self.timing.values():
            Distribution.of(spec)

    @staticmethod
    def _merged(kind: str, default: Mapping[str, object], changes: Mapping[str, object] | None) -> dict[str, object]:
        for name in changes or ():
            if default and name not in default:
                warn_once(unknown(kind, name, default), "it is not used")
        return {**default, **(changes or {})}

    # -- what can be done with the task -------------------------------------------------------------------------------

    @property
    def traits(self) -> Traits:
        """Capabilities of the task without wrappers."""
        ahead = not self.one_by_one and not self.is_adaptive
        batched = self.rule is not None and not self.overrides_step
        return Traits(ahead, batched, bool(self.metadata.get("history_dependent", False)))

    @property
    def overrides_step(self) -> bool:
        """Whether the task programs ``_step`` or ``post_step``."""
        return type(self)._step is not TaskDefinition._step or type(self).post_step is not TaskDefinition.post_step

    @property
    def is_adaptive(self) -> bool:
        """Whether what a trial is like depends on what the agent did before; then no trial is made ahead."""
        return type(self).trial_ended is not TaskDefinition.trial_ended

    @property
    def observation_depends_on_step(self) -> bool:
        """Whether observations depend on the steps of the trial, such as on the periods to which actions lead."""
        return self.rule is not None and bool(self.rule.jumps)

    @property
    def trials_per_session(self) -> int | None:
        """Number of trials per session, if the task itself starts new sessions."""
        return None

    @property
    def most_steps(self) -> float:
        """Longest trial of a task with jumps, in steps."""
        return self.rule.patience / self.dt if self.rule else inf

    @property
    def wrappers(self) -> list[TrialWrapper]:
        """The wrappers that act on the task's trials, innermost first."""
        return self.stack.wrappers

    @property
    def stack(self) -> Stack:
        """The wrappers, taken together."""
        if self._stack is None:
            self._stack = Stack(self.top)
        return self._stack

    def set_top(self, wrapper: gym.Env) -> None:
        """Make ``wrapper`` the source of new trials; called when a :class:`TrialWrapper` is added."""
        self.top, self._stack, self._made_ahead = wrapper, None, False
        self.ahead.restart()

    def use(self, wrapper: gym.Env) -> None:
        """Make the hooks of the stepped stack the active hooks, if a task is wrapped by several stacks."""
        if wrapper is not self.top and wrapper not in layers(self.top):
            self.set_top(wrapper)

    # -- hooks of tasks -----------------------------------------------------------------------------------------------

    def _new_trials(self, trials: Trials) -> None:
        """Describe ``trials.n`` trials: draw conditions, add periods, observations and ground truth."""
        raise NotImplementedError(f"{type(self).__name__} must define _new_trials, _new_trial or new_trial")

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

    def _step(self, action: Any) -> StepResult:
        """Effect of an action at the current row. The default applies the declared rule."""
        if self.cursor.tables is None:
            raise NotImplementedError("the task must define _step or declare a rule")
        event, reward, gained = (table.item(self.cursor.row, action) for table in self.cursor.tables)
        self.report(event & OUTCOME)
        self.performance += gained
        return self.ob_now, reward, False, False, {"new_trial": event >= END}

    def break_fixation(self) -> tuple[float, bool]:
        """Report a break of fixation in ``_step``; return the reward and whether the trial ends."""
        self.report(ABORT)
        return self.rewards["abort"], self.abort

    def answer(self, right: bool) -> tuple[float, bool]:
        """Report the answer that ends the trial in ``_step``; return the reward and True."""
        self.performance = float(right)
        self.report()
        return self.rewards["correct" if right else "fail"], True

    def next_trial_depends_on(self) -> Hashable:
        """Part of the session's state on which the next trial depends, as a hashable value; None if undeclared.

        Worth saying of a task that follows the agent: in a batch, tasks that are equal in it describe their next trials
        together. ``_new_trials`` is then asked once, of one of them, for one trial of each; what it draws comes from
        ``trials.rng`` (or ``trials.draw``, ...), with a first axis that is the trial. What it takes from
        ``trials.per_trial`` may differ among them.
        """
        return None

    def post_step(self, ob: np.ndarray, reward: float, terminated: bool, truncated: bool, info: Info) -> StepResult:
        """Last word on what ``step`` returns; the observation is already that of the next row."""
        return ob, reward, terminated, truncated, info

    def trial_ended(self, info: Info) -> None:
        """Called when a trial has ended, before the next is made; overriding this hook makes a task adaptive.

        Args:
            info: What ``step`` returns of the trial.
        """

    def start_session(self) -> None:
        """Called by every ``reset``: forget blocks, counters and whatever else was carried across trials."""

    @property
    def choices(self) -> Sequence[object] | np.ndarray:
        """Values that the ground truth can take.

        Raises:
            AttributeError: If the task has no finite set of them.
        """
        if "_choices" in self.__dict__:
            return self._choices
        values = self.conditions.get("ground_truth")
        if values is None or isinstance(values, Distribution):
            raise AttributeError(f"{type(self).__name__} has no choices (no finite ground truth)")
        return np.asarray(values)

    @choices.setter
    def choices(self, values: Sequence[object] | np.ndarray) -> None:
        self._choices = values

    def oracle(self) -> Action:
        """The best action at the current row: the ground truth, unless a task knows better."""
        return self.gt_now

    def ceiling(self) -> Score | None:
        """Score of the ideal observer with the present parameters, given the inputs that this observer needs.

        That of a stack with wrappers is :func:`neurogym.ceilings.ceiling`.

        Returns:
            ``performance``, ``reward``, ``error`` (Monte-Carlo standard error) and ``method``, or None.
        """
        return scores.score("ceiling of a task", self)

    def chance(self) -> dict[str, float]:
        """``performance`` and ``reward`` per trial of an agent that draws every action uniformly."""
        return scores.score("chance", self)

    def length_is_fixed(self) -> bool:
        """Whether every trial has the same length."""
        return all(Distribution.of(spec).kind == "constant" for spec in self.timing.values())

    # -- trials -------------------------------------------------------------------------------------------------------

    def check_conditions(self, requested: Mapping[str, object]) -> None:
        """Refuse what cannot be asked of a trial; warn of what the task does not draw.

        Raises:
            ValueError: If no trial can be made with a value.
        """
        for name, value in requested.items():
            if name not in self.conditions:
                warn_once(unknown("trial condition", name, self.conditions), "it is only put into the record")
                continue
            values = self.conditions[name]
            if not is_possible(value, values):
                text = f"trial condition {name}={value!r} is not drawn by the task, expected one of {values}"
                listed = isinstance(values, (Patterns, Vectors)) or not is_number(next(iter(values), 0))
                if (listed and not isinstance(values, Distribution)) or not is_number(value):
                    raise ValueError(text)
                warn_once(text, "it is used as it is")

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

    def act_by_program(self, row: int, action: Action) -> tuple[int, float, StepInfo]:
        """Effect of an action at a row of the current trial by ``_step``; see :meth:`neurogym.core.TrialEnv.act_at`."""
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

    def forget_trials_ahead(self) -> None:
        """Discard trials made ahead; called when a parameter has changed."""
        self.ahead.drop()

    # -- sessions -----------------------------------------------------------------------------------------------------

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

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None, **old: object) -> ResetResult:
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

    def __str__(self) -> str:
        """``<TaskName>``."""
        return env_string(self, short=True)
