"""Dictionaries of a task that can be changed during a session: rewards, timing, conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from neurogym.compat.leniency import warn_once
from neurogym.messages.names import unknown
from neurogym.sampling.distributions import Distribution, Patterns, Vectors, is_number, is_possible, values_of


def _removing(method: Callable[..., Any]) -> Callable[..., Any]:
    """A dictionary's method that removes entries, with effect from the next trial on."""

    def remove(table: Any, *args: Any) -> Any:
        value = method(table, *args)
        if table.task is not None:
            table.changed({})
        return value

    return remove


class TrackedDict(dict[str, Any]):
    """Dictionary of a task. Once the task is made, setting entries has the effect of ``task.update``.

    Attributes:
        task: The task, known while the dictionary is its attribute; a copy has no reference to the task.
        changed: Changes entries of the task; without entries, discards the trials that were made ahead.
    """

    task: object = None
    changed: Callable[[Mapping[str, object]], None]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the entries without the task."""
        return type(self), (dict(self),)

    def __setitem__(self, key: str, value: object) -> None:
        """Set an entry."""
        self.update({key: value})

    def replace(self, entries: Mapping[str, object]) -> None:
        """Set entries and nothing that follows from them."""
        super().update(entries)

    def update(self, *args: object, **kwargs: object) -> None:
        """Set several entries."""
        (self.replace if self.task is None else self.changed)(dict(*args, **kwargs))

    def __ior__(self, entries: object) -> TrackedDict:  # type: ignore[misc, override]
        """Set several entries."""
        self.update(entries)
        return self

    __delitem__, pop, clear = _removing(dict.__delitem__), _removing(dict.pop), _removing(dict.clear)


class Conditions(TrackedDict):
    """Conditions of a trial: name to a sequence of values or a :class:`Distribution`."""

    def __init__(self, *args: object, **kwargs: object):
        super().__init__({name: values_of(values) for name, values in dict(*args, **kwargs).items()})

    def replace(self, entries: Mapping[str, object]) -> None:
        """Set entries and nothing that follows from them."""
        super().replace({name: values_of(values) for name, values in entries.items()})

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
