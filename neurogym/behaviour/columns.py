"""Columns of a table of any source: numbers, or distinct words with the index of each row's word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray

#: Words (see `plain`) that stand for a missing entry in any column, and entries that do so as a whole.
MISSING = frozenset({"", "na", "nan", "null", "none", "undefined", "missing"})
_DOTS = frozenset({".", "-", "--", "?", "<NA>", "n/a", "N/A"})
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+(,\d+)?|,\d+)([eE][+-]?\d+)?")
_TRUTH = {"true": 1.0, "false": 0.0}
SAMPLE = 20_000  #: rows from which a column is judged to have many distinct numbers


class TableError(ValueError):
    """A table that cannot be read as behaviour; the message names column, row, what was found and expected."""


def plain(name: str) -> str:
    """Return a name in lower case without anything but letters (of any alphabet) and digits."""
    return re.sub(r"[\W_]", "", str(name).lower())


def is_missing(word: str) -> bool:
    """Return whether a word stands for a missing entry."""
    stripped = word.strip()
    return stripped in _DOTS or (plain(stripped) in MISSING and stripped[:1] not in "+-") or not stripped


def parse_number(word: str) -> float | None:
    """Return a word as a number, or None."""
    stripped = word.strip()
    if stripped.lower() in _TRUTH:
        return _TRUTH[stripped.lower()]
    if "_" in stripped:
        return None
    try:
        return float(stripped)
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
        if entries and all(entry is None or (isinstance(entry, int | float) and not isinstance(entry, bool))
                           for entry in entries):  # fmt: skip
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

    @cached_property
    def numbers(self) -> FloatArray:
        """Entries as numbers, nan for missing and other entries, shape (rows,)."""
        if self.codes is None:
            assert self.floats is not None
            return self.floats
        return np.append(self.parsed, np.nan)[self.codes]

    @cached_property
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
        if self.codes is None or (self.words and np.isfinite(self.parsed).all() and not self.is_truth):
            values, index = np.unique(self.numbers, return_inverse=True)
            present = int((~np.isnan(values)).sum())
            return tuple(map(label, values[:present])), np.where(index < present, index, -1).astype(np.int64)
        order = sorted(range(len(self.words)), key=lambda k: self.words[k].lower())
        rank = np.full(len(order) + 1, -1)
        rank[order] = np.arange(len(order))
        return tuple(self.words[k] for k in order), rank[self.codes]

    @cached_property
    def texts(self) -> tuple[tuple[str, ...], IntArray]:
        """Labels as written, in order of appearance, and the index of each row's label, -1 if missing."""
        if self.codes is not None:
            seen, first = np.unique(self.codes, return_index=True)
            order = seen[np.argsort(first)]
            order = order[order >= 0]
            rank = np.full(len(self.words) + 1, -1)
            rank[order] = np.arange(len(order))
            return tuple(self.words[k] for k in order), rank[self.codes]
        words, index = self.levels
        used, first = np.unique(index, return_index=True)
        order = used[np.argsort(first)]
        order = order[order >= 0]
        rank = np.full(len(words) + 1, -1)
        rank[order] = np.arange(len(order))
        return tuple(words[k] for k in order), rank[index]

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


def from_mapping(table: Mapping[Any, Any]) -> Columns:
    """Return columns from arrays or lists by name; columns of lists are left out.

    Raises:
        TableError: if the columns differ in length.
    """
    columns: Columns = {}
    for name, values in table.items():
        try:
            columns[str(name)] = values if isinstance(values, Column) else Column.of_values(values)
        except (TableError, ValueError):
            continue
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        first, n = next(iter(lengths.items()))
        differing = next(name for name, length in lengths.items() if length != n)
        raise TableError(f"column {differing!r}: found {lengths[differing]} entries, expected {n} as in {first!r}")
    return columns


def from_records(records: Iterable[Mapping[str, Any]]) -> Columns:
    """Return columns from a list of dictionaries, one for each trial; absent keys and lists are missing entries."""
    rows = list(records)
    names = dict.fromkeys(name for row in rows for name in row)
    table = {}
    for name in names:
        values: list[object] = [row.get(name) for row in rows]
        table[name] = [None if isinstance(value, list | dict | tuple) else value for value in values]
    return from_mapping({name: np.array(values, object) for name, values in table.items()})


