"""Docstrings in parts, from which the help of options and the pages of parts take their explanations."""

from __future__ import annotations

import inspect
import re
import textwrap

_HEADING = re.compile(r"\n\n+(?=\S[^\n]*:\n[ \t]+\S)")
_ENTRY = re.compile(r"(\*{0,2}\w+(?:, *\*{0,2}\w+)*) *(?:\([^)]*\))?:\s+(.*)", re.DOTALL)


def sections(docstring: str | None) -> tuple[str, dict[str, dict[str, str]]]:
    r"""Return the text before the first section of a docstring in Google's style, and the entries of each section.

    Args:
        docstring: as in the source.

    Returns:
        Text; and for each heading the meaning of each name on a single line. Prose in sections is left out.

    Example:
        >>> sections("Move.\n\nArgs:\n    x, y: place,\n        in mm.")
        ('Move.', {'Args': {'x': 'place, in mm.', 'y': 'place, in mm.'}})
    """
    text, *blocks = _HEADING.split(inspect.cleandoc(docstring or ""))
    explained: dict[str, dict[str, str]] = {}
    for section in blocks:
        heading, _, body = section.partition(":\n")
        inside = re.split(r"\n(?=\S)", body)[0]
        entries = map(_ENTRY.fullmatch, re.split(r"\n(?=\S)", textwrap.dedent(inside).strip()))
        named = [(name, entry[2]) for entry in entries if entry for name in entry[1].split(",")]
        explained[heading] = {name.strip(" *"): " ".join(meaning.split()) for name, meaning in named}
    return text, explained


def summary(entry: object) -> str:
    """Return the first paragraph of a docstring as a single line."""
    return " ".join((inspect.getdoc(entry) or "").partition("\n\n")[0].split())


def arguments(entry: object) -> dict[str, str]:
    """Return the description of each argument, from the section ``Args:`` of a class or function.

    Example:
        >>> arguments(arguments)
        {'entry': 'object with the docstring.'}

    Args:
        entry: object with the docstring.
    """
    entries = sections(inspect.getdoc(entry))[1]
    return entries.get("Args") or entries.get("Arguments") or entries.get("Parameters") or {}
