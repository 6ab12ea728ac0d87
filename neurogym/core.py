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

from collections.abc import Mapping, Sequence

import numpy as np

from neurogym import scores
from neurogym.ceilings.effects import ObserverSettings
from neurogym.compat.leniency import warn_once
from neurogym.compat.one_trial import OneTrial, env_string
from neurogym.compat.programmed import ProgrammedSteps
from neurogym.engine.stepping import Stepping
from neurogym.messages.names import unknown
from neurogym.parameters import BaseEnv
from neurogym.sampling.distributions import Distribution, Patterns, Vectors, is_number, is_possible
from neurogym.scores import Score
from neurogym.spaces import Action
from neurogym.trials import InvalidOperationError
from neurogym.wrappers.base import OrderEnforcing, TrialWrapper, no_action
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.tasks import Traits

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


class TrialEnv(ProgrammedSteps, OneTrial):
    """An environment made of trials, and trials made of periods.

    At step t the agent sees row t of the trial and acts; the reward and ``info`` returned belong to that row. The step
    that ends a trial reports it and returns row 0 of the next one. :mod:`neurogym.engine` makes and steps the trials.

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

    def __init_subclass__(cls, **kwargs: object):
        """Treat ``new_trial`` in a subclass like ``_new_trial``."""
        super().__init_subclass__(**kwargs)
        if "adaptive" in cls.__dict__:
            raise TypeError(f"{cls.__name__}: adaptive is not declared any more; override trial_ended instead")
        if "new_trial" in cls.__dict__:
            cls._new_trial = cls.__dict__["new_trial"]  # type: ignore[method-assign]
            del cls.new_trial
        if "_new_trial" in cls.__dict__:
            cls.one_by_one = True
        elif "_new_trials" in cls.__dict__:
            cls.one_by_one = False

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
    def is_adaptive(self) -> bool:
        """Whether what a trial is like depends on what the agent did before; then no trial is made ahead."""
        return type(self).trial_ended is not Stepping.trial_ended

    @property
    def observation_depends_on_step(self) -> bool:
        """Whether observations depend on the steps of the trial, such as on the periods to which actions lead."""
        return self.rule is not None and bool(self.rule.jumps)

    @property
    def trials_per_session(self) -> int | None:
        """Number of trials per session, if the task itself starts new sessions."""
        return None

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

    @property
    def ideal_observer(self) -> ObserverSettings | None:
        """Settings by which an ideal observer is made from the task's own noise-free trials; None if it cannot be."""
        return None

    def closed_form(self) -> Score | None:
        """Ceiling with the present parameters if it is known from a formula, with rewards of correct and wrong answers.

        Rewards that make it better to skip a trial are taken into account by :meth:`ceiling`.
        """
        return None

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

    def __str__(self) -> str:
        """``<TaskName>``."""
        return env_string(self, short=True)


PeriodEnv = EpochEnv = TrialEnv
