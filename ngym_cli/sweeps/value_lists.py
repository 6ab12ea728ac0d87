"""Lists of values on the command line: commas, and ranges of whole numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ngym_cli.config.values import Value, parse_value
from ngym_cli.errors import UserError

_RANGE = re.compile(r"(-?\d+):(-?\d+)(?::(-?\d+))?")

#: Most values of one parameter.
MOST = 100_000

#: Dotted keys of a configuration to the values of one job.
Values = dict[str, Any]


def parse_list(text: str, parse: Callable[[str], Value] = parse_value, what: str = "") -> list[Value]:
    """Read ``a,b,c`` or ``START:STOP[:STEP]`` (whole numbers, STOP left out, as in Python), or both mixed.

    Args:
        text: as typed.
        parse: reads one value that is no range.
        what: the flag or key, for messages.

    Raises:
        UserError: if there is no value, or an endless range.

    Example:
        >>> parse_list("1e-3,1e-4"), parse_list("0:3"), parse_list("16,32:65:32")
        ([0.001, 0.0001], [0, 1, 2], [16, 32, 64])
    """
    values: list[Value] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        found = _RANGE.fullmatch(part)
        if found is None:
            values.append(parse(part))
            continue
        start, stop, step = (int(number) if number else 1 for number in found.groups())
        if step == 0 or not range(start, stop, step):
            raise UserError(f"{what}: range '{part}' is empty")
        if len(range(start, stop, step)) > MOST:
            raise UserError(f"{what}: range '{part}' has more than {MOST:,} values")
        values.extend(range(start, stop, step))
    if not values:
        raise UserError(f"{what}: no value in '{text}'")
    return values


def as_list(value: object, what: str) -> list[Any]:
    """Return what a recipe says of one parameter as a list of values; a text may be a list or a range."""
    if isinstance(value, str):
        return parse_list(value, what=what)
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not values:
        raise UserError(f"{what}: the list is empty")
    return values
