"""Validation of actions."""

from __future__ import annotations

import operator
from typing import Any

import gymnasium as gym
import numpy as np


def checked(action: Any, space: gym.Space, n_actions: int) -> Any:
    """Return an action in the form that tasks receive: an integer or an array.

    Args:
        action: What the agent gave.
        space: The action space.
        n_actions: Discrete actions below it are accepted.

    Raises:
        ValueError: If it is not in the action space.
    """
    if isinstance(space, gym.spaces.Discrete):
        try:
            number = operator.index(action)
        except TypeError:
            array = np.asarray(action)
            number = int(array.item()) if array.size == 1 and array.dtype.kind in "iub" else -1
        if 0 <= number < n_actions:
            return number
    elif isinstance(space, gym.spaces.Box):
        array = np.asarray(action)
        numbers = array.shape == space.shape and array.dtype.kind in "iubf"
        if numbers and ((space.low <= array) & (array <= space.high)).all():
            return array
    elif space.contains(action):
        return action
    raise ValueError(f"action {action!r} is not in {space}")
