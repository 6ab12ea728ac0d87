"""Members of environments that old tasks and scripts use; :mod:`neurogym.compat.trial_env` has them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

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
