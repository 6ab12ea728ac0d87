"""Durations of periods as written, and in the form that tasks take; the grammar is that of `ngym_cli.config.values`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, SupportsFloat

from ngym_cli.config.values import Call, parse_scalar, parse_value, write_value
from ngym_cli.errors import UserError

#: Longest duration of a period (ms).
LONGEST = 10_000_000


def parse_duration(text: object, period: str) -> object:
    """Check the duration of a period and return the written form.

    A number is a duration in ms; a list is a set of durations, one of which is drawn; a call such as
    ``uniform:200:600`` names a distribution and its arguments.

    Args:
        text: duration as written on the command line or in a configuration file.
        period: name of the period, for messages.

    Raises:
        UserError: on an unknown distribution, wrong arguments, or a negative duration.
    """
    from neurogym.sampling.distributions import Distribution

    try:
        written = parse_value(text) if isinstance(text, str) else text
        if isinstance(written, bool):
            raise ValueError(f"{write_value(written)} is not a valid duration")
        shortest, _ = Distribution.of(duration_for_task(written)).bounds()
    except (UserError, ValueError, TypeError) as error:
        raise UserError(f"timing {period}: {error}") from None
    if not 0 <= shortest < math.inf:
        raise UserError(f"timing {period}: a duration must be 0 ms or more, not {shortest:g}")
    if shortest > LONGEST:
        raise UserError(f"timing {period}: a duration must be at most {LONGEST:,} ms, not {shortest:g}")
    return written


def duration_for_task(value: object) -> object:
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


def durations_for_task(timing: Mapping[str, object]) -> dict[str, object]:
    """Return written durations by period in the form that tasks take."""
    return {period: duration_for_task(value) for period, value in timing.items()}


def written_duration(value: Any) -> float | str | list[float] | None:
    """Return the written form of a task's own duration, or None for a function.

    Example:
        >>> written_duration(("uniform", (200, 600)))
        'uniform:200:600'
    """
    from neurogym.sampling.distributions import Distribution

    kind, numbers = Distribution.of(value)
    if kind == "callable":
        return None
    if kind == "constant":
        return _number(numbers)
    values = [numbers] if kind == "until" else numbers
    if not isinstance(value[0], str):
        return [_number(item) for item in values]
    return str(Call(kind, tuple(str(_number(item)) for item in values)))


def _number(value: SupportsFloat) -> int | float:
    """Return a whole number as int, to be written without a decimal point."""
    value = float(value)
    return int(value) if value.is_integer() else value
