"""Wrappers as scripts write them: changes of observations in ``step``."""

from __future__ import annotations

import collections
import copy
from typing import Any

import gymnasium as gym
import numpy as np

#: Types of attributes that a step may change in place.
CHANGING = (list, dict, set, np.ndarray, collections.deque)


class _NoStep(gym.Wrapper):
    """Environment in which a step has no effect."""

    def __init__(self, env: gym.Env, ob: np.ndarray, info: dict[str, Any]):
        super().__init__(env)
        self._ob, self._info = ob, info

    def __getattr__(self, name: str) -> Any:
        """The attribute of the wrapped environment."""
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return self.env.get_wrapper_attr(name)

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
