"""Attributes of tasks that old scripts read and set."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from neurogym.compat.changes import RENAMED_ARGUMENTS
from neurogym.compat.leniency import warn_once


class ConditionValues:
    """Attribute for the values of conditions of a task, readable and settable.

    >>> import neurogym as ngym
    >>> env = ngym.make("PerceptualDecisionMaking-v0").unwrapped
    >>> env.cohs = [0, 51.2]
    >>> env.cohs, env.conditions["coh"].tolist()
    ([0.0, 51.2], [0.0, 51.2])

    Args:
        *conditions: Names in ``conditions``; all take the same values.
    """

    def __init__(self, *conditions: str):
        self.conditions = conditions

    def __get__(self, task: Any, owner: type | None = None) -> Any:
        """A list of the values."""
        if task is None:
            return self
        values = task.conditions[self.conditions[0]]
        return values.tolist() if isinstance(values, np.ndarray) else list(values)

    def __set__(self, task: Any, values: Any) -> None:
        """Set the possible values and discard trials made ahead."""
        values = list(values)
        plain = all(np.ndim(value) == 0 and not isinstance(value, str) for value in values)
        for name in self.conditions:
            task.conditions[name] = np.asarray(values) if plain else values


def without_periods(task: object, timing: Mapping[str, object] | None) -> None:
    """Warn of ``timing`` given to a task without periods."""
    if timing:
        warn_once(f"{type(task).__name__} has no periods to time, got timing={dict(timing)!r}", "it is not used")


def takes_older_names(owner: str, values: Mapping[object, object] | None = None) -> Callable[..., Any]:
    """Accept older names of arguments in calls, with a warning.

    Args:
        owner: Key of ``ARGUMENTS``.
        values: Older value to present one, for the arguments that are renamed.
    """
    names = RENAMED_ARGUMENTS[owner]

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: object, **kwargs: object) -> object:
            for old in names.keys() & kwargs.keys():
                value = kwargs.pop(old)
                kwargs.setdefault(names[old], (values or {}).get(value, value) if isinstance(value, str) else value)
                warn_once(f"{owner}: the argument {old!r} is called {names[old]!r} now", error=TypeError)
            return function(*args, **kwargs)

        return call

    return decorate
