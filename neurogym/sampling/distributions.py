"""Random durations and values, given as data.

A specification is a number, a sequence of numbers (one of them, uniformly), a callable without arguments, or a pair
``(kind, arguments)`` with kind ``"uniform"``, ``"choice"``, ``"truncated_exponential"``, ``"constant"`` or ``"until"``.
Kept as data, it copies, pickles and prints, and many values are drawn in one call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from neurogym.messages.names import unknown
from neurogym.sampling.generator import RandomSource

KINDS = ("uniform", "choice", "truncated_exponential", "constant", "until")


class Distribution(NamedTuple):
    """Normalised specification of a random value.

    Attributes:
        kind: One of :data:`KINDS`, or ``"callable"``.
        arguments: A number (``constant``, ``until``), an array (bounds, values, or scale and bounds), or the callable.
    """

    kind: str
    arguments: Any

    @classmethod
    def of(cls, spec: object) -> Distribution:
        """Distribution described by a specification.

        Raises:
            ValueError: If it is none of the documented forms.
        """
        if type(spec) is Distribution:
            return spec
        if isinstance(spec, Real) and not isinstance(spec, bool):
            return cls("constant", _arguments("constant", spec))
        if callable(spec):
            return cls("callable", spec)
        if isinstance(spec, (list, tuple, range, np.ndarray)) and len(spec):
            if not isinstance(spec[0], str):
                return cls("choice", _arguments("choice", spec))
            if spec[0] not in KINDS:
                raise ValueError(unknown("distribution", spec[0], KINDS))
            if len(spec) != 2:
                raise ValueError(f"expected ({spec[0]!r}, arguments), got {spec!r}")
            return cls(spec[0], _arguments(spec[0], spec[1]))
        raise ValueError(
            f"{spec!r} is not a valid duration: expected a number, a sequence of numbers, a callable or "
            "(distribution, arguments)"
        )

    def sample(self, rng: RandomSource, n: int) -> np.ndarray:
        """``n`` values drawn with the generator ``rng``, shape (n,).

        Raises:
            ValueError: If the distribution is relative to other periods (``until``).
        """
        kind, arguments = self
        if kind == "constant":
            return np.full(n, arguments)
        if kind == "uniform":
            return arguments[0] + (arguments[1] - arguments[0]) * rng.random(n)
        if kind == "choice":
            return arguments[rng.integers(len(arguments), size=n)]
        if kind == "truncated_exponential":
            return exponential(rng, n, *arguments)
        if kind == "callable":
            return np.array([float(arguments()) for _ in range(n)])
        raise ValueError(f"{kind!r} is relative to the other periods and has no values of its own")

    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value that can be drawn (a callable: unknown, 0 and inf)."""
        kind, arguments = self
        if kind in ("constant", "until"):
            return arguments, arguments
        if kind in ("uniform", "choice"):
            return float(np.min(arguments)), float(np.max(arguments))
        if kind == "truncated_exponential":
            bounds = arguments.tolist()[1:]
            return bounds[0] if bounds else 0.0, bounds[1] if len(bounds) > 1 else math.inf
        return 0.0, math.inf

    def phrase(self) -> str:
        """Describe the distribution in words, such as ``"uniform between 200 and 600"``; a constant as a number."""
        kind, arguments = self
        if kind == "callable":
            return kind
        if kind == "constant":
            return f"{arguments:g}"
        if kind == "uniform":
            return f"uniform between {arguments[0]:g} and {arguments[1]:g}"
        if kind == "choice":
            return "choice of " + ", ".join(f"{value:g}" for value in arguments)
        if kind == "truncated_exponential":
            low, high = self.bounds()
            return f"truncated exponential with scale {arguments[0]:g} between {low:g} and {high:g}"
        return f"{kind} {arguments:g}"


#: Values that a condition of a trial can have.
PossibleValues = Sequence[object] | np.ndarray | Distribution


def values_of(spec: Any) -> PossibleValues:
    """Possible values of a condition: a :class:`Distribution` for a number, a callable or a pair with a known kind.

    Anything else is a sequence of values, and returned as it is.
    """
    is_pair = isinstance(spec, tuple) and len(spec) == 2 and isinstance(spec[0], str) and spec[0] in KINDS
    is_duration = is_pair or callable(spec) or (isinstance(spec, Real) and not isinstance(spec, bool))
    return Distribution.of(spec) if is_duration else spec


