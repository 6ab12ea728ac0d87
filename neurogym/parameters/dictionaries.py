"""Dictionaries of a task that can be changed during a session: rewards, timing, conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from neurogym.sampling.distributions import values_of


def same(a: Any, b: Any, depth: int = 4) -> bool:
    """Whether two values are alike, as far as parameters go: generators and functions always are."""
    if a is b or (callable(a) and callable(b)) or isinstance(a, np.random.Generator):
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, float) and isinstance(b, float):
        return bool(a == b)  # one of them may be NumPy's
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key], depth - 1) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, depth - 1) for x, y in zip(a, b, strict=True))
    if depth and hasattr(a, "__dict__") and not isinstance(a, gym.Space):
        return same(vars(a), vars(b), depth - 1)
    return bool(a == b)


class Changed(Protocol):
    """Interface of tasks that react to changes of dictionary entries."""

    is_made: bool

    def forget_trials_ahead(self) -> None:
        """Discard trials made ahead."""

    def update_tables(self, tables: Mapping[str, Mapping[str, object]], *, assigned: bool) -> None:
        """Change entries of dictionaries."""


class Settings(dict):
    """Dictionary of a task; changes take effect with the next trial."""

    name = ""
    task: Changed | None = None  #: set when the dictionary is looked up; a copy has no reference to the task

    def __reduce__(self) -> tuple:
        """Copy the entries without the task, which is set at the next look-up."""
        return type(self), (dict(self),)

    def __setitem__(self, key: str, value: object) -> None:
        """Set an entry and notify the task."""
        if self.task is None or not self.task.is_made or (key in self and same(self[key], value)):
            self.put(key, value)
        else:
            self.task.update_tables({self.name: {key: value}}, assigned=True)

    def put(self, key: str, value: object) -> None:
        """Set an entry without telling the task."""
        super().__setitem__(key, value)

    def update(self, *args: object, **kwargs: object) -> None:
        """Set several entries."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __ior__(self, other: object) -> Settings:  # type: ignore[misc]
        """Set several entries."""
        self.update(other)
        return self

    def _without(self, change: object) -> object:
        if self.task is not None and self.task.is_made:
            self.task.forget_trials_ahead()
        return change

    def __delitem__(self, key: str) -> None:
        """Remove an entry."""
        self._without(super().__delitem__(key))

    def pop(self, *args: object) -> object:
        """Remove an entry."""
        return self._without(super().pop(*args))

    def clear(self) -> None:
        """Remove all entries."""
        self._without(super().clear())


class Conditions(Settings):
    """Conditions of a trial: name to a sequence of values or a :class:`Distribution`."""

    def __init__(self, *args: object, **kwargs: object):
        super().__init__({name: values_of(values) for name, values in dict(*args, **kwargs).items()})

    def put(self, key: str, value: object) -> None:
        """Set an entry without telling the task."""
        super().put(key, values_of(value))


class SettingsAttribute:
    """An attribute that is a dictionary of settings."""

    def __init__(self, kind: type[Settings] = Settings):
        self.kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the name of the attribute."""
        self.name = name

    def __get__(self, task: Changed | None, owner: type | None = None) -> Any:
        """The present value."""
        if task is None:
            return self
        try:
            settings = task.__dict__[self.name]
        except KeyError:
            raise AttributeError(f"{type(task).__name__} has no {self.name}") from None
        if settings.task is not task:
            settings.task, settings.name = task, self.name
        return settings

    def __set__(self, task: Changed, values: Mapping[str, object]) -> None:
        """Set the value, with effect from the next trial on."""
        vars(task)[self.name] = self.kind(values)
        if task.is_made:
            task.forget_trials_ahead()
