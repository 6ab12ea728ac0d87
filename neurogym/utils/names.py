"""Nearest valid name, for messages about unknown ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, valid: Iterable[str]) -> str | None:
    """The valid name closest to ``name``, or None if nothing is close."""
    options = {str(v).lower(): str(v) for v in valid}
    found = difflib.get_close_matches(str(name).lower(), list(options), n=1, cutoff=0.5)
    return options[found[0]] if found else None


def unknown(kind: str, name: object, valid: Iterable[str]) -> str:
    """One line that says which name is unknown, the nearest valid one, and what exists."""
    options = sorted(str(v) for v in valid)
    close = nearest(str(name), options)
    hint = f"; did you mean {close!r}?" if close else ""
    listed = ", ".join(options[:12]) + (", ..." if len(options) > 12 else "")
    return f"unknown {kind} {name!r}{hint} (expected one of: {listed or 'none'})"
