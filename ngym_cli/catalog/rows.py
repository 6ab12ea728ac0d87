"""Rows of listings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

#: What is known of one thing: names to numbers, words, truth values, and lists and tables of such.
Row = dict[str, Any]


def holding(search: Iterable[str], rows: list[Row]) -> list[Row]:
    """Return the rows in which each of these words occurs."""
    return [row for row in rows if all(word.lower() in " ".join(map(str, row.values())).lower() for word in search)]
