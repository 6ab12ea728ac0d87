"""Members of environments, and their arguments, that old tasks and scripts use."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from neurogym.compat.changes import RENAMED_ARGUMENTS
from neurogym.compat.leniency import warn_once


def older_name(name: str) -> property:
    """Property with the value of a member that was renamed."""
    return property(lambda task: getattr(task, name), doc=f"Older name of ``{name}``.")


def passed_on(owner: str, name: str, doc: str = "") -> property:
    """Property with the value of an attribute of another attribute, such as the session; can be set."""

    def assign(env: Any, value: Any) -> None:
        setattr(getattr(env, owner), name, value)

    return property(operator.attrgetter(f"{owner}.{name}"), assign, doc=doc or f"``{owner}.{name}``.")


def built(name: str) -> property:
    """Flag whether the described or else the current trial has an array; set to False, the array is dropped."""

    def is_there(task: Any) -> bool:
        trials = task.session.cursor.block if task.session.described is None else task.session.described
        return trials is not None and name in trials.fields

    def drop(task: Any, is_kept: bool) -> None:
        if not is_kept and task.session.described is not None:
            task.session.described.fields.pop(name, None)

    return property(is_there, drop)


def zero_filled(name: str) -> Callable[[Any], None]:
    """Method that fills an array of the described trial with zeros."""

    def fill(task: Any) -> None:
        if task.session.described is not None:
            task.session.described.fields.pop(name, None)
        getattr(task, name)

    return fill


def of_periods(table: str, doc: str, in_ms: bool = False) -> property:
    """Limit of each period of the present trial, from ``starts`` or ``ends`` of its block."""

    def limits(task: Any) -> dict[str, float]:
        trials, k = task.session.block_and_index()
        return {name: step.item(k) * (task.dt if in_ms else 1) for name, step in getattr(trials, table).items()}

    return property(limits, doc=doc)


def end_of_periods() -> property:
    """End of the last period so far (ms); can be set while there are no observations."""

    def end(task: Any) -> float:
        has_trial = task.session.described is not None or task.session.cursor.block is not None
        return float(task.session.this_trial.length[0] * task.dt) if has_trial else 0.0

    def set_end(task: Any, value: float) -> None:
        trials = task.session.described
        if trials is not None and "ob" not in trials.fields:
            trials.length[:] = trials.steps(value)

    return property(end, set_end)


def in_order(value: object, period: object) -> tuple[Any, Any]:
    """Value and period in that order, which was the other way round in early 2020: a value is never a word."""
    return (period, value) if isinstance(value, str) else (value, period)


def five_values(result: Any, task: object) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    """Result of ``_step`` in Gymnasium's form.

    Raises:
        ValueError: If it is neither five values nor the four of older versions (observation, reward, done, info).
    """
    count = len(result) if isinstance(result, tuple) else 1
    if count == 5:
        return result
    text = f"{type(task).__name__}._step returned {count} values; return five: observation, reward, terminated, "
    if count == 4 and isinstance(result[3], dict):
        warn_once(f"{text}truncated, info", "done is taken for terminated")
        ob, reward, ended, info = result
        return ob, reward, bool(ended), False, info
    raise ValueError(f"{text}truncated, info")


def forgive_reset(arguments: Mapping[str, object]) -> None:
    """Warn of arguments of ``reset`` that are no more.

    Raises:
        TypeError: If an argument never existed.
    """
    for name in arguments:
        if name not in ("no_step", "step_fn"):
            raise TypeError(f"reset() got an unexpected keyword argument {name!r}")
        warn_once(f"reset({name}=...): reset takes no step, it returns the first observation", error=TypeError)


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
