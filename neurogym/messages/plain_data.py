"""Conversion of values to the types of JSON and TOML, for both packages."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Set
from typing import Any, Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class _AsList(Protocol):
    """An array, or a number of NumPy's."""

    def tolist(self) -> object: ...


@runtime_checkable
class _AsDict(Protocol):
    """Objects with a conversion to a dictionary."""

    def to_dict(self) -> object: ...


def plain(value: object) -> Any:
    """A value made of ``None``, truth values, numbers, words, lists and dictionaries with words as keys.

    Arrays and the numbers of NumPy are unpacked, what has a ``to_dict`` is that, a dataclass is its fields, numbers
    that are not finite are ``None``, and anything else is its text.

    >>> import numpy as np
    >>> plain({"a": (1, np.float64(0.5)), 2: np.array([np.nan, 1.0])})
    {'a': [1, 0.5], '2': [None, 1.0]}
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and not isinstance(value, np.generic):
        return value if math.isfinite(value) else None
    if isinstance(value, _AsList):
        return plain(value.tolist())
    if isinstance(value, _AsDict):
        return plain(value.to_dict())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, list | tuple | range):
        return [plain(item) for item in value]
    if isinstance(value, Set):
        return sorted((plain(item) for item in value), key=str)
    return str(value)


def is_plain(value: object) -> bool:
    """Whether a value is plain: a number, a truth value, a word, or a list of plain values."""
    if isinstance(value, list | tuple):
        return all(is_plain(item) for item in value)
    return isinstance(value, bool | int | float | str)
