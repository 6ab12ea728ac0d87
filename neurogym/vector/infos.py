"""Infos of several environments in the format of Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from neurogym.trials import Info


def masked(columns: Mapping[str, np.ndarray], envs: np.ndarray, mask: np.ndarray) -> Info:
    """Convert columns of some environments to Gymnasium's format: an entry per environment, and a validity mask.

    Args:
        columns: One entry for each of ``envs``; the others have nothing (0 or None).
        envs: Indices of environments.
        mask: The same as booleans, shape (num_envs,).
    """
    infos: Info = {}
    n = len(mask)
    for name, column in columns.items():
        full = np.empty(n, object) if column.dtype.hasobject else np.zeros(n, column.dtype)
        full[envs] = column
        infos[name], infos["_" + name] = full, mask
    return infos


def gathered(infos: Mapping[int, Info], n: int) -> Info:
    """Merge the infos of some of ``n`` environments in Gymnasium's format (see :func:`masked`), dictionaries nested.

    Args:
        infos: Index of an environment to its infos.
        n: Number of environments.
    """
    merged: Info = {}
    for name in dict.fromkeys(name for info in infos.values() for name in info):
        present = {i: info[name] for i, info in infos.items() if name in info}
        mask = np.zeros(n, bool)
        mask[list(present)] = True
        if all(isinstance(value, Mapping) for value in present.values()):
            merged[name] = gathered(present, n)
        else:
            column = _column(list(present.values()))
            full = np.full(n, None) if column.dtype == object else np.zeros((n, *column.shape[1:]), column.dtype)
            full[list(present)] = column
            merged[name] = full
        merged[f"_{name}"] = mask
    return merged


def _column(values: list[Any]) -> np.ndarray:
    """Convert values of one kind to an array; an array of objects if values are not numbers or differ in shape."""
    if len({np.shape(value) for value in values}) == 1:
        column = np.asarray(values) if not any(isinstance(v, (str, Mapping)) for v in values) else np.empty(0, object)
        if column.dtype.kind in "biuf":
            return column
    return np.fromiter(values, object, len(values))
