"""Columns of a table of any source: numbers, or distinct words with the index of each row's word."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray

#: Words (see `plain`) that stand for a missing entry in any column, and entries that do so as a whole.
MISSING_WORDS = frozenset({"", "na", "nan", "null", "none", "undefined", "missing"})
_MISSING_MARKS = frozenset({".", "-", "--", "?", "<NA>", "n/a", "N/A"})
_TRUTH = {"true": 1.0, "false": 0.0}
SAMPLE = 20_000  #: rows from which a column is judged to have many distinct numbers
MOST_COLUMNS = 10_000  #: of a table
MOST_LISTED_ENTRIES = 6  #: entries that are listed of a column


class TableError(ValueError):
    """A table that cannot be read as behaviour; the message names column, row, what was found and expected."""


def check_number_of_columns(n: int) -> None:
    """Refuse a table of more columns than `MOST_COLUMNS`, which is none of trials.

    Raises:
        TableError: with the number.
    """
    if n > MOST_COLUMNS:
        raise TableError(f"found {n:,} columns or more, expected at most {MOST_COLUMNS:,}")


def plain(name: str) -> str:
    """Return a name in lower case without anything but letters (of any alphabet) and digits."""
    return re.sub(r"[\W_]", "", str(name).lower())


def is_missing(word: str) -> bool:
    """Return whether a word stands for a missing entry."""
    stripped = word.strip()
    return stripped in _MISSING_MARKS or (plain(stripped) in MISSING_WORDS and stripped[:1] not in "+-") or not stripped


def parse_number(word: str) -> float | None:
    """Return a word as a number, or None; a percent sign is a unit."""
    stripped = word.strip()
    if stripped.lower() in _TRUTH:
        return _TRUTH[stripped.lower()]
    if "_" in stripped:
        return None
    try:
        return float(stripped.removesuffix("%"))
    except ValueError:
        return None


def label(number: float) -> str:
    """Return a number as a label: whole numbers without a decimal point."""
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else f"{number:.12g}"


@dataclass(frozen=True, eq=False)
class Column:
    """Column of a table.

    Attributes:
        words: distinct entries of a column of words, as written; empty for a column of numbers.
        codes: index into ``words``, -1 for a missing entry, shape (rows,); None for a column of numbers.
        floats: entries of a column of numbers, nan for missing ones, shape (rows,); None for a column of words.
    """

    words: tuple[str, ...] = ()
    codes: IntArray | None = None
    floats: FloatArray | None = None

    @classmethod
    def of_words(cls, words: Sequence[str], codes: np.ndarray) -> Column:
        """Return a column of words; words that stand for a missing entry become missing."""
        cleaned = [word.strip() for word in words]
        order: dict[str, int] = {}
        target = [-1 if is_missing(word) else order.setdefault(word, len(order)) for word in cleaned]
        lookup = np.array([*target, -1], np.int32)
        return cls(tuple(order), lookup[np.asarray(codes)])

    @classmethod
    def of_values(cls, values: Any) -> Column:
        """Return a column from an array or list of numbers, words, truth values or a mixture.

        Raises:
            TableError: if an entry is a list or a mapping.
        """
        array = np.asarray(values) if not isinstance(values, np.ndarray) else values
        if array.ndim != 1:
            raise TableError("found entries with several values, expected a number or a word for each trial")
        if array.dtype.kind in "mM":
            array = array.astype(str)
        if array.dtype.kind == "b":
            return cls(("False", "True"), array.astype(np.int32))
        if array.dtype.kind in "iuf":
            return cls(floats=array.astype(float))
        entries = array.tolist()
        if any(isinstance(entry, list | dict | tuple | np.ndarray) for entry in entries):
            raise TableError("found entries with several values, expected a number or a word for each trial")
        if entries and all(
            entry is None or (isinstance(entry, int | float) and not isinstance(entry, bool)) for entry in entries
        ):
            return cls(floats=np.array([np.nan if entry is None else entry for entry in entries], float))
        index: dict[str, int] = {}
        codes = [index.setdefault(_text(entry), len(index)) for entry in entries]
        return cls.of_words(list(index), np.array(codes, np.int32))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.floats if self.codes is None else self.codes)  # type: ignore[arg-type]

    @cached_property
    def parsed(self) -> FloatArray:
        """Number of each of `words`, nan for other words."""
        return np.array([np.nan if (n := parse_number(w)) is None else n for w in self.words], float)

    @property
    def numbers(self) -> FloatArray:
        """Entries as numbers, nan for missing and other entries, shape (rows,); looked up anew to save memory."""
        if self.codes is None:
            assert self.floats is not None
            return self.floats
        return np.append(self.parsed, np.nan)[self.codes]

    @property
    def missing(self) -> BoolArray:
        """Mask of the rows without an entry, shape (rows,)."""
        return np.isnan(self.numbers) if self.codes is None else self.codes < 0

    @cached_property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers, or mostly numbers, if some entries are damaged."""
        if self.codes is None:
            return bool(np.isfinite(self.numbers).any())
        present = int((self.codes >= 0).sum())
        return present > 0 and int(np.isfinite(self.numbers).sum()) > 0.5 * present

    @cached_property
    def is_truth(self) -> bool:
        """Whether all entries are true or false."""
        return bool(self.words) and {word.lower() for word in self.words} <= set(_TRUTH)

    @cached_property
    def is_text(self) -> bool:
        """Whether the entries are written as texts in which leading zeros count."""
        return any(len(word) > 1 and word[0] == "0" and word[1].isdigit() for word in self.words[:1000])

    def damaged(self) -> IntArray:
        """Return the rows whose entries are words in a column of numbers."""
        return np.flatnonzero(np.isnan(self.numbers) & ~self.missing)

    @cached_property
    def distinct(self) -> FloatArray | tuple[str, ...]:
        """Distinct entries, numbers in order; the first `SAMPLE` rows only, if these hold over a thousand numbers."""
        if self.codes is not None:
            return self.words
        head = np.unique(self.numbers[:SAMPLE])
        values = head if len(head) > 1000 else np.unique(self.numbers)
        return values[~np.isnan(values)]

    @cached_property
    def levels(self) -> tuple[tuple[str, ...], IntArray]:
        """Labels in the order of numbers or of the alphabet, and the index of each row's label, -1 if missing."""
        if self.codes is None:
            values, index = np.unique(self.numbers, return_inverse=True)
            present = int((~np.isnan(values)).sum())
            return tuple(map(label, values[:present])), _small(np.where(index < present, index, -1))
        if self.words and np.isfinite(self.parsed).all() and not self.is_truth:
            values, index = np.unique(self.parsed, return_inverse=True)
            return tuple(map(label, values)), _small(np.append(index, -1))[self.codes]
        order = sorted(range(len(self.words)), key=lambda k: self.words[k].lower())
        return tuple(self.words[k] for k in order), _ranks(order, len(order))[self.codes]

    @cached_property
    def texts(self) -> tuple[tuple[str, ...], IntArray]:
        """Labels as written, in order of appearance, and the index of each row's label, -1 if missing."""
        if self.codes is not None:
            seen, first = np.unique(self.codes, return_index=True)
            order = seen[np.argsort(first)]
            order = order[order >= 0]
            return tuple(self.words[k] for k in order), _ranks(order, len(self.words))[self.codes]
        words, index = self.levels
        used, first = np.unique(index, return_index=True)
        order = used[np.argsort(first)]
        order = order[order >= 0]
        return tuple(words[k] for k in order), _ranks(order, len(words))[index]

    def entry(self, row: int) -> object:
        """Return the entry of a row: a number, a word as written, or None."""
        if self.codes is not None:
            return None if self.codes[row] < 0 else self.words[self.codes[row]]
        number = float(self.numbers[row])
        return None if np.isnan(number) else int(number) if number.is_integer() else number

    def values(self) -> np.ndarray:
        """Return the entries as an array of numbers, or of words and None."""
        if self.codes is None or (self.is_numeric and not self.is_text and not len(self.damaged())):
            return self.numbers
        return np.array([*self.words, None], object)[self.codes]

    def without(self, rows: BoolArray) -> Column:
        """Return the column with missing entries in some rows."""
        if not rows.any():
            return self
        if self.codes is None:
            return Column(floats=np.where(rows, np.nan, self.numbers))
        return Column(self.words, np.where(rows, -1, self.codes)).take(np.arange(len(self)))

    def take(self, rows: np.ndarray) -> Column:
        """Return the column with some rows, given as a mask or as indices."""
        if self.codes is None:
            return Column(floats=self.numbers[rows])
        codes = self.codes[rows]
        used = np.unique(codes[codes >= 0])
        if len(used) == len(self.words):
            return replace(self, codes=codes)
        rank = np.full(len(self.words) + 1, -1, np.int32)
        rank[used] = np.arange(len(used))
        return Column(tuple(self.words[k] for k in used), rank[codes])


