"""Records that describe the trials of a block, as columns whose first axis is the trial."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.trials.events import Info
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


class Records:
    """Records of the trials of a block, for access in sequence.

    Args:
        columns: Name to array whose first axis is the trial.
        n: Number of trials.

    Attributes:
        first: Record of the first trial.
        varying: Names and entries of what differs between trials.
    """

    def __init__(self, columns: dict[str, np.ndarray], n: int):
        entries = {name: _entries(values) for name, values in columns.items()}
        self.first = {name: values[0] for name, values in entries.items()}
        differ = [name for name, values in columns.items() if n > 1 and _differ(values)]
        self.varying = [(name, entries[name]) for name in differ]

    def of_trial(self, k: int) -> Info:
        """Record of trial ``k``."""
        record = self.first.copy()
        for name, values in self.varying:
            record[name] = values[k]
        return record


def _differ(values: np.ndarray) -> bool:
    """Whether trials need individual entries because values differ or are not scalars."""
    return values.dtype == object or values.ndim > 1 or bool((values != values[0]).any())


def _entries(values: np.ndarray) -> list[Any]:
    """Convert a column to per-trial entries, with Python numbers for scalars."""
    if values.dtype != object:
        return values.tolist() if values.ndim == 1 else list(values)
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def is_scalar(value: np.ndarray) -> bool:
    """Whether each trial has a number or word, rather than an array, a tuple or a dictionary."""
    if value.ndim != 1:
        return False
    return value.dtype != object or not isinstance(value[0], (tuple, list, dict, np.ndarray))
