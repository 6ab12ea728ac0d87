"""The arguments that a task was made with, as attributes that can be assigned to."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, Protocol

import numpy as np

from neurogym.messages.names import unknown
from neurogym.parameters.dictionaries import Changed, same


@dataclass(frozen=True)
class Range:
    """Values that an argument may have.

    Attributes:
        low, high: Smallest and largest value.
        above: Whether ``low`` itself is excluded.
        whole: Whether only whole numbers are allowed.
        size: Number of values of a list, 0 for any number of them; None if the argument is a single value.
        in_order: Whether the values of a list must not fall.
    """

    low: float = -inf
    high: float = inf
    above: bool = False
    whole: bool = False
    size: int | None = None
    in_order: bool = False

    def __str__(self) -> str:
        """Phrase for messages, such as ``a whole number, at least 2``."""
        if self.size is None:
            kind = "a whole number" if self.whole else "a number"
        else:
            kind = f"a list of {self.size or 'one or more'}{' whole' * self.whole} numbers{' in order' * self.in_order}"
        if -inf < self.low and self.high < inf and not self.above:
            return f"{kind}, between {self.low:g} and {self.high:g}"
        limits = [f"{'above' if self.above else 'at least'} {self.low:g}"] if self.low > -inf else []
        limits += [f"at most {self.high:g}"] if self.high < inf else []
        return f"{kind}, {' and '.join(limits)}" if limits else kind

    def check(self, name: str, value: Any) -> None:
        """Refuse a value outside the range.

        Raises:
            ValueError: If the value is not a number in the range, or a list of such numbers.
        """
        values = [value] if self.size is None else list(np.atleast_1d(value)) if np.ndim(value) < 2 else []
        fits = len(values) > 0 and self.size in (None, 0, len(values))
        if not fits or not all(map(self._contains, values)) or (self.in_order and values != sorted(values)):
            raise ValueError(f"{name} must be {self}, got {value!r}")

    def _contains(self, value: object) -> bool:
        if not isinstance(value, (int, float, np.number)) or (self.whole and float(value) % 1):
            return False
        return bool((self.low < value if self.above else self.low <= value) and value <= self.high)


class OneOf(tuple[str, ...]):
    """Words that an argument may be."""

    def check(self, name: str, value: object) -> None:
        """Refuse any other value.

        Raises:
            ValueError: If the value is not among the words; the message names the nearest.
        """
        if value not in self:
            raise ValueError(unknown(name, value, self))


Number = Annotated[float, Range()]
NonNegative = Annotated[float, Range(0)]
Positive = Annotated[float, Range(0, above=True)]
Probability = Annotated[float, Range(0, 1)]
PositiveProbability = Annotated[float, Range(0, 1, above=True)]
Percent = Annotated[float, Range(0, 100)]
Whole = Annotated[int, Range(0, whole=True)]
Count = Annotated[int, Range(1, whole=True)]
AtLeastTwo = Annotated[int, Range(2, whole=True)]
Numbers = Annotated[Sequence[float], Range(size=0)]
Probabilities = Annotated[Sequence[float], Range(0, 1, size=0)]
TwoProbabilities = Annotated[tuple[float, float], Range(0, 1, size=2)]
Block = Annotated[tuple[int, int], Range(1, whole=True, size=2, in_order=True)]  #: fewest and most trials of a block


def declared_ranges(function: Callable[..., None]) -> dict[str, Range | OneOf]:
    """Ranges that the annotations of a constructor declare, by argument."""
    known = getattr(inspect.unwrap(function), "__globals__", {})
    ranges: dict[str, Range | OneOf] = {}
    for name, annotation in getattr(function, "__annotations__", {}).items():
        hint = known.get(annotation.partition(" ")[0]) if isinstance(annotation, str) else annotation
        ranges |= {name: p for p in getattr(hint, "__metadata__", ()) if isinstance(p, Range | OneOf)}  # noqa: B035
    return ranges


def within_ranges(function: Callable[..., None]) -> Callable[..., None]:
    """Check the arguments of a constructor against the ranges that its annotations declare; None passes.

    >>> class Task:
    ...     @within_ranges
    ...     def __init__(self, sigma: NonNegative = 1.0): ...
    >>> Task(sigma=-1)
    Traceback (most recent call last):
    ...
    ValueError: sigma must be a number, at least 0, got -1
    """
    ranges = declared_ranges(function)
    if not ranges:
        return function
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: object, **kwargs: object) -> None:
        given = signature.bind(*args, **kwargs).arguments
        for name in ranges:
            if given.get(name) is not None:
                ranges[name].check(name, given[name])
        function(*args, **kwargs)

    return checked


#: Arguments that are no attributes to assign to: the time step is fixed, the others are tables.
OTHERS = ("self", "dt", "rewards", "timing")


class Reconstructible(Changed, Protocol):
    """A task that can be made a second time with other arguments."""

    @property
    def remakes(self) -> bool:
        """Whether the task can be made again."""

    def arguments(self) -> dict[str, object]:
        """Every argument with the present value."""

    def copy_with(self, changes: Mapping[str, object]) -> Reconstructible:
        """Make a task with the same arguments except for some changes."""

    def copy_differences(self, made: object, changes: Mapping[str, object]) -> None:
        """Copy the attributes in which another task differs."""


class Parameter:
    """Attribute for a constructor argument: assignment has the effect of making the task with the new value."""

    def __init__(self, name: str):
        self.name = name

    def __get__(self, task: Reconstructible | None, owner: type | None = None) -> Any:
        """The present value."""
        if task is None:
            return self
        try:
            return task.__dict__[self.name]
        except KeyError:
            raise AttributeError(f"{type(task).__name__!r} object has no attribute {self.name!r}") from None

    def __set__(self, task: Reconstructible, value: Any) -> None:
        """Set the value, with effect from the next trial on."""
        present = vars(task)
        if not task.is_made or (self.name in present and same(present[self.name], value)):
            present[self.name] = value
            return
        if not task.remakes or self.name not in task.arguments():  # an argument of the base class alone
            present[self.name] = value
            task.forget_trials_ahead()
            return
        made = task.copy_with({self.name: value})
        if self.name not in vars(made) or np.array_equal(vars(made)[self.name], value):
            task.copy_differences(made, {self.name: value})
        else:  # the attribute is something derived from the argument, and is assigned as such
            self._derive(task, value, vars(made)[self.name])
            present[self.name] = value
        task.forget_trials_ahead()

    def _derive(self, task: Reconstructible, value: Any, derived: Any) -> None:
        """Adjust the argument to an assigned derived value, if proportional: ``sigma`` to noise per step."""
        if not all(isinstance(number, (int, float, np.number)) for number in (value, derived)) or derived == 0:
            return
        argument = float(value) ** 2 / float(derived)
        made = task.copy_with({self.name: argument})
        if np.isclose(vars(made)[self.name], value):
            task.copy_differences(made, {self.name: argument})

    def __delete__(self, task: Reconstructible) -> None:
        """Delete the attribute."""
        del vars(task)[self.name]


class EnvMeta(type):
    """Stores the constructor arguments of a task and makes each argument assignable."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kwargs: object):
        super().__init__(name, bases, namespace, **kwargs)
        if "__init__" in namespace:
            cls.__init__ = within_ranges(namespace["__init__"])  # type: ignore[misc]
        own = inspect.signature(cls.__init__)  # type: ignore[misc]  # what a call of the class takes
        cls.__signature__ = own.replace(parameters=list(own.parameters.values())[1:])
        if "__init__" in namespace:
            for parameter in inspect.signature(namespace["__init__"]).parameters.values():
                named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
                if named and parameter.name not in OTHERS and not hasattr(cls, parameter.name):
                    setattr(cls, parameter.name, Parameter(parameter.name))

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        """Make a task and keep the arguments, without Gymnasium's ``render_mode``."""
        render_mode = None if "render_mode" in inspect.signature(cls).parameters else kwargs.pop("render_mode", None)
        if render_mode not in (None, *cls.metadata["render_modes"]):  # type: ignore[attr-defined]
            raise ValueError(unknown("render_mode", render_mode, cls.metadata["render_modes"]))  # type: ignore[attr-defined]
        try:
            task = super().__call__(*args, **kwargs)
        except AttributeError as error:
            _require_base(error.obj if isinstance(error.obj, cls) else None, error)
            raise
        _require_base(task)
        if render_mode is not None:
            task.render_mode = render_mode
        task.record_arguments(_bound(cls, task, args, kwargs))
        return task


def _require_base(task: object, error: Exception | None = None) -> None:
    """Raise TypeError if a task's constructor has not called the constructor of the base class."""
    if task is not None and "performance" not in vars(task):
        name = type(task).__name__
        raise TypeError(f"{name}.__init__ must begin with super().__init__(dt=dt, ...): it was not called") from error


def _bound(cls: type, task: object, args: tuple, kwargs: dict[str, object]) -> dict[str, object]:
    signature = inspect.signature(cls.__init__)  # type: ignore[misc]
    given = dict(signature.bind(task, *args, **kwargs).arguments)
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            given |= given.pop(parameter.name, {})
    del given[next(iter(signature.parameters))]
    return given
