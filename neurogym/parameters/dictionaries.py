"""Dictionaries of a task that can be changed during a session: rewards, timing, conditions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from neurogym.sampling.distributions import values_of


def same(a: Any, b: Any, depth: int = 4) -> bool:
    """Return whether two values of a parameter are equal.

    Random generators are always equal. Functions are equal if they have the same code, defaults and enclosed values,
    so that two calls of one constructor make equal functions.
    """
    if a is b or isinstance(a, np.random.Generator):
        return True
    if isinstance(a, _FUNCTIONS):
        return type(a) is type(b) and _same_functions(a, b, depth - 1)
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


#: Types of callables without attributes of their own.
_FUNCTIONS = (FunctionType, MethodType, BuiltinMethodType, functools.partial)


def _same_functions(a: Any, b: Any, depth: int) -> bool:
    if depth < 0:
        return bool(a == b)
    if isinstance(a, functools.partial):
        return same((a.func, a.args, a.keywords), (b.func, b.args, b.keywords), depth)
    if isinstance(a, BuiltinMethodType):
        return a.__name__ == b.__name__ and _same_enclosed(a.__self__, b.__self__, depth)
    if isinstance(a, MethodType):
        return a.__func__ is b.__func__ and _same_enclosed(a.__self__, b.__self__, depth)
    if a.__code__ != b.__code__ or a.__globals__ is not b.__globals__:
        return False
    if not same((a.__defaults__, a.__kwdefaults__), (b.__defaults__, b.__kwdefaults__), depth):
        return False
    enclosed = zip(*(inspect.getclosurevars(function).nonlocals.values() for function in (a, b)), strict=True)
    return all(_same_enclosed(one, two, depth) for one, two in enclosed)


def _same_enclosed(a: Any, b: Any, depth: int) -> bool:
    """Return whether values that functions refer to are equal; two tasks of one class are."""
    return (isinstance(a, gym.Env) and type(a) is type(b)) or same(a, b, depth)


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
        unchanged = key in self and (self[key] is value or (not callable(value) and same(self[key], value)))
        if self.task is None or not self.task.is_made or unchanged:
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
