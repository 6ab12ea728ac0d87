"""Written values: the grammar of everything typed on the command line or as text in a TOML file.

| form | written | read as |
|---|---|---|
| scalar | ``3``, ``3e-4``, ``true``, ``none``, ``linear`` | number, truth value, nothing, word |
| list | ``0.2/0.8``, ``0.2/`` | ``[0.2, 0.8]``, ``[0.2]`` |
| rows | ``0.8/0.2//0.2/0.8``, ``0.8/0.2//`` | ``[[0.8, 0.2], [0.2, 0.8]]``, ``[[0.8, 0.2]]`` |
| assignment | ``NAME=VALUE`` | name and value |
| alternatives | ``a,b,c`` | several entries |
| range | ``0:5``, ``16:65:16`` | whole numbers, the last one excluded |
| call | ``uniform:200:600``, ``side_bias:probs=0.2/0.8`` | name, positional and named arguments |
| file | ``tables/areas.toml`` | the text itself: what ends in .csv, .npy, .npz or .toml is no list |

Every setting uses these forms: arguments of tasks, networks and algorithms (assignments), durations and search spaces
(calls with positional arguments), wrappers and perturbations (calls with named arguments), sweeps (alternatives and
ranges). ``docs/values.md`` explains them to users. Nothing is ever evaluated as code.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ngym_cli.errors import UserError

#: Most values of a range.
MAX_RANGE_VALUES = 100_000

#: A value as written: a scalar, a list of scalars, or rows of scalars.
Scalar = bool | int | float | str | None
Value = Scalar | list[Scalar] | list[list[Scalar]]

#: Values by name: of options, or of a configuration's dotted keys in one run of a sweep.
Values = dict[str, Any]

#: Endings of files that values name.
FILE_ENDINGS = (".csv", ".npy", ".npz", ".toml")

_WORDS: dict[str, bool | None] = {"true": True, "false": False, "none": None, "null": None}
_RANGE = re.compile(r"(-?\d+):(-?\d+)(?::(-?\d+))?")
_LEADING_ZERO = re.compile(r"-?0\d+")
_ROW_SEPARATOR = re.compile("//(?!/)")  # a row of a single item ends with a slash of its own
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_NAME = re.compile(r"[^\W\d]\w*")
_CLASS = re.compile(r"_*[A-Z]\w*")


class Range(str):
    """Range of values of a continuous column, as in ``0.1 to 0.4``."""


# -- scalars, lists, assignments ------------------------------------------------------------------------------------


def parse_scalar(text: str) -> Scalar:
    """Read a scalar: a truth value, none, a number, or else the text itself.

    Example:
        >>> [parse_scalar(t) for t in ("3", "3e-4", "true", "linear")]
        [3, 0.0003, True, 'linear']
    """
    text = text.strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def parse_value(text: str) -> Value:
    """Read a value; a slash separates the items of a list, a double slash the rows of a list of lists.

    A slash at the end makes a list of a single item, a double slash at the end a list of a single row.

    Example:
        >>> parse_value("0.2/0.8"), parse_value("0.8/0.2//0.2/0.8"), parse_value("0.2/")
        ([0.2, 0.8], [[0.8, 0.2], [0.2, 0.8]], [0.2])

    Raises:
        UserError: on a list in brackets.
    """
    if text.lstrip().startswith(("[", "(")):
        raise UserError(f"a list is written with slashes, as 0.2/0.8 (rows: 0.2/0.8//0.8/0.2), not '{text}'")
    if text.endswith(FILE_ENDINGS):
        return text
    if "//" in text:
        rows = _ROW_SEPARATOR.split(text.removesuffix("//"))
        return [[parse_scalar(item) for item in row.removesuffix("/").split("/")] for row in rows]
    if "/" in text:
        return [parse_scalar(item) for item in text.removesuffix("/").split("/")]
    return parse_scalar(text)


def write_value(value: object) -> str:
    """Return the written form of a value; the inverse of ``parse_value``.

    Example:
        >>> write_value([[0.8, 0.2], [0.2, 0.8]]), write_value(None), write_value(1e-4)
        ('0.8/0.2//0.2/0.8', 'none', '0.0001')
    """
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        rows = any(isinstance(item, list | tuple) for item in value)
        between = "//" if rows else "/"
        return between.join(map(write_value, value)) + between * (len(value) == 1)
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return str(value)


def parse_option(text: str) -> Scalar:
    """Read the value of an option of sbatch; times such as 2:00:00 stay texts."""
    return text if ":" in text else parse_scalar(text)


def parse_whole(text: str | int) -> int:
    """Read a whole number, also written as ``1e5`` or ``100_000``.

    Raises:
        ValueError: if the text is not a whole number, for example because a comma separates alternatives.
    """
    written = str(text).strip()
    if "," in written:
        raise ValueError(f"{text!r} is not a whole number: commas separate numbers, write 100000, 100_000 or 1e5")
    with contextlib.suppress(ValueError):
        return int(written)
    try:
        number = float(written)
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise ValueError(f"{text!r} is not a whole number")
    return int(number)


def parse_assignment(text: str, flag: str) -> tuple[str, str]:
    """Split ``NAME=VALUE``.

    Raises:
        UserError: if the key, the value or the equals sign is missing.
    """
    key, sign, value = text.partition("=")
    if not sign or not key.strip() or not value.strip():
        raise UserError(f"{flag} takes NAME=VALUE, not '{text}'")
    return key.strip(), value.strip()


def parse_assignments(texts: Iterable[str], flag: str, parse: Callable[[str], object] = parse_value) -> Values:
    """Read several assignments into a table.

    Args:
        texts: each ``NAME=VALUE``.
        flag: name of the option, for messages.
        parse: function that reads a value.

    Raises:
        UserError: on a text that is not an assignment, or a key given twice.
    """
    values: Values = {}
    for text in texts:
        key, value = parse_assignment(text, flag)
        if key in values:
            raise UserError(f"{flag}: '{key}' appears twice")
        values[key] = parse(value)
    return values


# -- alternatives and ranges ----------------------------------------------------------------------------------------


def split_entries(text: str | Iterable[object] | None) -> list[str]:
    """Split a text at commas; empty entries are dropped. Names that are separate already stay so; None is no name."""
    if not isinstance(text, str):
        return [str(entry) for entry in text or ()]
    return [entry for entry in (piece.strip() for piece in text.split(",")) if entry]


def parse_list(text: str, parse: Callable[[str], Value] = parse_value, option: str = "") -> list[Value]:
    """Read alternatives ``a,b,c``, a range ``START:STOP[:STEP]`` (STOP excluded, as in Python), or a mixture.

    Args:
        text: as typed.
        parse: function that reads a single value.
        option: name of the flag or key, for messages.

    Raises:
        UserError: if the text holds no value, or an empty or too long range.

    Example:
        >>> parse_list("1e-3,1e-4"), parse_list("0:3"), parse_list("16,32:65:32")
        ([0.001, 0.0001], [0, 1, 2], [16, 32, 64])
    """
    values: list[Value] = []
    for entry in split_entries(text):
        if parse is not str and _LEADING_ZERO.fullmatch(entry):
            raise UserError(f"{option} {text}: '{entry}' begins with 0; a comma separates numbers, write 1024 or 1_024")
        bounds = _RANGE.fullmatch(entry)
        if bounds is None:
            values.append(parse(entry))
            continue
        start, stop, step = (int(number) if number else 1 for number in bounds.groups())
        if step == 0 or not range(start, stop, step):
            raise UserError(f"{option}: range '{entry}' is empty")
        if len(range(start, stop, step)) > MAX_RANGE_VALUES:
            raise UserError(f"{option}: range '{entry}' has more than {MAX_RANGE_VALUES:,} values")
        values.extend(range(start, stop, step))
    if not values:
        raise UserError(f"{option}: no value in '{text}'")
    return values


def parse_whole_numbers(text: str, option: str) -> list[int]:
    """Read whole numbers as in ``parse_list``, each as in ``parse_whole``.

    Raises:
        UserError: if an entry is not a whole number.

    Example:
        >>> parse_whole_numbers("1,2,1e4,10:13", "--units")
        [1, 2, 10000, 10, 11, 12]
    """
    try:
        values: list[Any] = parse_list(text, parse_whole, option)
    except ValueError as error:
        raise UserError(f"{option}: {error}") from None
    return values


def as_list(value: object, name: str) -> list[Any]:
    """Return the values of a parameter of a recipe as a list; a text may hold alternatives or a range."""
    if isinstance(value, str):
        return parse_list(value, option=name)
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not values:
        raise UserError(f"{name}: the list is empty")
    return values


# -- calls ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """A name with arguments, as in ``uniform:200:600`` or ``side_bias:probs=0.2/0.8``.

    Attributes:
        name: text before the first colon; for a user's own code ``file.py:Name`` or ``module:Name``.
        positional: arguments without a name, as written.
        named: arguments with a name, as written.
    """

    name: str
    positional: tuple[str, ...] = ()
    named: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """Return the written form; the inverse of ``parse_call``."""
        return ":".join([self.name, *self.positional, *(f"{key}={value}" for key, value in self.named)])


def parse_call(text: str, subject: str) -> Call:
    """Read ``NAME:ARG:...:KEY=VALUE:...``; positional arguments come first.

    A piece without an equals sign that follows a named argument continues its value, so that a value may hold a colon:
    ``combine:task2=my_task.py:MyTask:delay=800``.

    Args:
        text: as written.
        subject: subject of messages, such as "wrapper".

    Raises:
        UserError: on an empty key, or a key given twice.

    Example:
        >>> parse_call("my.py:Gain:factor=2", "wrapper")
        Call(name='my.py:Gain', positional=(), named=(('factor', '2'),))
    """
    name, *pieces = text.split(":")
    if pieces and len(name) == 1 and pieces[0].startswith(("/", "\\")):  # a drive letter of Windows
        name = f"{name}:{pieces.pop(0)}"
    if pieces and _NAME.fullmatch(pieces[0].strip()) and name.strip().endswith(".py"):
        name = f"{name}:{pieces.pop(0)}"
    positional: list[str] = []
    named: list[list[str]] = []
    for piece in pieces:
        key, sign, value = piece.partition("=")
        if sign:
            if not key.strip():
                raise UserError(f"{subject} '{text}': a name is missing before '='")
            if key.strip() in (key_before for key_before, _ in named):
                raise UserError(f"{subject} '{text}': '{key.strip()}' appears twice")
            named.append([key.strip(), value])
        elif named:
            named[-1][1] += ":" + piece
        else:
            positional.append(piece)
    return Call(name.strip(), tuple(positional), tuple((key, value) for key, value in named))


def parse_wrappers(text: str) -> list[dict[str, Any]]:
    """Read a stack of wrappers, innermost first: ``name,name:key=value:key=value``; ``none`` is an empty stack.

    A wrapper of one's own is ``file.py:Name`` or ``package.module:Name``, with or without arguments.

    Returns:
        A list of ``{"name": ..., key: value, ...}``.

    Raises:
        UserError: on an argument without a name, or a key given twice.
    """
    stack: list[dict[str, Any]] = []
    for entry in split_entries("" if text.strip() == "none" else text):
        call = parse_call(entry, "wrapper")
        name, positional = call.name, list(call.positional)
        if positional and _MODULE.fullmatch(name) and _CLASS.fullmatch(positional[0]):
            name = f"{name}:{positional.pop(0)}"
        if positional:
            raise UserError(f"wrapper '{entry}': expected name:key=value, not '{positional[0]}'")
        if "name" in dict(call.named):
            raise UserError(f"wrapper '{entry}': an argument cannot be called 'name'")
        arguments = {key: value if ":" in value else parse_value(value) for key, value in call.named}
        stack.append({"name": name, **arguments})
    return stack


# -- nested tables ----------------------------------------------------------------------------------------------------


def merge(base: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """Override a nested dictionary by another: tables are merged, all other values replaced."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


def nest(values: Mapping[str, object]) -> dict[str, object]:
    """Return dotted keys as nested tables."""
    nested: dict[str, object] = {}
    for key, value in values.items():
        first, dot, rest = key.partition(".")
        nested = merge(nested, {first: nest({rest: value}) if dot else value})
    return nested


def lookup(settings: object, key: str) -> Any:
    """Return the value of a dotted key in nested tables, or None if there is none."""
    for name in key.split("."):
        settings = settings.get(name) if isinstance(settings, Mapping) else None
    return settings


def leaves(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Return dotted keys and values of nested tables."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def plain_text(value: object) -> Scalar:
    """Return numbers, truth values, texts and None as they are, other values as text."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def flatten(config: Mapping[str, object]) -> dict[str, Scalar]:
    """Return a nested configuration as a flat table of numbers, truth values and texts."""
    return {key: plain_text(value) for key, value in leaves(config) if value is not None}