def is_possible(value: Any, values: PossibleValues) -> bool:
    """Whether a condition can take a value, given the sequence or distribution of its values."""
    if isinstance(values, Distribution):
        low, high = values.bounds()
        return is_number(value) and bool(low <= value <= high)
    if not isinstance(values, (list, tuple, range, np.ndarray)):  # defines its own membership
        return value in values
    return bool(np.any([np.array_equal(value, each) for each in values]))


def is_number(value: Any) -> bool:
    """Whether a value is a single number."""
    return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biuf"


def exponential(rng: RandomSource, n: int, scale: float, low: float = 0.0, high: float = math.inf) -> np.ndarray:
    """``n`` exponentials of the given scale, conditioned on low <= x < high, by inverting the distribution function."""
    if low >= high:
        return np.full(n, float(high))
    tail = math.exp(-(high - low) / scale) if math.isfinite(high) else 0.0
    return low - scale * np.log1p(-rng.random(n) * (1.0 - tail))


def _arguments(kind: str, spec: object) -> float | np.ndarray:
    """Arguments that have been checked: a number or an array."""
    if kind in ("constant", "until"):
        if not isinstance(spec, Real) or not math.isfinite(spec):
            raise ValueError(f"{kind} takes one finite number, got {spec!r}")
        return float(spec)
    try:
        values = np.asarray(spec, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{kind} takes numbers, got {spec!r}") from None
    if kind == "truncated_exponential" and values.ndim == 0:
        values = values[None]
    open_ended = kind == "truncated_exponential"  # its upper bound may be infinite
    if values.ndim != 1 or not len(values) or not (np.isfinite(values) | (open_ended & (values == math.inf))).all():
        raise ValueError(f"{kind} takes a sequence of finite numbers, got {spec!r}")
    if kind == "uniform" and (len(values) != 2 or values[0] > values[1]):
        raise ValueError(f"uniform takes (low, high) with low <= high, got {spec!r}")
    if kind == "truncated_exponential" and (len(values) > 3 or values[0] <= 0):
        raise ValueError(f"truncated_exponential takes (scale > 0, min=0, max=inf), got {spec!r}")
    return values


class Patterns(Sequence[tuple[object, ...]]):
    """Every tuple of ``length`` items out of ``values``, computed on access.

    Args:
        values: What each item can be.
        length: Items of a tuple.
        distinct: Whether no item may occur twice.

    >>> (0, 1, 1) in Patterns((0, 1), 3), len(Patterns((0, 1), 3)), Patterns((0, 1), 3)[-1]
    (True, 8, (1, 1, 1))
    """

    def __init__(self, values: Sequence[object], length: int, distinct: bool = False):
        self.values, self.length, self.distinct = tuple(values), length, distinct

    def __len__(self) -> int:
        """Number of patterns."""
        return int(np.prod([len(self.values) - (i if self.distinct else 0) for i in range(self.length)]))

    def __getitem__(self, index: Any) -> Any:
        """The pattern at a position; the last item changes fastest."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} patterns, none at {index}")
        index, left, size, items = index % len(self), list(self.values), len(self), []
        for _ in range(self.length):
            size //= len(left)
            digit, index = divmod(index, size)
            items.append(left.pop(digit) if self.distinct else left[digit])
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


def distinct_patterns(rng: RandomSource, n: int, bits: int) -> np.ndarray:
    """``n`` different patterns of zeros and ones, shape (n, bits); there must be so many."""
    patterns: dict[tuple[int, ...], None] = {}
    while len(patterns) < n:
        patterns[tuple(rng.integers(2, size=bits).tolist())] = None
    return np.array(list(patterns))


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

    def __contains__(self, vector: object) -> bool:
        """Whether ``vector``, a sequence or an array of numbers, belongs to the set."""
        values = np.asarray(vector)
        if values.shape != (self.length,) or values.dtype.kind not in "biuf":
            return False
        return bool(np.all((self.low <= values) & (values <= self.high)))

    def __repr__(self) -> str:
        """For messages about values that are not possible."""
        bounds = f" between {self.low:g} and {self.high:g}" if np.isfinite([self.low, self.high]).all() else ""
        return f"any {self.length} numbers{bounds}"
