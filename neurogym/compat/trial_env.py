"""Tasks in NeuroGym's style: trials described one at a time, steps programmed in ``_step``, names of old scripts.

A class that defines ``_new_trial`` or ``_step`` is served by :class:`TrialEnv` here, whichever way it is imported. The
names that only old scripts use are found on every task, but tasks that declare do not inherit them.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from neurogym import core
from neurogym.compat.members import five_values, passed_on
from neurogym.compat.one_trial import OneTrial
from neurogym.parameters.changes import arguments_of
from neurogym.sampling.distributions import Distribution
from neurogym.sampling.generator import LegacyGenerator, generator_of
from neurogym.spaces import Action
from neurogym.trials import Info, InvalidOperationError, StepResult
from neurogym.trials.events import ABORT, END, MISS, NONE, OUTCOME, StepInfo, outcome_of


class _Now(enum.Enum):
    """Placeholder for the next observation, which tasks of older versions return from ``_step``."""

    NOW = enum.auto()


NOW: Any = _Now.NOW


class TrialEnv(OneTrial, original=True):
    """A task that programs its steps, or describes one trial at a time.

    The engine calls ``_step`` in place of looking up tables.

    Attributes:
        performance: Performance in the trial so far.
        r_tmax: Reward added when a trial runs out.
        no_rt: Reaction time of a trial without a response.
        overrides_step: Whether the task programs ``_step`` or ``post_step``.
        shapes_steps: Whether the task programs ``post_step``.
    """

    r_tmax: float = 0
    no_rt: float | None = float("nan")
    overrides_step: ClassVar[bool] = False
    shapes_steps: ClassVar[bool] = False

    cursor, wrappers, stack, last = (passed_on("session", name) for name in ("cursor", "wrappers", "stack", "last"))
    num_tr, num_finished = passed_on("session", "num_tr"), passed_on("session", "num_finished")
    performance, event = passed_on("session", "performance"), passed_on("session", "event")
    trial_aborts, trial_choice = passed_on("session", "trial_aborts"), passed_on("session", "trial_choice")
    trial_reward, this_trial = passed_on("session", "trial_reward"), passed_on("session", "this_trial")
    arguments = arguments_of
    num_tr_exp = property(lambda task: arguments_of(task)["num_trials_before_reset"])
    is_adaptive = property(lambda task: task.traits.follows_agent, doc="Older name of ``traits.follows_agent``.")

    @property
    def rng(self) -> LegacyGenerator:
        """Random generator of the environment, with the method names of the old ``RandomState`` as well; settable."""
        return LegacyGenerator(self.np_random)

    @rng.setter
    def rng(self, generator: object) -> None:
        self.np_random = generator_of(generator)

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Start the generator and the action space from ``seed``; ``reset(seed=seed)`` does the same and more."""
        if seed is None:
            self.np_random = np.random.default_rng()
        else:
            gym.Env.reset(self, seed=seed)
        if self.action_space is not None:  # an old constructor may seed before it makes the spaces
            self.action_space.seed(seed)
        return [seed]

    @property
    def choices(self) -> Sequence[object] | np.ndarray:
        """Values that the ground truth can take.

        Raises:
            AttributeError: If the task has no finite set of them.
        """
        if "_choices" in vars(self):
            return self._choices
        values = self.conditions.get("ground_truth")
        if values is None or isinstance(values, Distribution):
            raise AttributeError(f"{type(self).__name__} has no choices (no finite ground truth)")
        return np.asarray(values)

    @choices.setter
    def choices(self, values: Sequence[object] | np.ndarray) -> None:
        self._choices = values

    @property
    def gt_now(self) -> Action:
        """Ground truth at the current row."""
        cursor = self.session.cursor
        if cursor.gt is None:
            raise AttributeError(f"{type(self).__name__} has no ground truth")
        return cursor.gt[cursor.row]

    # -- steps --------------------------------------------------------------------------------------------------------

    def _step(self, action: Any) -> StepResult:
        """Effect of an action at the current row. The default applies the declared rule."""
        if self.session.cursor.tables is None:
            raise NotImplementedError("the task must define _step or declare a rule")
        event, reward, gained = (table.item(self.session.cursor.row, action) for table in self.session.cursor.tables)
        self.report(event & OUTCOME)
        self.performance += gained
        return self.ob_now, reward, False, False, {"new_trial": event >= END}

    @property
    def ob_now(self) -> np.ndarray:
        """The observation that the agent acts on next.

        In ``_step`` that is the next row of the trial (the last, if there is no other). Returned from ``_step`` as it
        is, it stands for whatever comes next; after the end of a trial, for the first row of the next one.
        """
        session, cursor = self.session, self.session.cursor
        if cursor.block is None:
            raise InvalidOperationError("there is no trial yet: call reset() or new_trial() first")
        if not session.in_program:
            return cursor.ob[cursor.row]
        if session.ob_now is None:
            session.ob_now = cursor.ob[cursor.row + (not cursor.at_end)]
        return session.ob_now

    def post_step(self, ob: np.ndarray, reward: float, terminated: bool, truncated: bool, info: Info) -> StepResult:
        """Last word on what ``step`` returns; the observation is already that of the next row."""
        return ob, reward, terminated, truncated, info

    def report(self, event: int | None = None) -> None:
        """Report the outcome of the step, in tasks that override ``_step``.

        Args:
            event: A constant of :mod:`neurogym.rules`; by default correct or an error, as the performance so far says.
        """
        session = self.session
        session.event = int(outcome_of(session.performance)) if event is None else event
        session.trial_aborts += event == ABORT

    def choose(self, choice: Action) -> None:
        """Record the choice of the trial now; otherwise the choice is the action that ends the trial."""
        session = self.session
        session.trial_choice = choice, session.cursor.step

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
        session = self.session
        cursor = session.cursor
        cursor.row = row
        session.event, session.ob_now, session.in_program = NONE, None, True
        try:
            result = self._step(action)
        finally:
            session.in_program = False
        if type(result) is not tuple or len(result) != 5:
            result = five_values(result, self)
        ob, reward, terminated, truncated, info = result
        ended, event = bool(info.setdefault("new_trial", False)), session.event
        if self.rule is None:  # a rule has added it in its tables
            bonus = cursor.block.bonus  # type: ignore[union-attr]  # a trial is on
            reward += bonus.item(cursor.trial) if isinstance(bonus, np.ndarray) else bonus
        if not ended and cursor.row + 1 >= cursor.end:
            ended = info["new_trial"] = True
            reward += self.r_tmax
            event = event or MISS
        session.trial_reward += reward
        if ended and (event == NONE or (event == MISS and session.performance >= 0.5)):
            event = int(outcome_of(session.performance))
        now = session.ob_now
        if ob is NOW or (now is not None and (ob is now or (ended and np.array_equal(ob, now)))):
            ob = None  # type: ignore[assignment]
        programmed = tuple.__new__(StepInfo, (ob, terminated, truncated, info))  # half the time of StepInfo(...)
        return event + END * ended, reward, programmed