Columns = dict[str, Column]


def _ranks(order: Sequence[int] | IntArray, n: int) -> IntArray:
    """Return the place in an order of each of n indices, and -1 for a missing entry, shape (n + 1,)."""
    rank = np.full(n + 1, -1)
    rank[order] = np.arange(len(order))
    return _small(rank)


def _small(index: np.ndarray) -> IntArray:
    """Return indices as integers of four bytes, which save memory in long tables."""
    return cast("IntArray", index.astype(np.int32))


def _text(entry: object) -> str:
    if entry is None:
        return ""
    if isinstance(entry, float):
        return "" if np.isnan(entry) else label(entry)
    if isinstance(entry, bytes):
        return entry.decode("utf-8", "replace")
    return str(entry)


def rows_of(columns: Mapping[str, Column]) -> int:
    """Return the number of rows."""
    return len(next(iter(columns.values()))) if columns else 0


def describe_entries(column: Column, as_written: Collection[str] = ()) -> str:
    """Return the entries of a column in words; labels as written."""
    words = column.texts[0] if as_written else ()
    numeric = column.codes is None or (column.is_numeric and len(column.words) > MOST_LISTED_ENTRIES)
    if numeric and not as_written:
        finite = column.numbers[np.isfinite(column.numbers)]
        if not len(finite):
            return "empty"
        if len(column.distinct) > MOST_LISTED_ENTRIES:
            return f"{finite.min():.4g} to {finite.max():.4g}"
    words = words or column.levels[0]
    short = [word if len(word) <= 20 else word[:17] + "..." for word in words[:MOST_LISTED_ENTRIES]]
    return (
        ", ".join(short) if len(words) <= MOST_LISTED_ENTRIES else f"{len(words):,} words: {', '.join(short[:3])}, ..."
    )
