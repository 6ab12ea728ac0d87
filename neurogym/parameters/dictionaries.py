"""Dictionaries of a task that can be changed during a session: rewards, timing, conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neurogym.compat.leniency import warn_once
from neurogym.messages.names import unknown
from neurogym.sampling.distributions import Distribution, Patterns, Vectors, is_number, is_possible, values_of


class TrackedDict(dict[str, Any]):
    """Dictionary of a task. Once the task is made, setting an entry has the effect of ``task.update``.

    Attributes:
        task: The task, known while the dictionary is its attribute; a copy has no reference to the task.
        set_entry: Changes an entry of the task.
        forget: Discards the trials that were made ahead, since an entry was removed.
    """

    task: object = None
    set_entry: Callable[[str, object], None]
    forget: Callable[[], None]

    def belong(self, task: object, set_entry: Callable[[str, object], None], forget: Callable[[], None]) -> None:
        """Let changes have their effect on a task."""
        self.task, self.set_entry, self.forget = task, set_entry, forget

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the entries without the task."""
        return type(self), (dict(self),)

    def __setitem__(self, key: str, value: object) -> None:
        """Set an entry."""
        if self.task is None:
            super().__setitem__(key, value)
        else:
            self.set_entry(key, value)

    def replace(self, key: str, value: object) -> None:
        """Set an entry and nothing that follows from the entry."""
        super().__setitem__(key, value)

    def update(self, *args: object, **kwargs: object) -> None:
        """Set several entries."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __ior__(self, entries: object) -> TrackedDict:  # type: ignore[misc, override]
        """Set several entries."""
        self.update(entries)
        return self

    def __delitem__(self, key: str) -> None:
        """Remove an entry."""
        super().__delitem__(key)
        self._forget()

    def pop(self, *args: Any) -> Any:
        """Remove an entry and return the value."""
        value = super().pop(*args)
        self._forget()
        return value

    def clear(self) -> None:
        """Remove all entries."""
        super().clear()
        self._forget()

    def _forget(self) -> None:
        if self.task is not None:
            self.forget()


class Conditions(TrackedDict):
    """Conditions of a trial: name to a sequence of values or a :class:`Distribution`."""

    def __init__(self, *args: object, **kwargs: object):
        super().__init__({name: values_of(values) for name, values in dict(*args, **kwargs).items()})

    def replace(self, key: str, value: object) -> None:
        """Set an entry and nothing that follows from the entry."""
        super().replace(key, values_of(value))

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