class BaseEnv(gym.Env):
    """NeuroGym's environment without trials: a time step and a generator.

    Args:
        dt: Time step in ms.
    """

    rng, seed = TrialEnv.rng, TrialEnv.seed

    def __init__(self, dt: float = 100):
        self.dt = dt


PeriodEnv = EpochEnv = core.TrialEnv


def serve(cls: type) -> None:
    """Let a class that defines methods of NeuroGym's tasks derive from :class:`TrialEnv` here."""
    own = dict(vars(cls))
    if not issubclass(cls, TrialEnv):
        bases = tuple(TrialEnv if base is core.TrialEnv else base for base in cls.__bases__)
        cls.__bases__ = bases if TrialEnv in bases else (*bases, TrialEnv)
    served: Any = cls
    if "new_trial" in own:
        served.take_new_trial()
    served.one_by_one = not own.keys().isdisjoint(("new_trial", "_new_trial")) or (
        "_new_trials" not in own and served.one_by_one
    )
    served.shapes_steps = served.post_step is not TrialEnv.post_step
    served.overrides_step = served.shapes_steps or served._step is not TrialEnv._step


#: Members of NeuroGym's environments, by name, that tasks without its style do not inherit.
_OLDER = {
    name: member
    for base in reversed(TrialEnv.__mro__[: TrialEnv.__mro__.index(core.TrialEnv)])
    for name, member in vars(base).items()
    if member is not None and not name.startswith("__")
}


def older_member(task: core.TrialEnv, name: str) -> Any:
    """Member of NeuroGym's environments, of a task that does not inherit it.

    Raises:
        AttributeError: If there is none of this name, or its value cannot be known.
    """
    own = getattr(type(task), name, None)
    if isinstance(own, property) and own.fget is not None:
        return own.fget(task)  # raises the error for which the attribute was not found
    if name not in _OLDER or isinstance(task, TrialEnv):
        raise AttributeError(f"{type(task).__name__!r} object has no attribute {name!r}")
    member: Any = _OLDER[name]
    return member.__get__(task, type(task)) if hasattr(member, "__get__") else member


def set_older_member(task: core.TrialEnv, name: str, value: Any) -> None:
    """Set one of the members in ``core.SETTABLE`` of a task that does not inherit it."""
    getattr(TrialEnv, name).__set__(task, value)


core.original_style = sys.modules[__name__]
