"""Records that describe the trials of a block, as columns whose first axis is the trial."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.trials.layout import broadcast_to_trials

_SCALAR_TYPES = frozenset({bool, int, float, str, type(None)})


def varies(value: object, n: int) -> bool:
    """Whether a condition is an array with an entry per trial, rather than a value for all trials."""
    return isinstance(value, np.ndarray) and value.ndim > 0 and n > 1 and len(value) == n


def condition_column(value: Any, n: int) -> np.ndarray:
    """A condition as an array whose first axis is the trial."""
    if varies(value, n):
        return value
    if type(value) in _SCALAR_TYPES or (np.ndim(value) == 0 and not isinstance(value, (dict, set))):
        return broadcast_to_trials(n, value) if not isinstance(value, str) else np.array([value] * n)
    return np.fromiter([value] * n, object, n)


def entries(values: np.ndarray) -> list[Any]:
    """Convert a column to per-trial entries, with Python numbers for scalars."""
    if values.dtype != object:
        return values.tolist() if values.ndim == 1 else list(values)
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def is_scalar(value: np.ndarray) -> bool:
    """Whether each trial has a number or word, rather than an array, a tuple or a dictionary."""
    if value.ndim != 1:
        return False
    return value.dtype != object or not isinstance(value[0], (tuple, list, dict, np.ndarray))
