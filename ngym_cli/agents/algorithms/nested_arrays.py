"""Split nested plain data into tensors (for safetensors) and the rest (for JSON).

Training states can have dozens of small arrays for each of a thousand environments; small arrays are joined by type.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

_TENSOR, _WORDS, _OBJECTS, _FLOAT = "__tensor__", "__words__", "__objects__", "__float__"
_AS_IT_IS = frozenset({type(None), str, int, bool})  # the most common case

#: Largest array that is joined with others (bytes).
SMALL = 1 << 15

#: Largest depth of a tree; deeper trees were not written by this module.
DEEPEST = 100


def flatten_tree(tree: object, name: str, tensors: dict[str, Tensor]) -> Any:
    """Put the arrays of a tree into `tensors`, under names that begin with `name`; return the rest with references.

    Tensors share the memory of the arrays.

    Example:
        >>> tensors = {}
        >>> flatten_tree({"a": np.ones(2), "b": [1, "x"]}, "env", tensors)
        {'a': {'__tensor__': 'env/a'}, 'b': [1, 'x']}
        >>> restore_tree({"a": {"__tensor__": "env/a"}}, tensors)
        {'a': array([1., 1.])}
    """
    if type(tree) in _AS_IT_IS:
        return tree
    if isinstance(tree, np.ndarray):
        if tree.dtype.kind == "U":
            return {_WORDS: tree.ravel().tolist(), "shape": list(tree.shape), "dtype": tree.dtype.str}
        if tree.dtype == object:
            return {_OBJECTS: flatten_tree(list(tree.ravel()), name, tensors), "shape": list(tree.shape)}
        tensors[name] = torch.from_numpy(np.require(tree, requirements=["C", "W"]))  # a copy only where it must be
        return {_TENSOR: name}
    if isinstance(tree, np.generic):
        return flatten_tree(tree.item(), name, tensors)
    if isinstance(tree, float) and not math.isfinite(tree):
        return {_FLOAT: repr(tree)}
    if isinstance(tree, dict):
        return {
            str(key): value if type(value) in _AS_IT_IS else flatten_tree(value, f"{name}/{key}", tensors)
            for key, value in tree.items()
        }
    if isinstance(tree, list | tuple):
        return [
            value if type(value) in _AS_IT_IS else flatten_tree(value, f"{name}/{i}", tensors)
            for i, value in enumerate(tree)
        ]
    return tree


def restore_tree(rest: object, tensors: dict[str, Tensor], depth: int = 0) -> Any:
    """The tree that :func:`flatten_tree` took apart (tuples have become lists).

    Raises:
        ValueError: if it is nested deeper than this package writes, or a tensor is missing.
    """
    if depth > DEEPEST:
        raise ValueError(f"nested more than {DEEPEST} deep")
    if isinstance(rest, list):
        return [restore_tree(value, tensors, depth + 1) for value in rest]
    if not isinstance(rest, dict):
        return rest
    if _TENSOR in rest:
        if rest[_TENSOR] not in tensors:
            raise ValueError(f"tensor {rest[_TENSOR]} is missing")
        return tensors[rest[_TENSOR]].numpy().copy()
    if _WORDS in rest:
        return np.array(rest[_WORDS], dtype=str).astype(rest["dtype"]).reshape(rest["shape"])
    if _OBJECTS in rest:
        column = np.empty(len(rest[_OBJECTS]), object)
        for i, value in enumerate(rest[_OBJECTS]):
            column[i] = restore_tree(value, tensors, depth + 1)
        return column.reshape(rest["shape"])
    if _FLOAT in rest:
        return float(rest[_FLOAT])
    return {key: restore_tree(value, tensors, depth + 1) for key, value in rest.items()}


def join(tensors: dict[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, list[Any]]]:
    """Join small arrays into a single array per data type.

    Returns:
        The arrays, and for each small array its location: the name of the joint array, the offset and the shape.
    """
    kept: dict[str, Tensor] = {}
    parts: dict[str, list[np.ndarray]] = {}
    ends: dict[str, int] = {}
    places: dict[str, list[Any]] = {}
    for name, value in tensors.items():
        array = value.numpy()
        if array.nbytes > SMALL:
            kept[name] = value
            continue
        whole = f"joined/{array.dtype.name}"
        begin = ends.get(whole, 0)
        ends[whole] = begin + array.size
        parts.setdefault(whole, []).append(array.ravel())
        places[name] = [whole, begin, list(array.shape)]
    return {**kept, **{name: torch.from_numpy(np.concatenate(arrays)) for name, arrays in parts.items()}}, places


def split(tensors: dict[str, Tensor], places: dict[str, list[Any]]) -> dict[str, Tensor]:
    """The arrays that :func:`join` was given.

    Raises:
        ValueError: if a part lies outside of what it is said to be part of.
    """
    whole = {name: tensors[name].numpy() for name in {place[0] for place in places.values()}}
    found = {name: value for name, value in tensors.items() if name not in whole}
    for name, (of, begin, shape) in places.items():
        size = math.prod(shape)
        if begin < 0 or min(shape, default=0) < 0 or begin + size > whole[of].size:
            raise ValueError(f"{name} lies outside of {of}")
        found[name] = torch.from_numpy(whole[of][begin : begin + size].reshape(shape))
    return found
