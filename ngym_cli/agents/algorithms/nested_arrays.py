"""Nested plain data with arrays in it, taken apart into tensors (for safetensors) and the rest (for JSON)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

_TENSOR, _WORDS, _OBJECTS, _FLOAT = "__tensor__", "__words__", "__objects__", "__float__"
_AS_IT_IS = frozenset({type(None), str, int, bool})  # most of what there is

#: A tree that is deeper than this was not made here.
DEEPEST = 100


def take_apart(tree: object, name: str, tensors: dict[str, Tensor]) -> Any:
    """Put the arrays of a tree into `tensors`, under names that begin with `name`; return the rest with references.

    Tensors share the memory of the arrays.

    Example:
        >>> tensors = {}
        >>> take_apart({"a": np.ones(2), "b": [1, "x"]}, "env", tensors)
        {'a': {'__tensor__': 'env/a'}, 'b': [1, 'x']}
        >>> put_together({"a": {"__tensor__": "env/a"}}, tensors)
        {'a': array([1., 1.])}
    """
    if type(tree) in _AS_IT_IS:
        return tree
    if isinstance(tree, np.ndarray):
        if tree.dtype.kind == "U":
            return {_WORDS: tree.ravel().tolist(), "shape": list(tree.shape), "dtype": tree.dtype.str}
        if tree.dtype == object:
            return {_OBJECTS: take_apart(list(tree.ravel()), name, tensors), "shape": list(tree.shape)}
        tensors[name] = torch.from_numpy(np.require(tree, requirements=["C", "W"]))  # a copy only where it must be
        return {_TENSOR: name}
    if isinstance(tree, np.generic):
        return take_apart(tree.item(), name, tensors)
    if isinstance(tree, float) and not math.isfinite(tree):
        return {_FLOAT: repr(tree)}
    if isinstance(tree, dict):
        return {
            str(key): value if type(value) in _AS_IT_IS else take_apart(value, f"{name}/{key}", tensors)
            for key, value in tree.items()
        }
    if isinstance(tree, list | tuple):
        return [
            value if type(value) in _AS_IT_IS else take_apart(value, f"{name}/{i}", tensors)
            for i, value in enumerate(tree)
        ]
    return tree


def put_together(rest: object, tensors: dict[str, Tensor], depth: int = 0) -> Any:
    """The tree that :func:`take_apart` took apart (tuples have become lists).

    Raises:
        ValueError: if it is nested deeper than any of ours, or a tensor is missing.
    """
    if depth > DEEPEST:
        raise ValueError(f"nested more than {DEEPEST} deep")
    if isinstance(rest, list):
        return [put_together(value, tensors, depth + 1) for value in rest]
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
            column[i] = put_together(value, tensors, depth + 1)
        return column.reshape(rest["shape"])
    if _FLOAT in rest:
        return float(rest[_FLOAT])
    return {key: put_together(value, tensors, depth + 1) for key, value in rest.items()}
