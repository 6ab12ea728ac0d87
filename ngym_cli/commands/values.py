"""Types of options that are more generous than Python's."""

from __future__ import annotations

import math


def whole(text: str | int) -> int:
    """Read a whole number, also as ``1e5``, ``100_000`` or ``100,000``.

    Raises:
        ValueError: if it is none; the command line says for which option.
    """
    written = str(text).strip().replace(",", "")
    try:
        return int(written)
    except ValueError:
        pass
    try:
        number = float(written)
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise ValueError(f"{text!r} is not a whole number")
    return int(number)
