"""Options of algorithms and networks: name, type, default, range, meaning. No torch here.

The tables of ``learners.toml`` say what a user may set; a configuration spells out every entry, so that it means
the same under the next version of the library that learns.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ngym_cli.config.values import match_type, write_value
from ngym_cli.errors import UserError, unknown
from ngym_cli.files import reading

#: Options by name.
Values = dict[str, Any]

FILE = Path(__file__).with_name("learners.toml")

Kind = Literal["number", "whole", "truth", "word", "list", "table", "any"]

#: A value of each type; written values must have the same type.
EXAMPLES: Values = {"number": 0.0, "whole": 0, "truth": False, "word": "", "list": []}

#: Words for the values of kinds without limits.
WORDS_FOR = {
    "truth": "true or false", "list": "a/b/c", "word": "a word", "table": "NAME=NUMBER", "any": "any value",
}  # fmt: skip


@dataclass(frozen=True)
class Option:
    """Something that a user may set.

    Attributes:
        name: as it is written.
        kind: its type.
        default: used unless another value is given.
        meaning: one line, with the unit.
        low: smallest value; None for no limit.
        high: largest value; None for no limit.
        above: whether ``low`` itself is excluded.
        none: whether it may be absent (``none``).
        words: the values of a word.
        source: paper that it comes from.
        also: other words for it, by which it is found.
        required: whether it has no default and must be given.
        spelled: whether configurations name it even while it has its default.
    """

    name: str
    kind: Kind
    default: Any
    meaning: str
    low: float | None = None
    high: float | None = None
    above: bool = False
    none: bool = False
    words: tuple[str, ...] = ()
    source: str = ""
    also: tuple[str, ...] = ()
    required: bool = False
    spelled: bool = True

    def read(self, value: object) -> Any:
        """Return a given value in the option's type.

        Raises:
            UserError: if it has another type, or is out of range.
        """
        if value is None:
            if not self.none:
                raise UserError(f"{self.name} must be given a value, not none")
            return None
        if self.kind == "any":
            return value
        if self.kind == "table":
            if isinstance(value, list):  # a path, which slashes have split
                value = write_value(value)
            if isinstance(value, str) and value.endswith(".toml"):
                value = reading.parse_toml(reading.read_text(Path(value)), Path(value))
            if not isinstance(value, Mapping):
                raise UserError(f"{self.name} must be a table of names and numbers, or a TOML file, not '{value}'")
            return dict(value)
        found = match_type(value, EXAMPLES[self.kind], self.name)
        if self.words and found not in self.words:
            raise unknown(self.name, found, self.words)
        if self.kind in ("number", "whole"):
            below = self.low is not None and (found <= self.low if self.above else found < self.low)
            if below or (self.high is not None and found > self.high):
                raise UserError(f"{self.name} must be {self.range}, not {found:g}")
        return found

    @property
    def range(self) -> str:
        """Allowed values, in words."""
        if self.words:
            return " or ".join(self.words)
        least = "" if self.low is None else f"{'above' if self.above else 'at least'} {self.low:g}"
        most = "" if self.high is None else f"at most {self.high:g}"
        said = " and ".join(part for part in (least, most) if part)
        return said or WORDS_FOR.get(self.kind, "any number")


@functools.cache
def tables() -> dict[str, dict[str, Any]]:
    """Return the tables of algorithms, networks and options in ``learners.toml``."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def read_options(kind: str, chosen: Mapping[str, Any], **more: Any) -> tuple[Option, ...]:
    """Return options that are defined in a table.

    Args:
        kind: ``hyperparameters`` or ``network_options``.
        chosen: name to default, or to a table of entries that replace those of the definition.
        **more: entries that replace those of all definitions.
    """
    found = []
    for name, given in chosen.items():
        entry = {"default": None, **tables()[kind][name], **(given if isinstance(given, dict) else {"default": given})}
        entry |= {key: tuple(entry[key]) for key in ("words", "also") if key in entry}
        entry["default"] = None if entry["default"] == "none" else entry["default"]
        found.append(Option(name, **{**entry, **more}))
    return tuple(found)


def complete(
    options: Iterable[Option], defaults: Mapping[str, object], given: Mapping[str, object], kind: str
) -> Values:
    """Return the value of every option: the given value, else the default given here, else the option's own default.

    Args:
        options: all that there are.
        defaults: other defaults for the occasion.
        given: settings of the user.
        kind: word for an option in messages.

    Raises:
        UserError: on an unknown name, with the nearest, or a value that does not fit.
    """
    known = {option.name: option for option in options}
    for name in given:
        if name not in known:
            raise _unknown(kind, name, known.values())
    for name, option in known.items():
        if option.required and name not in given and name not in defaults:
            raise UserError(f"{kind} '{name}' has no default and must be given")
    values = {name: defaults.get(name, option.default) for name, option in known.items()}
    values |= {name: known[name].read(value) for name, value in given.items()}
    return {name: value for name, value in values.items() if known[name].spelled or value != known[name].default}


def _unknown(kind: str, name: str, options: Iterable[Option]) -> UserError:
    """Return the error for an unknown option; common synonyms of option names are recognised."""
    options = list(options)
    for option in options:
        if name.lower() in option.also:
            return UserError(f"unknown {kind} '{name}'; did you mean '{option.name}'?")
    return unknown(kind, name, [option.name for option in options])
