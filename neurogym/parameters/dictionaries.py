"""Dictionaries of a task that can be changed during a session: rewards, timing, conditions."""

from __future__ import annotations

from typing import Any

from neurogym.sampling.distributions import values_of


class TrackedDict(dict[str, Any]):
    """Dictionary of a task. Setting an entry of a task that is made has the effect of :meth:`BaseEnv.update`.

    Attributes:
        name: Attribute of the task.
        task: The task, set when the dictionary is looked up; a copy has no reference to the task.
    """

    name = ""
    task: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the entries without the task, which is set at the next look-up."""
        return type(self), (dict(self),)

    def __setitem__(self, key: str, value: object) -> None:
        """Set an entry."""
        if self.task is None or not self.task.is_made:
            super().__setitem__(key, value)
        else:
            self.task.update_tables({self.name: {key: value}}, assigned=True)

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
        if self.task is not None and self.task.is_made:
            self.task.forget_trials_ahead()


class Conditions(TrackedDict):
    """Conditions of a trial: name to a sequence of values or a :class:`Distribution`."""

    def __init__(self, *args: object, **kwargs: object):
        super().__init__({name: values_of(values) for name, values in dict(*args, **kwargs).items()})

    def replace(self, key: str, value: object) -> None:
        """Set an entry and nothing that follows from the entry."""
        super().replace(key, values_of(value))