def from_arrow(table: Any) -> Columns:
    """Return columns from a ``pyarrow.Table``; columns of lists and structures are left out."""
    import pyarrow as pa

    columns: Columns = {}
    for name in table.column_names:
        chunks, table = table.column(0), table.remove_column(0)  # frees what has been copied
        kind = chunks.type
        if pa.types.is_nested(kind):
            continue
        if pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
            columns[name] = _from_dictionary(chunks)
        elif pa.types.is_boolean(kind):
            columns[name] = _from_dictionary(chunks.cast(pa.string()))
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            columns[name] = Column(floats=np.asarray(chunks.cast(pa.float64()).to_numpy(zero_copy_only=False), float))
        elif pa.types.is_null(kind):
            columns[name] = Column(floats=np.full(len(chunks), np.nan))
        elif pa.types.is_temporal(kind):
            columns[name] = _from_dictionary(chunks.cast(pa.string()))
    return columns


def to_arrow(columns: Mapping[str, Column]) -> Any:
    """Return columns as a ``pyarrow.Table``: numbers, or words kept once each."""
    import pyarrow as pa

    arrays = {}
    for name, column in columns.items():
        if column.codes is None:
            arrays[name] = pa.array(column.numbers, mask=np.isnan(column.numbers))
        else:
            codes = pa.array(column.codes.astype(np.int32), mask=column.codes < 0)
            arrays[name] = pa.DictionaryArray.from_arrays(codes, pa.array(column.words, pa.string()))
    return pa.table(arrays)


def _from_dictionary(chunks: Any) -> Column:
    import pyarrow as pa

    if not pa.types.is_dictionary(chunks.type):
        chunks = chunks.dictionary_encode()
    merged = chunks.unify_dictionaries().combine_chunks()
    if isinstance(merged, pa.ChunkedArray):
        merged = merged.chunk(0) if merged.num_chunks else pa.array([], pa.dictionary(pa.int32(), pa.string()))
    codes = merged.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    if len(merged.dictionary) > SAMPLE:
        numbers = _all_numbers(merged.dictionary)
        if numbers is not None:
            return Column(floats=np.append(numbers, np.nan)[codes])
    return Column.of_words([str(word) for word in merged.dictionary.to_pylist()], codes)


def _all_numbers(words: Any) -> FloatArray | None:
    """Return words of pyarrow as numbers, or None if one of them is neither a number nor missing."""
    import pyarrow as pa
    from pyarrow import compute

    small = compute.utf8_lower(compute.utf8_trim_whitespace(words))
    gone = compute.is_in(small, pa.array(["", "na", "nan", "null", "none", "n/a", "."]))
    try:
        numbers = compute.if_else(gone, pa.scalar(None, pa.string()), small.cast(pa.string())).cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return np.asarray(numbers.to_numpy(zero_copy_only=False), float)


def with_decimal_points(column: Column) -> Column:
    """Return a column in which numbers are written with a decimal point, if all are written with a decimal comma."""
    if not any("," in word for word in column.words) or not all(map(_DECIMAL_COMMA.fullmatch, column.words)):
        return column
    assert column.codes is not None
    return Column.of_words([word.replace(",", ".") for word in column.words], column.codes)


def from_source(source: Any) -> Columns | None:
    """Return columns of a DataFrame, a ``pyarrow.Table``, a mapping of arrays or a list of mappings; else None."""
    if isinstance(source, Mapping):
        return from_mapping(source)
    if hasattr(source, "column_names") and hasattr(source, "schema"):
        return from_arrow(source)
    if hasattr(source, "columns") and hasattr(source, "__getitem__"):
        named = [name for name in getattr(getattr(source, "index", None), "names", ()) if name is not None]
        if named and hasattr(source, "reset_index"):
            source = source.reset_index([name for name in named if name not in source.columns])
        return from_mapping({str(name): np.asarray(source[name].to_numpy()) for name in source.columns})
    if isinstance(source, list | tuple) and source and all(isinstance(row, Mapping) for row in source):
        return from_records(source)
    return None
