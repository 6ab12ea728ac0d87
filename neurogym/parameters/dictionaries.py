"""Dictionaries of a task: rewards, timing, conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neurogym.compat.leniency import warn_once
from neurogym.messages.names import unknown
from neurogym.sampling.distributions import Distribution, Patterns, Vectors, is_number, is_possible, values_of


def _by_task(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that changes a dictionary; of a task that is made, it leaves the change to the task."""

    def change(table: Any, *args: Any, **kwargs: Any) -> Any:
        entries = dict(table)
        result = method(entries, *args, **kwargs)
        if table.task is None:
            dict.clear(table)
            dict.update(table, type(table)(entries))
        else:
            table.assign(entries)
        return table if result is entries else result

    return change


class TrackedDict(dict[str, Any]):
    """Dictionary of a task. Once the task is made, it is a view: the task decides what an assigned entry changes.

    Attributes:
        task: The task, known while the dictionary is its attribute; a copy has no reference to the task.
        assign: Gives the task other entries.
    """

    task: object = None
    assign: Callable[[dict[str, object]], None]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the entries without the task."""
        return type(self), (dict(self),)

    __setitem__, __delitem__ = _by_task(dict.__setitem__), _by_task(dict.__delitem__)
    __ior__, update = _by_task(dict.__ior__), _by_task(dict.update)
    pop, clear = _by_task(dict.pop), _by_task(dict.clear)


class Conditions(TrackedDict):
    """Conditions of a trial: name to a sequence of values or a :class:`Distribution`."""

    def __init__(self, *args: object, **kwargs: object):
        super().__init__({name: values_of(values) for name, values in dict(*args, **kwargs).items()})

    def check(self, name: str, value: object) -> None:
        """Refuse what cannot be asked of a trial; warn of what the task does not draw.

        Raises:
            ValueError: If no trial can be made with the value.
        """
        if name not in self:
            warn_once(unknown("trial condition", name, self), "it is only put into the record")
            return
        values = self[name]
        if not is_possible(value, values):
            if isinstance(value, str) and not isinstance(values, Distribution):
                raise ValueError(unknown(name, value, values))
            text = f"trial condition {name}={value!r} is not drawn by the task, expected one of {values}"
            listed = isinstance(values, (Patterns, Vectors)) or not is_number(next(iter(values), 0))
            if (listed and not isinstance(values, Distribution)) or not is_number(value):
                raise ValueError(text)
            warn_once(text, "it is used as it is")
