"""Values as what JSON and TOML have: the one conversion of both packages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from typing import Any


def plain(value: Any) -> Any:
    """A value made of ``None``, truth values, numbers, words, lists and dictionaries with words as keys.

    Arrays and the numbers of NumPy are unpacked, what has a ``to_dict`` is that, numbers that are not finite are
    ``None``, and anything else is its text.

    >>> import numpy as np
    >>> plain({"a": (1, np.float64(0.5)), 2: np.array([np.nan, 1.0])})
    {'a': [1, 0.5], '2': [None, 1.0]}
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and not hasattr(value, "tolist"):
        return value if math.isfinite(value) else None
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(item) for item in value]
    if isinstance(value, Set):
        return sorted((plain(item) for item in value), key=str)
    return str(value)


def is_plain(value: Any) -> bool:
    """Whether a value can be written down as it is: a number, a truth value, a word, or a list of such."""
    if isinstance(value, list | tuple):
        return all(is_plain(item) for item in value)
    return isinstance(value, bool | int | float | str)
