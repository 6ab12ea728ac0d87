"""Hooks of a task, construction of trials with the changes of wrappers, and the start of a session."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import inf, nan
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np

from neurogym.compat.leniency import warn_once
from neurogym.compat.members import forgive_reset
from neurogym.messages.names import unknown
from neurogym.plotting.frames import TrialSoFar
from neurogym.rules import Rule
from neurogym.sampling.distributions import Distribution, Patterns, Vectors, is_number, is_possible
from neurogym.sampling.generator import Generators
from neurogym.trials import Info, ResetResult, Trials
from neurogym.trials.block import condition_column, varies
from neurogym.trials.cursor import PreparedTrials
from neurogym.trials.events import ABORT, NONE, outcome_of
from neurogym.trials.single import SingleTrial
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.forwarding import layers
from neurogym.wrappers.stack import Stack


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


class TrialMaker(SingleTrial):
    """Hooks of a task, construction of the trials, and start of a session; ``TrialCycle`` adds the steps.

    Args:
        dt: Time step in ms.

    Attributes:
        ahead: The trials made in advance.
        top: Source of new trials: the task, or the outermost :class:`TrialWrapper` around it.
        most_ahead: Most trials to make in advance; None: what fits into memory.
        event: Outcome of the last step (a constant of :mod:`neurogym.rules`).
        trial_aborts: Breaks of fixation in the current trial so far.
        trial_choice: The choice of the trial and its step, if :meth:`choose` was called.
        trial_reward: Sum of the rewards of the current trial so far.
        last: ``info`` of the trial that ended last in this session, None if none did.
        num_finished: Trials that ended in this session.
        num_tr: Trials that began in this session.
        next_by_itself: Whether the step that ends a trial begins the next one.
    """

    rule: ClassVar[Rule | None] = None
    remakes = True
    abort: bool
    most_ahead: ClassVar[int | None] = None
    next_by_itself: bool = True
    no_rt: float | None = nan  #: reaction time of a trial without a response
    _one_by_one: ClassVar[bool] = False  # whether trials are described one at a time

    def __init__(self, dt: float = 100):
        super().__init__(dt)
        self.trial: Info = {}
        self.ahead = PreparedTrials()
        self.top: Any = self
        self._stack: Stack | None = None
        self.event, self.trial_aborts, self.trial_reward = NONE, 0, 0.0
        self.trial_choice: tuple[Any, int] | None = None
        self.last: dict[str, Any] | None = None
        self.num_tr = self.num_finished = 0
        self._last_gt: Any = None
        self._seen: TrialSoFar | None = None
        self._made_ahead = False  # whether the block may have been made before the agent acted

    # -- what can be done with the task -------------------------------------------------------------------------------

    @property
    def is_adaptive(self) -> bool:
        """Whether what a trial is like depends on what the agent did before; then no trial is made ahead."""
        return type(self).trial_ended is not TrialMaker.trial_ended

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
        self.top, self._stack = wrapper, None
        self.ahead.restart()

    def use(self, wrapper: gym.Env) -> None:
        """Make the hooks of the stepped stack the active hooks, if a task is wrapped by several stacks."""
        if wrapper is not self.top and wrapper not in layers(self.top):
            self.set_top(wrapper)

    # -- hooks of tasks -----------------------------------------------------------------------------------------------

    def _new_trials(self, trials: Trials) -> None:
        """Describe ``trials.n`` trials: draw conditions, add periods, observations and ground truth."""
        raise NotImplementedError(f"{type(self).__name__} must define _new_trials, _new_trial or new_trial")

    def _new_trial(self, **kwargs: Any) -> Info | None:
        """Describe a single trial with ``self.add_period``, ``self.add_ob``, ...; return its record.

        A task that describes many trials at once inherits this; a subclass may call it by ``super()``.
        """
        trials = self.this_trial
        trials.given.update({name: np.array([value]) for name, value in kwargs.items()})
        self._new_trials(trials)
        return trials.record(0)

    def next_trial_depends_on(self) -> Hashable:
        """Part of the session's state on which the next trial depends, as a hashable value; None if undeclared.

        Worth saying of a task that follows the agent: in a batch, tasks that are equal in it describe their next trials
        together. ``_new_trials`` is then asked once, of one of them, for one trial of each; what it draws comes from
        ``trials.rng`` (or ``trials.draw``, ...), with a first axis that is the trial. What it takes from
        ``trials.per_trial`` may differ among them.
        """
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

    @property
    def choices(self) -> Any:
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
    def choices(self, values: Any) -> None:
        self._choices = values

    # -- making trials ------------------------------------------------------------------------------------------------

    def check_conditions(self, given: Mapping[str, Any]) -> None:
        """Refuse what cannot be asked of a trial; warn of what the task does not draw.

        Raises:
            ValueError: If no trial can be made with a value.
        """
        for name, value in given.items():
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

    def make_trials(self, n: int, **given: Any) -> Trials:
        """``n`` new trials, wrappers included, that are not stepped here: material for batches and data sets.

        Args:
            n: Number of trials.
            **given: Conditions, a value for all trials or an array (n,).

        Raises:
            ValueError: If no trial can be made with a value. Of an unknown condition, or a number that is not among its
                values, there is a warning.
        """
        return self.make(n, given)

    def make(self, n: int, given: Mapping[str, Any], answered: bool = True) -> Trials:
        """:meth:`make_trials` with conditions in a dictionary.

        Args:
            n: Number of trials.
            given: Conditions, a value for all trials or an array (n,).
            answered: Whether to compute the consequences of actions, which only trials that are stepped need.
        """
        theirs = self.taken_by_wrappers()
        if given and not self._one_by_one:
            for name in given.keys() - theirs:
                value = given[name]
                for one in np.unique(value) if varies(value, n) and np.ndim(value) == 1 else [value]:
                    self.check_conditions({name: one})
        columns = {name: condition_column(value, n) for name, value in given.items()}
        try:
            trials = self.make_checked(n, columns, answered)
        except (IndexError, KeyError) as error:
            raise ValueError(f"trials with {given!r} cannot be made: {error}") from error
        for name in columns:
            if name not in self.conditions and name not in theirs:
                trials.info.setdefault(name, columns[name])
        return trials

    def taken_by_wrappers(self) -> set[str]:
        """Conditions that a wrapper takes for itself."""
        accepts = self.stack.accepts
        return accepts.difference(self.conditions) if accepts else accepts

    def make_checked(self, n: int, given: dict[str, np.ndarray], answered: bool = True) -> Trials:
        """:meth:`make_trials` with conditions that have been checked.

        Args:
            n: Number of trials.
            given: Conditions, each an array (n,).
            answered: As in :meth:`make`.
        """
        stack, theirs = self.stack, self.taken_by_wrappers()
        plan = {name: value for name, value in given.items() if name in theirs}
        asked = {name: value for name, value in given.items() if name not in theirs}
        trials = Trials(self, n, {**stack.plan(n, plan), **asked})
        self._fill(trials, answered)
        return trials

    @property
    def can_make_together(self) -> bool:
        """Whether the next trials of several such tasks with equal parameters can be described at once."""
        is_declared = type(self).next_trial_depends_on is not TrialMaker.next_trial_depends_on
        if not is_declared or self._one_by_one or not self.stack.only_shows:
            return False
        return not any(callable(spec) for spec in self.timing.values())  # these may draw from generators of their own

    def make_together(self, tasks: Sequence[TrialMaker]) -> Trials:
        """Next trial of each of several tasks with equal parameters, described jointly.

        Args:
            tasks: Tasks that are equal in :meth:`next_trial_depends_on` and in all parameters.

        Returns:
            A block with one trial for each, the one that it would have made by itself.
        """
        trials = Trials(self, len(tasks))
        trials.owners, trials.rng = tasks, Generators([task.np_random for task in tasks])
        self._fill(trials, answered=True)
        return trials

    def _fill(self, trials: Trials, answered: bool) -> None:
        """Describe trials, apply the wrappers' changes, and compute the consequences of actions."""
        if not self._one_by_one:
            self._new_trials(trials)
        elif trials.n == 1:
            self._describe_one(trials)
        else:
            raise ValueError(f"{type(self).__name__} describes one trial at a time; make_trials(1) is the most")
        trials.rows()
        _ = trials.ob
        self.stack.revise(trials)
        if self.rule is not None and answered:
            self.rule.compile(trials, self.abort)
        elif self.rule is not None:
            self.rule.set_go(trials)
        trials.set_default_go()

    def _describe_one(self, trials: Trials) -> None:
        """Let the task describe a single trial."""
        asked = {name: value[0] for name, value in trials.given.items() if not name.startswith("period_")}
        trials.given = {name: value for name, value in trials.given.items() if name.startswith("period_")}
        outer, self.block_described = self.block_described, trials
        try:
            self.trial = {}
            record = self._new_trial(**asked)
            self.trial = self.trial if record is None else record
        finally:
            self.block_described = outer
        trials.info = {name: condition_column(value, 1) for name, value in (self.trial or {}).items()}

    def make_ahead(self) -> Trials:
        """Make the next trials of the session and store the block in ``ahead``."""
        return self.ahead.make(self.make_trials, self.most_ahead)

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
