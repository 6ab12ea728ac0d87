"""Wrappers that act on trials."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, SupportsFloat

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from neurogym.compat.members import forgive_reset, passed_on
from neurogym.parameters.arguments import within_ranges
from neurogym.spaces import Action
from neurogym.trials import Info, ResetResult, Trials
from neurogym.wrappers.forwarding import Forwarding, layers, observed_by_step
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.tasks import task_of

#: Looks up a per-step field at the rows observed.
Field = Callable[[str], Any]
#: Last reward of an environment, or of each environment of a batch.
Reward = SupportsFloat | np.ndarray

_signature = functools.cache(inspect.signature)  # of constructors, needed in every environment of a batch


class OrderEnforcing(Forwarding, gym.wrappers.OrderEnforcing):
    """Gymnasium's wrapper that refuses ``step`` before ``reset``; ``new_trial`` may come before."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None, **old: object) -> ResetResult:
        """Start a session; see :meth:`neurogym.core.TrialEnv.reset`."""
        forgive_reset(old)
        return super().reset(seed=seed, options=options)


class TrialWrapper(Forwarding, gym.Wrapper, gym.utils.RecordConstructorArgs):
    """A wrapper that acts on trials.

    A wrapper declares in ``hooks`` what it does, and implements up to four hooks, each for many trials or environments
    at once: :meth:`plan` before trials are made, :meth:`revise` after, :meth:`observe` on every observation (or
    :meth:`appended`, if all the wrapper does is to append channels), and :meth:`trial_ended` after a trial. They are
    called in this order; ``plan`` from the outermost wrapper to the innermost, the others from the innermost outwards::

        class Clearer(TrialWrapper):
            hooks = Hooks(changes=("conditions",), follows_agent=True, history_dependent=True)

            def start_session(self):
                self.clear = False

            def trial_ended(self, info):
                self.clear = info["outcome"] != "correct"

            def plan(self, n, given):
                return {**given, "coh": np.full(n, 51.2)} if self.clear else given

    A stack of such wrappers also runs on a batch. A subclass may also override ``new_trial(**kwargs)``, ``step`` and
    ``reset`` in the ordinary way. Of a class without a declaration of its own (scripts), the most that the methods
    could do is assumed (:meth:`Hooks.assuming`).

    Attributes:
        hooks: The declaration; a constructor may replace the declaration of the instance.
        state: Names of attributes that change during a session, beyond those of base classes; a saved session has
            them. Of a class that lists none it has all.
        accepts: Conditions that ``plan`` takes for itself, from wrappers outside or from ``new_trial``.
        decides: Conditions that the wrapper determines; no other wrapper of the stack may.
        inside_of: Names of wrappers that must be put on after this one.
        task: The innermost environment.

    Raises:
        TypeError: If the innermost environment is not a :class:`TrialEnv`, or the class overrides a method whose effect
            the hooks do not declare.
        ValueError: If the wrapper does not fit the present stack; the message names the required order.
    """

    hooks: Hooks = Hooks()
    state: ClassVar[tuple[str, ...]]
    accepts: ClassVar[tuple[str, ...]] = ()
    decides: ClassVar[tuple[str, ...]] = ()
    inside_of: ClassVar[tuple[str, ...]] = ()
    task: Any
    ob = passed_on("task", "ob", "Observations of the current trial; what is assigned is what the agent gets to see.")
    gt = passed_on("task", "gt", "Ground truth of the current trial; assignable.")
    _shown_by: object = None  # where the stack only uses hooks: all of them at once, known after a reset

    def __init_subclass__(cls, **kwargs: object):
        """Check declared effects and ranges."""
        super().__init_subclass__(**kwargs)
        if "hooks" in vars(cls):
            cls.hooks.check(cls.__name__, set(vars(cls)))
        else:
            cls.hooks = cls.hooks.assuming(vars(cls))
        if "__init__" in vars(cls):
            cls.__init__ = within_ranges(vars(cls)["__init__"])  # type: ignore[method-assign]

    def __new__(cls, *args: object, **kwargs: object) -> TrialWrapper:
        """Keep the arguments, from which Gymnasium makes the stack again (``env.spec.make()``)."""
        self = super().__new__(cls)
        if args or kwargs:
            arguments = _signature(cls.__init__).bind(self, *args, **kwargs).arguments
            recorded = {name: value for name, value in arguments.items() if name not in ("self", "env")}
            gym.utils.RecordConstructorArgs.__init__(self, _disable_deepcopy=True, **recorded)
        return self

    def __init__(self, env: gym.Env):
        gym.Wrapper.__init__(self, env)
        self.task = task_of(env, type(self).__name__)
        self._check_order([layer for layer in layers(env) if isinstance(layer, TrialWrapper)])
        self.task.session.set_top(self)

    def _check_order(self, inner: list[TrialWrapper]) -> None:
        name = type(self).__name__
        for wrapper in inner:
            inner_name = type(wrapper).__name__
            for condition in set(self.decides) & set(wrapper.decides):
                raise ValueError(f"{name} and {inner_name} both decide {condition}: put only one of them on a task")
            if any(cls.__name__ in self.inside_of for cls in type(wrapper).__mro__):
                raise ValueError(f"{name} must be inside {inner_name}: put {name} on first, then {inner_name}")

    # -- hooks --------------------------------------------------------------------------------------------------------

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Conditions of the next ``n`` trials: ``conditions``, which comes from outer wrappers, with changes."""
        return conditions

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
        return append(ob, self.appended(action, reward, field)) if self.only_appends else ob

    def trial_ended(self, info: Info) -> None:
        """Called when a trial has ended, before the next is made: take note of what the agent did.

        Args:
            info: What ``step`` returns of the trial.
        """

    def start_session(self) -> None:
        """Called by every ``reset`` of the task: forget what was carried across trials."""

    # -- what follows from the declaration ----------------------------------------------------------------------------

    @property
    def only_appends(self) -> bool:
        """Whether the wrapper shows what :meth:`appended` returns, after the channels of the wrapped environment."""
        return type(self).observe is TrialWrapper.observe and type(self).appended is not TrialWrapper.appended

    @property
    def has_history_without(self) -> bool:
        """Whether the task, or another wrapper, makes a trial depend on earlier trials."""
        remaining = [wrapper for wrapper in self.task.session.wrappers if wrapper is not self]
        return self.task.traits.history_dependent or any(wrapper.hooks.history_dependent for wrapper in remaining)

    # -- the cycle ----------------------------------------------------------------------------------------------------

    def new_trial(self, **kwargs: object) -> Info:
        """Begin a new trial with some conditions fixed, and return the trial's record."""
        self.task.session.use(self)
        return self.env.get_wrapper_attr("new_trial")(**kwargs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None, **old: object) -> ResetResult:
        """Start a session; see :meth:`neurogym.core.TrialEnv.reset`."""
        forgive_reset(old)
        self.task.session.use(self)
        ob, info = self.env.reset(seed=seed, options=options)
        self._shown_by = self.task.session.shown_by(self)
        return self.first(ob, info), info

    def first(self, ob: np.ndarray, info: Info) -> np.ndarray:
        """First observation of a session as the agent sees it."""
        if self.hooks.own_step and not self.hooks.shows:
            return observed_by_step(self, ob, info, no_action(self.action_space))
        return self.observe(ob, no_action(self.action_space), 0.0, self.task.session.field)

    def step(self, action: Any) -> tuple[np.ndarray, Any, bool, bool, Info]:
        """Act; the observation passes through :meth:`observe`."""
        session = self.task.session
        if self._shown_by is None:
            ob, reward, terminated, truncated, info = self.env.step(action)
            return self.observe(ob, action, reward, session.field), reward, terminated, truncated, info
        if session.top is not self:  # several stacks around one task
            session.use(self)
        return session.step(action, self._shown_by)


def no_action(space: gym.Space[Any]) -> Any:
    """Stand-in for the last action before the first action: zero, or zeros."""
    return 0 if isinstance(space, gym.spaces.Discrete) else np.zeros(space.shape, space.dtype)


def append(ob: np.ndarray, extra: ArrayLike | SupportsFloat) -> np.ndarray:
    """Append channels to observations: ``extra`` has shape (..., k), or (...) for a single channel."""
    extra = np.asarray(extra)
    if extra.ndim < ob.ndim:
        extra = extra[..., None]
    return np.concatenate((ob, extra), axis=-1, dtype=ob.dtype, casting="unsafe")


def first_observation(env: gym.Env) -> np.ndarray:
    """Observation of the current row as a stack shows it at the start of a session."""
    if not isinstance(env, gym.Wrapper):
        return env.ob_now.copy()  # type: ignore[attr-defined]
    inner = first_observation(env.env)
    if isinstance(env, TrialWrapper):
        return env.first(inner, {})
    return env.observation(inner) if isinstance(env, gym.ObservationWrapper) else inner
