"""What a Google docstring says of each argument."""

from __future__ import annotations

import inspect
import re
from typing import Any


def summary(entry: Any) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join((inspect.getdoc(entry) or "").partition("\n\n")[0].split())


def arguments(entry: Any) -> dict[str, str]:
    """Return the description of each argument, from the section ``Args:`` of a class or function.

    Example:
        >>> arguments(arguments)
        {'entry': 'what has the docstring.'}

    Args:
        entry: what has the docstring.
    """
    found: dict[str, str] = {}
    inside = False
    names: list[str] = []
    for line in (inspect.getdoc(entry) or "").splitlines():
        if not line.startswith(" ") and line.strip():
            inside = line.strip() == "Args:"
        elif inside and line.startswith("    "):
            begins = re.match(r"    ((?:\*{0,2}\w+(?:, )?)+)(?: \([^)]*\))?: +(.*)", line)
            if begins and not line.startswith("     "):
                names = [name.strip(" *") for name in begins[1].split(",")]
                found.update(dict.fromkeys(names, begins[2].strip()))
            else:
                found.update({name: f"{found.get(name, '')} {line.strip()}".strip() for name in names})
    return found
