"""Wrappers that act on trials."""

from __future__ import annotations

import collections
import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, SupportsFloat

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from neurogym.compat.members import forgive_reset
from neurogym.parameters.arguments import within_ranges
from neurogym.spaces import Action
from neurogym.trials import Info, ResetResult, StepResult, Trials
from neurogym.wrappers.forwarding import Forwarding, inside, layers
from neurogym.wrappers.tasks import Traits, task_of

#: Types of attributes that a step may change in place.
CHANGING = (list, dict, set, np.ndarray, collections.deque)

#: Looks up a per-step field at the rows observed.
Field = Callable[[str], Any]
#: Last reward of an environment, or of each environment of a batch.
Reward = SupportsFloat | np.ndarray

_signature = functools.cache(inspect.signature)  # of constructors, needed in every environment of a batch


class OrderEnforcing(Forwarding, gym.wrappers.OrderEnforcing):
    """Gymnasium's wrapper that refuses ``step`` before ``reset``; ``new_trial`` may come before."""

    was_reset = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None, **old: object) -> ResetResult:
        """Start a session; see :meth:`neurogym.core.TrialEnv.reset`."""
        forgive_reset(old)
        self.was_reset = True
        return super().reset(seed=seed, options=options)

    def step(self, action: Action) -> StepResult:
        """Act, after a reset."""
        if not self.was_reset:
            raise gym.error.ResetNeeded("Cannot call env.step() before calling env.reset()")
        return self.env.step(action)  # type: ignore[return-value]


