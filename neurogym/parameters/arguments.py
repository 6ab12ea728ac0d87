"""The arguments that a task was made with, as attributes that can be assigned to."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any

import numpy as np

from neurogym.messages.names import unknown


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
    names = getattr(inspect.unwrap(function), "__globals__", {})
    ranges: dict[str, Range | OneOf] = {}
    for name, annotation in getattr(function, "__annotations__", {}).items():
        hint = names.get(annotation.partition(" ")[0]) if isinstance(annotation, str) else annotation
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
        arguments = signature.bind(*args, **kwargs).arguments
        for name in ranges:
            if arguments.get(name) is not None:
                ranges[name].check(name, arguments[name])
        function(*args, **kwargs)

    return checked


#: Arguments that are no attributes to assign to: the time step is fixed, the others are tables.
OTHERS = ("self", "dt", "rewards", "timing")
#: Arguments that are called otherwise as an attribute, since the name is taken.
TAKEN = ("session",)


def recorded(constructor: Callable[..., None]) -> Callable[..., None]:
    """Let the constructor of a task check the ranges of the arguments and record the arguments.

    Of several constructors that call each other only the outermost records. This constructor also accepts Gymnasium's
    ``render_mode``.
    """
    checked = within_ranges(constructor)
    signature = inspect.signature(constructor)

    @functools.wraps(constructor)
    def __init__(self: Any, *args: object, **kwargs: object) -> None:
        if "_arguments" in vars(self):
            checked(self, *args, **kwargs)
            return
        render_mode = None if "render_mode" in signature.parameters else kwargs.pop("render_mode", None)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(unknown("render_mode", render_mode, self.metadata["render_modes"]))
        self._arguments = {}
        error: AttributeError | None = None
        try:
            checked(self, *args, **kwargs)
        except AttributeError as raised:
            if "session" in vars(self):
                raise
            error = raised
        if "session" not in vars(self):
            text = "must begin with super().__init__(dt=dt, ...): it was not called"
            raise TypeError(f"{type(self).__name__}.__init__ {text}") from error
        if not hasattr(self.session, "cursor"):
            raise TypeError(f"{type(self).__name__}: session is the session of the task; call this attribute otherwise")
        if render_mode is not None:
            self.render_mode = render_mode
        self._arguments, self._is_made = _bound(signature, self, args, kwargs), True

    return __init__


def _bound(
    signature: inspect.Signature, task: object, args: tuple[Any, ...], kwargs: dict[str, object]
) -> dict[str, object]:
    """Arguments by name, those of ``**kwargs`` included."""
    arguments = dict(signature.bind(task, *args, **kwargs).arguments)
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            arguments |= arguments.pop(parameter.name, {})
    del arguments[next(iter(signature.parameters))]
    return arguments
