"""Whether two values of a parameter are alike."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np


def same(a: Any, b: Any, depth: int = 4) -> bool:
    """Whether two values are alike, as far as parameters go: generators and functions always are."""
    if a is b or (callable(a) and callable(b)) or isinstance(a, np.random.Generator):
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, float) and isinstance(b, float):
        return bool(a == b)  # one of them may be NumPy's
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key], depth - 1) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, depth - 1) for x, y in zip(a, b, strict=True))
    if depth and hasattr(a, "__dict__") and not isinstance(a, gym.Space):
        return same(vars(a), vars(b), depth - 1)
    return bool(a == b)
