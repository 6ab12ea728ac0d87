"""Search space of a sweep: ``KIND:...`` for each parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ngym_cli.config.values import Scalar, parse_call, parse_scalar
from ngym_cli.errors import unknown

if TYPE_CHECKING:
    from optuna.trial import Trial

DISTRIBUTIONS = ("log", "float", "int", "logint", "choice")


@dataclass(frozen=True)
class SearchParameter:
    """Parameter of a search and its values.

    Attributes:
        name: a name in ``DISTRIBUTIONS``.
        values: low and high (and a step for ``int``), or the values of a choice.
    """

    name: str
    values: tuple[Any, ...]

    def suggest(self, trial: Trial, key: str) -> Scalar:
        """Let an Optuna trial draw the parameter."""
        if self.name == "choice":
            return trial.suggest_categorical(key, self.values)
        low, high, *step = self.values
        if self.name in ("int", "logint"):
            return trial.suggest_int(key, low, high, step=step[0] if step else 1, log=self.name == "logint")
        return trial.suggest_float(key, low, high, log=self.name == "log")

    def holds(self, value: object) -> bool:
        """Return whether a value could be drawn."""
        if self.name == "choice":
            return value in self.values
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        low, high, *step = self.values
        return low <= value <= high and (not step or (value - low) % step[0] == 0)

    def corners(self) -> tuple[Scalar, ...]:
        """Return the values that represent the whole range when a search is checked."""
        return self.values if self.name == "choice" else self.values[:2]


def parse_kind(key: str, text: str) -> SearchParameter:
    """Read ``log:1e-4:1e-2``, ``float:0:1``, ``int:16:256[:16]``, ``logint:16:256`` or ``choice:lstm:gru``.

    Raises:
        ValueError: on an unknown kind, numbers missing, or an empty range.
    """
    call = parse_call(text, f"space {key}")
    name = call.name
    if name not in DISTRIBUTIONS:
        raise ValueError(f"space {key}: {unknown('kind', name, DISTRIBUTIONS)}")
    values = tuple(parse_scalar(word) for word in call.positional)
    if name == "choice":
        if len(values) < 2:
            raise ValueError(f"space {key}: a choice needs two values or more")
        return SearchParameter(name, values)
    is_integer = name in ("int", "logint")
    bounds = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if is_integer:
        bounds = [value for value in bounds if isinstance(value, int)]
    fits = len(values) == 2 or (name == "int" and len(values) == 3)
    if not fits or len(bounds) < len(values):
        numbers = "two whole numbers" if is_integer else "two numbers"
        raise ValueError(f"space {key}: {name} takes {numbers}, lowest and highest, not '{':'.join(call.positional)}'")
    low, high, *step = bounds
    if not low < high or (name in ("log", "logint") and low <= 0) or (step and step[0] < 1):
        raise ValueError(f"space {key}: '{text}' is not a range{' above 0' if name.startswith('log') else ''}")
    return SearchParameter(name, values)


def kinds(space: Mapping[str, str]) -> dict[str, SearchParameter]:
    """Return all parameters of a search."""
    return {key: parse_kind(key, text) for key, text in space.items()}
