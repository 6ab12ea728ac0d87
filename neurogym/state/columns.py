"""Items of an array of objects, such as a vector or a word for each of a thousand trials, as few arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_KINDS = "biuf"


def is_plain(dtype: np.dtype) -> bool:
    """Whether JSON and safetensors have numbers of a type."""
    return dtype.kind in _KINDS and dtype.itemsize <= 8


def unique_items(items: Sequence[Any]) -> tuple[dict[int, Any], np.ndarray | None]:
    """Distinct items of a sequence, and the index of each item among the distinct items.

    Two are the same if they are one object, or equal words.

    Returns:
        Position in ``items`` to item, in order; and for each item its place among these (None: all differ).
    """
    n = len(items)
    keys = [item if type(item) is str else id(item) for item in items]
    first = dict(zip(reversed(keys), range(n - 1, -1, -1), strict=True))  # of several positions, the first stays
    at = sorted(first.values())
    distinct = {i: items[i] for i in at}
    if len(at) == n:
        return distinct, None
    places = {keys[i]: place for place, i in enumerate(at)}
    return distinct, np.fromiter(map(places.__getitem__, keys), np.int64, n)


def packed(items: Sequence[Any]) -> dict[str, Any] | None:
    """Pack several items of the same type into an array: Python or NumPy numbers, or arrays that differ only in shape.

    Args:
        items: Two or more.

    Returns:
        What :func:`unpacked` takes; None if they are something else.
    """
    kinds = set(map(type, items))
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind is float:
        return {"of": "float", "value": np.array(items)}
    if kind is int:
        fits = all(-(2**63) <= item < 2**63 for item in items)
        return {"of": "int", "value": np.array(items, np.int64)} if fits else None
    if kind is np.ndarray:
        return _arrays(items)
    if issubclass(kind, np.generic) and is_plain(items[0].dtype):
        return {"of": "scalar", "value": np.array(items, items[0].dtype)}
    return None


def _arrays(items: Sequence[np.ndarray]) -> dict[str, Any] | None:
    like = items[0]
    first = (like.dtype, like.ndim, like.flags.writeable)
    if not is_plain(like.dtype) or any((a.dtype, a.ndim, a.flags.writeable) != first for a in items):
        return None
    shapes = np.array([a.shape for a in items], np.int64).reshape(len(items), like.ndim)
    return {
        "of": "array",
        "value": np.concatenate([a.ravel() for a in items]),
        "shapes": shapes,
        "fixed": not like.flags.writeable,
    }


def unpacked(data: dict[str, Any]) -> list[Any]:
    """The items that :func:`packed` took.

    Raises:
        ValueError: If shapes and numbers do not fit each other.
    """
    kind, values = data["of"], np.asarray(data["value"])
    if kind in ("float", "int"):
        return values.tolist()
    if kind == "scalar":
        return list(values)
    if kind != "array":
        raise ValueError(f"unknown items {kind!r}")
    shapes = data["shapes"].tolist()
    ends = np.cumsum([int(np.prod(shape, dtype=np.int64)) for shape in shapes])
    if np.min(data["shapes"], initial=0) < 0 or len(ends) == 0 or ends[-1] != len(values):
        raise ValueError(f"{len(values)} numbers for arrays of {ends[-1] if len(ends) else 0}")
    found = [part.reshape(shape).copy() for part, shape in zip(np.split(values, ends[:-1]), shapes, strict=True)]
    for array in found:
        array.flags.writeable = not data["fixed"]
    return found
