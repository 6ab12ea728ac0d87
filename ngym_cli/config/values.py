"""Reading values off the command line by their type; nothing is ever evaluated as code."""

from __future__ import annotations

import math
from typing import Any

from ngym_cli.errors import UserError

#: Longest duration of a period (ms).
LONGEST = 10_000_000

#: What is written on the command line: one value, or a list of values, or a list of lists.
Scalar = bool | int | float | str | None
Value = Scalar | list[Scalar] | list[list[Scalar]]

_WORDS: dict[str, bool | None] = {"true": True, "false": False, "none": None, "null": None}


def parse_scalar(text: str) -> Scalar:
    """Read one value: bool, none, int, float, or else the text itself.

    Example:
        >>> [parse_scalar(t) for t in ("3", "3e-4", "true", "linear")]
        [3, 0.0003, True, 'linear']
    """
    text = text.strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parse_value(text: str) -> Value:
    """Read a value; a slash makes a list, a double slash a list of lists.

    Example:
        >>> parse_value("0.2/0.8"), parse_value("0.8/0.2//0.2/0.8")
        ([0.2, 0.8], [[0.8, 0.2], [0.2, 0.8]])

    Raises:
        UserError: on a list in brackets.
    """
    if text.lstrip().startswith(("[", "(")):
        raise UserError(f"a list is written with slashes, as 0.2/0.8 (rows: 0.2/0.8//0.8/0.2), not '{text}'")
    if "//" in text:
        return [[parse_scalar(item) for item in row.split("/")] for row in text.split("//")]
    if "/" in text:
        return [parse_scalar(item) for item in text.split("/")]
    return parse_scalar(text)


def match_type(value: object, default: object, key: str) -> Any:
    """Return a value as the type of its default, or refuse it.

    Raises:
        UserError: if it cannot be that type (a word for a number, a fraction for a count).
    """
    if default is None or value is None:
        return value
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
        raise UserError(f"{key} must be true or false, not '{value}'")
    if isinstance(default, int | float):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UserError(f"{key} must be a number, not '{value}'")
        if isinstance(default, int):
            if float(value) != int(value):
                raise UserError(f"{key} must be a whole number, not {value}")
            return int(value)
        return float(value)
    if isinstance(default, list | tuple):
        return value if isinstance(value, list) else [value]
    return str(value) if isinstance(default, str) else value


def parse_assignment(text: str, flag: str) -> tuple[str, str]:
    """Split ``key=value``.

    Raises:
        UserError: if there is no key or no equals sign.
    """
    key, sign, value = text.partition("=")
    if not sign or not key.strip() or not value.strip():
        raise UserError(f"{flag} takes KEY=VALUE, not '{text}'")
    return key.strip(), value.strip()


def parse_duration(text: object, period: str) -> Any:
    """Check one duration of a period and return it in its written form.

    A number is that many ms; a list one of its elements, drawn uniformly; a text names a distribution and its
    arguments, as in ``uniform:200:600``.

    Args:
        text: the duration as written on the command line or in a configuration file.
        period: its period, for messages.

    Raises:
        UserError: on an unknown distribution, wrong arguments, or a negative duration.
    """
    from neurogym.sampling.distributions import Distribution

    written = parse_scalar(text) if isinstance(text, str) else text
    try:
        if isinstance(written, bool):
            raise ValueError(f"{written} is no duration")
        shortest, _ = Distribution.of(duration_for_task(written)).bounds()
    except (ValueError, TypeError) as error:
        raise UserError(f"timing {period}: {error}") from None
    if not 0 <= shortest < math.inf:
        raise UserError(f"timing {period}: a duration must be 0 ms or more, not {shortest:g}")
    if shortest > LONGEST:
        raise UserError(f"timing {period}: a duration must be at most {LONGEST:,} ms, not {shortest:g}")
    return written


def duration_for_task(value: object) -> Any:
    """Return a written duration in the form that tasks take: a number, a list, or (distribution, arguments).

    Example:
        >>> duration_for_task("uniform:200:600"), duration_for_task("until:2000"), duration_for_task(500)
        (('uniform', [200, 600]), ('until', 2000), 500)
    """
    if not isinstance(value, str):
        return value
    name, *arguments = value.split(":")
    numbers = [parse_scalar(item) for item in arguments]
    single = name in ("constant", "until") and len(numbers) == 1
    return (name, numbers[0] if single else numbers)


def written_duration(value: Any) -> Any | None:
    """Return a task's own duration in its written form, or None for one that has none (a function).

    Example:
        >>> written_duration(("uniform", (200, 600)))
        'uniform:200:600'
    """
    from neurogym.sampling.distributions import Distribution

    kind, numbers = Distribution.of(value)
    if kind == "callable":
        return None
    if kind == "constant":
        return number_from(numbers)
    values = [numbers] if kind == "until" else numbers
    if not isinstance(value[0], str):
        return [number_from(item) for item in values]
    return ":".join([kind, *(str(number_from(item)) for item in values)])


def number_from(value: Any) -> int | float:
    """Return a number as int where it is whole, so that it is written without a point."""
    value = float(value)
    return int(value) if value.is_integer() else value


def parse_wrappers(text: str) -> list[dict[str, Any]]:
    """Read a stack of wrappers: ``name,name:key=value:key=value``, innermost first.

    A piece without an equals sign continues the value before it, so that a value may hold a colon
    (``combine:task2=my_task.py:MyTask:delay=800``).

    Returns:
        A list of ``{"name": ..., key: value, ...}``.

    Raises:
        UserError: on an empty name or a key given twice.
    """
    stack: list[dict[str, Any]] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, *pieces = part.split(":")
        pairs: list[list[str]] = []
        for piece in pieces:
            key, sign, value = piece.partition("=")
            if sign:
                pairs.append([key.strip(), value])
            elif pairs:
                pairs[-1][1] += ":" + piece
            else:
                raise UserError(f"wrapper '{part}': expected name:key=value, not '{piece}'")
        entry: dict[str, Any] = {"name": name.strip()}
        for key, value in pairs:
            if key in entry or not key:
                raise UserError(f"wrapper '{part}': '{key}' is given twice" if key else f"wrapper '{part}': empty key")
            entry[key] = value if ":" in value else parse_value(value)
        stack.append(entry)
    return stack
