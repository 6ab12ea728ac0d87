"""Ceilings that were computed once and are stored with the package (``python -m experiments.ceilings``)."""

from __future__ import annotations

import functools
import inspect
import json
from importlib import resources
from typing import Any

import numpy as np

from neurogym.core import TrialEnv
from neurogym.envs import registration
from neurogym.utils import ngym_random


@functools.cache
def table() -> dict[str, dict[str, Any]]:
    """Id to ``performance``, ``reward``, ``error`` and ``method`` of the ideal observer at default parameters."""
    return json.loads((resources.files("neurogym.envs") / "ceilings.json").read_text())


def stored_ceiling(env: TrialEnv) -> dict[str, Any] | None:
    """The stored ceiling of an environment that was made by id with the parameters' default values, else None."""
    if env.spec is None:
        return None
    id_ = registration.resolve(env.spec.id)
    found = table().get(id_)
    if found is None:
        return None
    defaults = inspect.signature(registration.entry(id_)).parameters
    usual: Any = registration.make(id_).unwrapped if {"timing", "rewards", "dt"} & env.spec.kwargs.keys() else None
    for name, value in env.spec.kwargs.items():
        if name in ("timing", "rewards", "dt"):
            same = _same(_effective(env, name), _effective(usual, name))
        else:
            same = name in defaults and _same(value, defaults[name].default)
        if not same:
            return None
    return dict(found)


def _effective(env: Any, name: str) -> Any:
    """What an environment uses, in one form whichever way it was given."""
    value = getattr(env, name)
    return {period: ngym_random.parse(one) for period, one in value.items()} if name == "timing" else value


def _same(value: Any, default: Any) -> bool:
    try:
        return bool(_plain(value) == _plain(default))
    except ValueError:  # arrays
        return False


def _plain(value: Any) -> Any:
    """A value with tuples as lists, as configuration files have them."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
