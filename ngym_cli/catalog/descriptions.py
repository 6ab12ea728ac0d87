"""Descriptions as rows of plain data, and the parts taken from docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from docstring_parser import DocstringStyle, parse

#: Description as plain data: names to numbers, words, truth values, and lists and tables of these.
Row = dict[str, Any]


def rows_with_words(search: Iterable[str], rows: list[Row]) -> list[Row]:
    """Return the rows that contain all given words."""
    return [row for row in rows if all(word.lower() in " ".join(map(str, row.values())).lower() for word in search)]


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
    parsed = parse(inspect.getdoc(entry) or "", style=DocstringStyle.GOOGLE)
    return {
        name.strip(" *"): " ".join((argument.description or "").split())
        for argument in parsed.params
        if argument.args[0] == "param"
        for name in argument.arg_name.split(",")
    }
