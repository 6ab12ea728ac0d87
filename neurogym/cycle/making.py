"""Construction of trials: description by the task, changes by wrappers, and trials made in advance."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import inf
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from neurogym.compat.leniency import warn_once
from neurogym.messages.names import unknown
from neurogym.parameters import Changeable, Conditions, Table
from neurogym.rules import Rule
from neurogym.sampling.distributions import Distribution, Patterns, Vectors, is_number, is_possible
from neurogym.sampling.generator import Generators
from neurogym.trials import Info, Trials
from neurogym.trials.cursor import PreparedTrials
from neurogym.trials.layout import broadcast_to_trials
from neurogym.trials.single import SingleTrial
from neurogym.wrappers.base import Traits, TrialWrapper
from neurogym.wrappers.forwarding import layers
from neurogym.wrappers.stack import Stack

_SCALARS = frozenset({bool, int, float, str, type(None)})


class TrialMaker(Changeable, SingleTrial):
    """Construction of a task's trials, with or without wrappers.

    Args:
        dt: Time step in ms.

    Attributes:
        ahead: The trials made in advance.
        top: Source of new trials: the task, or the outermost :class:`TrialWrapper` around it.
        most_ahead: Most trials to make in advance; None: what fits into memory.
    """

    rule: ClassVar[Rule | None] = None
    rewards = Table()
    timing = Table()
    conditions = Table(Conditions)
    abort: bool
    most_ahead: ClassVar[int | None] = None
    _one_by_one: ClassVar[bool] = False  # whether trials are described one at a time

    def __init__(self, dt: float = 100):
        super().__init__(dt)
        self.timing = {}
        self.conditions = {}
        self.trial: Info = {}
        self.ahead = PreparedTrials()
        self.top: Any = self
        self._stack: Stack | None = None

    # -- what can be done with the task -------------------------------------------------------------------------------

    @property
    def traits(self) -> Traits:
        """Capabilities of the task without wrappers."""
        ahead = not self._one_by_one and not self.is_adaptive
        batched = self.rule is not None and not self.overrides_step
        return Traits(ahead, batched, bool(self.metadata.get("carries", False)))

    @property
    def is_adaptive(self) -> bool:
        """Whether what a trial is like depends on what the agent did before."""
        raise NotImplementedError

    @property
    def overrides_step(self) -> bool:
        """Whether the task overrides the step."""
        raise NotImplementedError

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
        return self._make_as_asked(n, given, answered=True)

    def make_raw_trials(self, n: int, given: Mapping[str, Any]) -> Trials:
        """:meth:`make_trials` for trials that are only shown: the consequences of actions are not computed."""
        return self._make_as_asked(n, given, answered=False)

    def _make_as_asked(self, n: int, given: Mapping[str, Any], answered: bool) -> Trials:
        theirs = self.taken_by_wrappers()
        if given and not self._one_by_one:
            for name in given.keys() - theirs:
                value = given[name]
                for one in np.unique(value) if _varies(value, n) and np.ndim(value) == 1 else [value]:
                    self.check_conditions({name: one})
        columns = {name: _per_trial(value, n) for name, value in given.items()}
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
            answered: Whether to work out what actions earn, which only trials that are stepped need.
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
        says = type(self).next_trial_depends_on is not TrialMaker.next_trial_depends_on
        if not says or self._one_by_one or not self.stack.only_shows:
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
        outer, self._described = self._described, trials
        try:
            self.trial = {}
            record = self._new_trial(**asked)
            self.trial = self.trial if record is None else record
        finally:
            self._described = outer
        trials.info = {name: _per_trial(value, 1) for name, value in (self.trial or {}).items()}

    def make_ahead(self) -> Trials:
        """Make the next trials of the session and store the block in ``ahead``."""
        return self.ahead.make(self.make_trials, self.most_ahead)

    def forget_trials_ahead(self) -> None:
        """Discard trials made ahead; called when a parameter has changed."""
        self.ahead.drop()


def _varies(value: Any, n: int) -> bool:
    """Whether a condition is an array with an entry per trial, rather than a value for all trials."""
    return isinstance(value, np.ndarray) and value.ndim > 0 and n > 1 and len(value) == n


def _per_trial(value: Any, n: int) -> np.ndarray:
    """A condition as an array whose first axis is the trial."""
    if _varies(value, n):
        return value
    if type(value) in _SCALARS or (np.ndim(value) == 0 and not isinstance(value, (dict, set))):
        return broadcast_to_trials(n, value) if not isinstance(value, str) else np.array([value] * n)
    array = np.empty(n, dtype=object)
    for i in range(n):
        array[i] = value
    return array