class TrialWrapper(Forwarding, gym.Wrapper, gym.utils.RecordConstructorArgs):
    """A wrapper that acts on trials.

    It may define any of these hooks, each for many trials or environments at once: :meth:`plan` before trials are made,
    :meth:`revise` after, :meth:`observe` on every observation (or :meth:`appended`, if all it does is to append
    channels). A stack that uses only these also runs on a batch. :meth:`trial_ended` reports the agent's behaviour.
    A subclass may also override ``new_trial(**kwargs)``, ``step`` and ``reset`` in the ordinary way.

    What can be done with the wrapper, its :attr:`traits`, follows from what it overrides; nothing is declared.

    Attributes:
        accepts: Conditions that ``plan`` takes for itself, from wrappers outside or from ``new_trial``.
        decides: Conditions that the wrapper determines; no other wrapper of the stack may.
        inside_of: Names of wrappers that must be put on after this one.
        task: The innermost environment.

    Raises:
        TypeError: If the innermost environment is not a :class:`TrialEnv`.
        ValueError: If the wrapper does not fit the present stack; the message names the required order.
    """

    accepts: ClassVar[tuple[str, ...]] = ()
    decides: ClassVar[tuple[str, ...]] = ()
    inside_of: ClassVar[tuple[str, ...]] = ()
    _shown_by: object = None  # where the stack only uses hooks: all of them at once, known after a reset

    def __init_subclass__(cls, **kwargs: object):
        """Check declared ranges; refuse declarations of earlier versions, which would silently have no effect."""
        super().__init_subclass__(**kwargs)
        for name, method in (("adaptive", "trial_ended"), ("carries", "links_trials")):
            if name in vars(cls):
                raise TypeError(f"{cls.__name__}: {name} is not declared any more; override {method} instead")
        if "__init__" in vars(cls):
            cls.__init__ = within_ranges(vars(cls)["__init__"])  # type: ignore[method-assign]

    def __new__(cls, *args: object, **kwargs: object) -> TrialWrapper:
        """Keep the arguments, from which Gymnasium makes the stack again (``env.spec.make()``)."""
        self = super().__new__(cls)
        if args or kwargs:
            arguments = _signature(cls.__init__).bind(self, *args, **kwargs).arguments
            self._saved_kwargs = {name: value for name, value in arguments.items() if name not in ("self", "env")}
        return self

    def __init__(self, env: gym.Env):
        gym.Wrapper.__init__(self, env)
        self.task = task_of(env, type(self).__name__)
        self._check_order([layer for layer in layers(env) if isinstance(layer, TrialWrapper)])
        self.task.set_top(self)

    def _check_order(self, inner: list[TrialWrapper]) -> None:
        name = type(self).__name__
        for other in inner:
            its = type(other).__name__
            for condition in set(self.decides) & set(other.decides):
                raise ValueError(f"{name} and {its} both decide {condition}: put only one of them on a task")
            if any(cls.__name__ in self.inside_of for cls in type(other).__mro__):
                raise ValueError(f"{name} must be inside {its}: put {name} on first, then {its}")

    # -- hooks --------------------------------------------------------------------------------------------------------

    def plan(self, n: int, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Conditions of the next ``n`` trials: ``given``, which comes from outer wrappers, with changes."""
        return given

    def revise(self, trials: Trials) -> None:
        """Change trials that were just made: periods, observations, ground truth, rewards."""

    def appended(self, action: Action, reward: Reward, field: Field) -> ArrayLike | SupportsFloat:
        """Channels that the wrapper appends to the observation(s); arguments as in :meth:`observe`.

        Returns:
            Shape (channels,) or (environments, channels); for one channel the last axis may be left out.
        """
        raise NotImplementedError

    def observe(self, ob: np.ndarray, action: Action, reward: Reward, field: Field) -> np.ndarray:
        """Return the observation(s) as the agent sees them.

        Args:
            ob: Shape of an observation, or (environments, and that of one).
            action: Last action(s), zeros after a reset.
            reward: Last reward(s), zero after a reset.
            field: Looks up a per-step field of the trials at the row(s) observed; ``"last_gt"`` is the ground truth of
                the row(s) acted on before, zeros after a reset.
        """
        return append(ob, self.appended(action, reward, field)) if self.overrides("appended") else ob

    def trial_ended(self, info: Info) -> None:
        """Called when a trial has ended, before the next is made: take note of what the agent did.

        Args:
            info: What ``step`` returns of the trial.
        """

    def start_session(self) -> None:
        """Called by every ``reset`` of the task: forget what was carried across trials."""

    # -- what it does -------------------------------------------------------------------------------------------------

    @classmethod
    def overrides(cls, *names: str) -> bool:
        """Whether the class overrides any of the named methods."""
        return any(getattr(cls, name) is not getattr(TrialWrapper, name) for name in names)

    @property
    def traits(self) -> Traits:
        """Capabilities of the wrapper."""
        ahead = not self.is_adaptive and not self.overrides("new_trial")
        batched = not self.overrides("step", "reset", "new_trial")
        if self.is_adaptive:  # it may show what its own environment has done, and a batch asks one wrapper for all
            batched = batched and not self.overrides("observe", "appended")
        return Traits(ahead, batched, self.links_trials())

    @property
    def is_adaptive(self) -> bool:
        """Whether ``plan`` or ``revise`` depend on what the agent did."""
        return self.overrides("trial_ended")

    @classmethod
    def links_trials(cls) -> bool:
        """Whether the wrapper makes a trial depend on earlier trials, so that memory across trials is useful.

        By default True if it keeps state from trial to trial. A wrapper that only shows the agent its past (its last
        reward or action) does not.
        """
        return cls.overrides("start_session", "trial_ended")

    @property
    def earlier_trials_matter(self) -> bool:
        """Whether the task, or another wrapper, makes a trial depend on earlier trials."""
        others = [wrapper for wrapper in self.task.wrappers if wrapper is not self]
        return self.task.traits.links_trials or any(wrapper.links_trials() for wrapper in others)

    # -- the cycle ----------------------------------------------------------------------------------------------------

    @property
    def ob(self) -> np.ndarray:
        """Observations of the current trial; what is assigned is what the agent gets to see."""
        return self.task.ob

    @ob.setter
    def ob(self, value: ArrayLike) -> None:
        self.task.ob = value

    @property
    def gt(self) -> np.ndarray:
        """Ground truth of the current trial; assignable."""
        return self.task.gt

    @gt.setter
    def gt(self, value: ArrayLike) -> None:
        self.task.gt = value

    def new_trial(self, **kwargs: object) -> Info:
        """Begin a new trial with some conditions fixed, and return the trial's record."""
        self.task.use(self)
        return inside(self.env, "new_trial")(**kwargs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None, **old: object) -> ResetResult:
        """Start a session; see :meth:`neurogym.core.TrialEnv.reset`."""
        forgive_reset(old)
        self.task.use(self)
        ob, info = self.env.reset(seed=seed, options=options)
        self._shown_by = self.task.shown_by(self)
        return self.first(ob, info), info

    def first(self, ob: np.ndarray, info: Info) -> np.ndarray:
        """First observation of a session as the agent sees it.

        A wrapper that changes observations in ``step`` without overriding ``observe`` is called with a step that did
        nothing; its numbers, lists, dictionaries and arrays are then restored.
        """
        if not self.overrides("step") or self.overrides("observe", "appended"):
            return self.observe(ob, no_action(self.action_space), 0.0, self.task.field)
        before = {name: copy.deepcopy(v) if isinstance(v, CHANGING) else v for name, v in vars(self).items()}
        self.env = _NoStep(self.env, ob, {**info, "new_trial": False})
        try:
            return self.step(no_action(self.action_space))[0]
        finally:
            vars(self).clear()
            vars(self).update(before)

    def step(self, action: Any) -> tuple[np.ndarray, Any, bool, bool, Info]:
        """Act; the observation passes through :meth:`observe`."""
        task = self.task
        if self._shown_by is None:
            ob, reward, terminated, truncated, info = self.env.step(action)
            return self.observe(ob, action, reward, task.field), reward, terminated, truncated, info
        if task.top is not self:  # several stacks around one task
            task.use(self)
        return task.step(action, self._shown_by)


class _NoStep(Forwarding, gym.Wrapper):
    """Environment in which a step has no effect."""

    def __init__(self, env: gym.Env, ob: np.ndarray, info: Info):
        super().__init__(env)
        self._ob, self._info = ob, info

    def step(self, action: Action) -> StepResult:
        """Return the unchanged observation."""
        return self._ob, 0.0, False, False, self._info


def no_action(space: gym.Space) -> Any:
    """Stand-in for the last action before the first action: zero, or zeros."""
    return 0 if isinstance(space, gym.spaces.Discrete) else np.zeros(space.shape, space.dtype)


def append(ob: np.ndarray, extra: ArrayLike | SupportsFloat) -> np.ndarray:
    """Append channels to observations: ``extra`` has shape (..., k), or (...) for a single channel."""
    extra = np.asarray(extra)
    if extra.ndim < ob.ndim:
        extra = extra[..., None]
    wide = np.empty((*ob.shape[:-1], ob.shape[-1] + extra.shape[-1]), ob.dtype)
    wide[..., : ob.shape[-1]] = ob
    wide[..., ob.shape[-1] :] = extra
    return wide


def first_observation(env: gym.Env) -> np.ndarray:
    """Observation of the current row as a stack shows it at the start of a session."""
    if not isinstance(env, gym.Wrapper):
        return env.ob_now.copy()  # type: ignore[attr-defined]
    inner = first_observation(env.env)
    if isinstance(env, TrialWrapper):
        return env.first(inner, {})
    return env.observation(inner) if isinstance(env, gym.ObservationWrapper) else inner
