"""Ranges of arguments, declared in the signature: ``def __init__(self, sigma: NonNegative = 1.0)``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any

import numpy as np


@dataclass(frozen=True)
class Range:
    """Values that an argument may have.

    Attributes:
        low, high: Smallest and largest value.
        above: Whether ``low`` itself is excluded.
        whole: Whether only whole numbers are allowed.
    """

    low: float = -inf
    high: float = inf
    above: bool = False
    whole: bool = False

    def __str__(self) -> str:
        """Phrase for messages, such as ``a whole number, at least 2``."""
        if self.high < inf and not self.above:
            limits = f"between {self.low:g} and {self.high:g}"
        else:
            limits = f"above {self.low:g}" if self.above else f"at least {self.low:g}"
            limits += f" and at most {self.high:g}" if self.high < inf else ""
        return f"a whole number, {limits}" if self.whole else f"a number, {limits}"

    def check(self, name: str, value: Any) -> None:
        """Refuse a value outside the range.

        Raises:
            ValueError: If the value is not a number in the range.
        """
        inside = isinstance(value, (int, float, np.number)) and (self.low < value if self.above else self.low <= value)
        if not inside or not value <= self.high or (self.whole and value != value // 1):
            raise ValueError(f"{name} must be {self}, got {value!r}")


NonNegative = Annotated[float, Range(0)]
Positive = Annotated[float, Range(0, above=True)]
Probability = Annotated[float, Range(0, 1)]
Count = Annotated[int, Range(1, whole=True)]
AtLeastTwo = Annotated[int, Range(2, whole=True)]


def within_ranges(function: Callable[..., None]) -> Callable[..., None]:
    """Check the arguments of a constructor against the ranges that its annotations declare; None passes.

    >>> class Task:
    ...     @within_ranges
    ...     def __init__(self, sigma: NonNegative = 1.0): ...
    >>> Task(sigma=-1)
    Traceback (most recent call last):
    ...
    ValueError: sigma must be a number, at least 0, got -1
    """
    known = getattr(inspect.unwrap(function), "__globals__", {})
    ranges: dict[str, Range] = {}
    for name, annotation in getattr(function, "__annotations__", {}).items():
        hint = known.get(annotation.partition(" ")[0]) if isinstance(annotation, str) else annotation
        ranges |= {name: part for part in getattr(hint, "__metadata__", ()) if isinstance(part, Range)}  # noqa: B035
    if not ranges:
        return function
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs).arguments
        for name in ranges:
            if given.get(name) is not None:
                ranges[name].check(name, given[name])
        function(*args, **kwargs)

    return checked
