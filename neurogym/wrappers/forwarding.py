"""Wrappers as scripts write them: attributes of the wrapped environment, changes of observations in ``step``."""

from __future__ import annotations

import collections
import copy
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from neurogym import scores
from neurogym.ceilings.effects import Effect, unknown
from neurogym.metadata import describe
from neurogym.scores import Score

#: Types of attributes that a step may change in place.
CHANGING = (list, dict, set, np.ndarray, collections.deque)


def layers(env: gym.Env) -> list[gym.Env]:
    """The wrappers of a stack, innermost first, without the task."""
    return [*layers(env.env), env] if isinstance(env, gym.Wrapper) else []


class Forwarding:
    """Public names that a wrapper lacks are looked up inside, as scripts for older Gymnasium expect.

    Attributes:
        ceiling_effect: What the wrapper does to the best possible score, whatever its arguments; None: not known.
    """

    ceiling_effect: ClassVar[Effect | None] = None

    def __init_subclass__(cls, **kwargs: object):
        """Add the description to the metadata."""
        super().__init_subclass__(**kwargs)
        describe(cls)

    def __getattr__(self, name: str) -> Any:
        """The attribute of the wrapped environment."""
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return self.env.get_wrapper_attr(name)

    def get_wrapper_attr(self, name: str) -> Any:
        """The attribute of this wrapper, or of the wrapped environment."""
        return getattr(self, name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Set an attribute on the outermost layer that defines the attribute.

        Args:
            name: Name of the attribute.
            value: The new value.
            force: Set the attribute on this wrapper if no layer defines the attribute.

        Returns:
            Whether the attribute was set.
        """
        defined = name in vars(self) or hasattr(type(self), name)
        if not defined and self.env.set_wrapper_attr(name, value, force=False):
            return True
        if defined or force:
            setattr(self, name, value)
        return defined or force

    def ceiling(self) -> Score | None:
        """Score of the ideal observer of this stack, if known; see :func:`neurogym.ceilings.ceiling`."""
        return scores.score("ceiling of a stack", self)

    def effect_on_ceiling(self) -> Effect:
        """Effect of the wrapper on the best possible score; unknown unless the wrapper declares an effect."""
        return self.ceiling_effect or unknown("it does not say what it does to the ceiling")


class _NoStep(Forwarding, gym.Wrapper):
    """Environment in which a step has no effect."""

    def __init__(self, env: gym.Env, ob: np.ndarray, info: dict[str, Any]):
        super().__init__(env)
        self._ob, self._info = ob, info

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Return the unchanged observation."""
        return self._ob, 0.0, False, False, self._info


def observed_by_step(wrapper: Any, ob: np.ndarray, info: dict[str, Any], action: Any) -> np.ndarray:
    """First observation of a session as shown by a wrapper that changes observations in ``step``.

    The wrapper is called with a step that did nothing; its numbers, lists, dictionaries and arrays are then restored.
    """
    before = {name: copy.deepcopy(v) if isinstance(v, CHANGING) else v for name, v in vars(wrapper).items()}
    wrapper.env = _NoStep(wrapper.env, ob, {**info, "new_trial": False})
    try:
        return wrapper.step(action)[0]
    finally:
        vars(wrapper).clear()
        vars(wrapper).update(before)
