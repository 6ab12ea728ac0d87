"""Sequences of a given length as possible values of a condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Patterns(Sequence[tuple[Any, ...]]):
    """Every tuple of ``length`` items out of ``values``, computed on access.

    Args:
        values: What each item can be.
        length: Items of a tuple.
        distinct: Whether no item may occur twice.

    >>> (0, 1, 1) in Patterns((0, 1), 3), len(Patterns((0, 1), 3)), Patterns((0, 1), 3)[-1]
    (True, 8, (1, 1, 1))
    """

    def __init__(self, values: Sequence[Any], length: int, distinct: bool = False):
        self.values, self.length, self.distinct = tuple(values), length, distinct

    def __len__(self) -> int:
        """Number of patterns."""
        factors = [len(self.values) - (i if self.distinct else 0) for i in range(self.length)]
        return int(np.prod(factors))

    def __getitem__(self, index: Any) -> Any:
        """The pattern at a position; the last item changes fastest."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} patterns, none at {index}")
        index, left, size, items = index % len(self), list(self.values), len(self), []
        for _ in range(self.length):
            size //= len(left)
            place, index = divmod(index, size)
            items.append(left.pop(place) if self.distinct else left[place])
        return tuple(items)

    def __contains__(self, pattern: Any) -> bool:
        """Whether ``pattern``, a sequence or an array, belongs to the set."""
        if np.shape(pattern) != (self.length,):
            return False
        items = list(pattern)
        return all(item in self.values for item in items) and (not self.distinct or len(set(items)) == len(items))

    def __repr__(self) -> str:
        """For messages about values that are not possible."""
        return f"any {self.length}{' different' if self.distinct else ''} of {self.values}"


class Vectors(Sequence[tuple[float, ...]]):
    """Every tuple of ``length`` numbers between two bounds; as a sequence: the two extreme tuples.

    Args:
        length: Numbers of a tuple.
        low: Smallest number.
        high: Largest number.

    >>> (0.2, 0.8) in Vectors(2, 0, 1), (0.2, 1.8) in Vectors(2, 0, 1)
    (True, False)
    """

    def __init__(self, length: int, low: float = -np.inf, high: float = np.inf):
        self.length, self.low, self.high = length, low, high

    def __len__(self) -> int:
        """Two: the extremes."""
        return 2

    def __getitem__(self, index: Any) -> Any:
        """An extreme tuple, of finite numbers."""
        bounds = np.clip((self.low, self.high), -1e6, 1e6)
        return [(bound,) * self.length for bound in bounds.tolist()][index]

    def __contains__(self, vector: Any) -> bool:
        """Whether ``vector``, a sequence or an array of numbers, belongs to the set."""
        values = np.asarray(vector)
        if values.shape != (self.length,) or values.dtype.kind not in "biuf":
            return False
        return bool(np.all((self.low <= values) & (values <= self.high)))

    def __repr__(self) -> str:
        """For messages about values that are not possible."""
        bounds = f" between {self.low:g} and {self.high:g}" if np.isfinite([self.low, self.high]).all() else ""
        return f"any {self.length} numbers{bounds}"
