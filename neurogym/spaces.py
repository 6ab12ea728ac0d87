"""Gymnasium spaces whose entries have names.

``Box`` and ``Discrete`` take ``name``, a dictionary from a label to an index or to a list of indices, so that tasks,
wrappers and figures can speak of ``"fixation"`` or ``"choice"`` instead of column numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces as _spaces
from gymnasium.spaces import Dict, MultiBinary, MultiDiscrete, Space, Tuple, flatdim, flatten, unflatten

__all__ = [
    "Box",
    "Dict",
    "Discrete",
    "Labels",
    "MultiBinary",
    "MultiDiscrete",
    "Space",
    "Tuple",
    "append_channels",
    "channels",
    "flatdim",
    "flatten",
    "n_actions",
    "names_of",
    "unbounded",
    "unflatten",
]

Index = Any  # an index, a range, or a sequence of indices

#: An action as tasks receive it: a number of a discrete space, or a vector.
Action = int | np.ndarray


class Labels(dict[str, Index]):
    """Labels of the entries of a space, with older names of the same entries that are found but not listed.

    Args:
        labels: Label to index or indices.
        also: Older label to index or indices.

    >>> labels = Labels({"stimulus_mod1": [1, 2]}, also={"stimulus": [1, 2]})
    >>> labels["stimulus"], "stimulus" in labels, list(labels)
    ([1, 2], True, ['stimulus_mod1'])
    """

    def __init__(self, labels: Mapping[str, Index], also: Mapping[str, Index] | None = None):
        super().__init__(labels)
        inherited: Mapping[str, Index] = labels.also if isinstance(labels, Labels) else {}
        self.also: dict[str, Index] = dict(also or inherited)

    def __missing__(self, label: str) -> Index:
        """Look up an old label."""
        return self.also[label]

    def __contains__(self, label: object) -> bool:
        """Whether a label exists, old labels included."""
        return super().__contains__(label) or label in self.also

    def get(self, label: str, default: Index = None) -> Index:
        """Return the value of a label, old labels included."""
        return self[label] if label in self else default  # noqa: SIM401 - this is what get is made of


def _labels(name: Mapping[str, Index]) -> Labels:
    if not isinstance(name, Mapping):
        raise TypeError(f"name must be a dictionary from a label to an index or indices, not {type(name).__name__}")
    listed = {label: list(index) if isinstance(index, range) else index for label, index in name.items()}
    return Labels(listed, name.also if isinstance(name, Labels) else None)


class Box(_spaces.Box):
    """A Box with named entries.

    Args:
        low: Lower bound, a number or an array.
        high: Upper bound, a number or an array.
        name: Dictionary from a label to an index or list of indices of the last axis.
        **kwargs: Passed to :class:`gymnasium.spaces.Box` (``shape``, ``dtype``, ``seed``).

    Raises:
        TypeError: If ``name`` is neither a dictionary nor None.
    """

    def __init__(self, low: Any, high: Any, name: Mapping[str, Index] | None = None, **kwargs: Any):
        dtype = np.dtype(kwargs.get("dtype", np.float32))
        if np.issubdtype(dtype, np.floating):  # cast here, Gymnasium warns of it
            low, high = (np.asarray(bound, dtype) for bound in (low, high))
            low, high = (bound if bound.ndim else bound.item() for bound in (low, high))
        super().__init__(low, high, **kwargs)
        if name is not None:
            self.name = _labels(name)


def channels(name: Mapping[str, Index], low: float = -np.inf, high: float = np.inf) -> Box:
    """The space of observations that are a vector with named channels.

    Args:
        name: Label to index or indices; these determine the number of channels.
        low: Lower bound.
        high: Upper bound.

    >>> channels({"fixation": 0, "stimulus": range(1, 3)}).shape
    (3,)
    """
    n = 1 + max(int(np.max(index)) for index in name.values() if np.size(index))
    return Box(low, high, shape=(n,), dtype=np.float32, name=name)


class Discrete(_spaces.Discrete):
    """A Discrete space with named actions.

    Args:
        n: Number of elements.
        name: Dictionary from a label to an action or list of actions.
        **kwargs: Passed to :class:`gymnasium.spaces.Discrete` (``start``, ``seed``, ``dtype``).

    Raises:
        TypeError: If ``name`` is neither a dictionary nor None.
    """

    def __init__(self, n: int, name: Mapping[str, Index] | None = None, **kwargs: Any):
        super().__init__(n, **kwargs)
        if name is not None:
            self.name = _labels(name)


def n_actions(space: Space[Any]) -> int:
    """Number of discrete actions; 0 if actions are vectors."""
    return int(space.n) if isinstance(space, _spaces.Discrete) else 0


def names_of(space: Space[Any]) -> Labels:
    """Return the labels of a space, empty if there are none; read-only, since the space may share the object."""
    names = getattr(space, "name", {})
    return names if isinstance(names, Labels) else Labels(names)


def append_channels(space: Space[Any], label: str, n: int, low: float = -np.inf, high: float = np.inf) -> Box:
    """Widen a one-dimensional Box by ``n`` channels under ``label``, and keep the old names.

    A label already taken gets a number (``reward2``), so that any wrapper can be applied twice.

    Raises:
        TypeError: If ``space`` is not a one-dimensional Box.
    """
    if not isinstance(space, _spaces.Box) or len(space.shape) != 1:
        raise TypeError(f"channels can only be appended to a one-dimensional Box observation, not to {space}")
    names = Labels(names_of(space))
    width = space.shape[0]
    key, count = label, 1
    while key in names:
        count += 1
        key = f"{label}{count}"
    names[key] = width if n == 1 else list(range(width, width + n))
    extra = np.ones(n, space.dtype)
    return Box(
        np.concatenate([space.low, low * extra]).astype(space.dtype),
        np.concatenate([space.high, high * extra]).astype(space.dtype),
        name=names,
        dtype=space.dtype.type,
    )


def unbounded(space: Any) -> Box:
    """Box of the same shape, type and names, without bounds."""
    return Box(-np.inf, np.inf, name=names_of(space) or None, shape=space.shape, dtype=space.dtype.type)


def checked_action(action: Any, space: _spaces.Space[Any], n_actions: int) -> Action:
    """Return an action in the form that tasks receive: an integer or an array.

    Args:
        action: What the agent gave.
        space: The action space.
        n_actions: Discrete actions below it are accepted.

    Raises:
        ValueError: If it is not in the action space.
    """
    if isinstance(space, _spaces.Discrete):
        try:
            number = operator.index(action)
        except TypeError:
            array = np.asarray(action)
            number = int(array.item()) if array.size == 1 and array.dtype.kind in "iub" else -1
        if 0 <= number < n_actions:
            return number
    elif isinstance(space, _spaces.Box):
        array = np.asarray(action)
        numbers = array.shape == space.shape and array.dtype.kind in "iubf"
        if numbers and ((space.low <= array) & (array <= space.high)).all():
            return array
    elif space.contains(action):
        return action
    raise ValueError(f"action {action!r} is not in {space}")
