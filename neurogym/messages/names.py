"""Nearest valid name, for messages about unknown names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


def nearest(name: str, valid: Iterable[str]) -> str | None:
    """The valid name closest to ``name``, or None if nothing is close; letter case and version do not count."""
    matches = closest(name, valid, n=1, cutoff=0.5)
    return matches[0] if matches else None


def closest(name: str, valid: Iterable[str], n: int, cutoff: float) -> list[str]:
    """Up to ``n`` valid names at least as similar as ``cutoff`` (0 to 1), the most similar first."""
    options: dict[str, str] = {}
    for option in valid:
        options.setdefault(_plain(str(option)), str(option))
    return [options[match] for match in difflib.get_close_matches(_plain(str(name)), list(options), n, cutoff)]


def _plain(name: str) -> str:
    return re.sub(r"-v\d+$", "", name.lower())


def unknown(kind: str, name: object, valid: Iterable[str]) -> str:
    """Message about an unknown name, with the nearest valid name and the options."""
    options = sorted(str(v) for v in valid)
    if not str(name):
        return f"no {kind} given (expected one of: {', '.join(options[:12]) or 'none'})"
    close = nearest(str(name), options)
    hint = f"; did you mean {close!r}?" if close else ""
    listed = ", ".join(options[:12]) + (", ..." if len(options) > 12 else "")
    return f"unknown {kind} {name!r}{hint} (expected one of: {listed or 'none'})"
