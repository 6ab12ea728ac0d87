"""Columns from tables in memory: DataFrames, Arrow tables, mappings of arrays and lists of mappings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.columns import SAMPLE, Column, Columns, TableError

_THOUSANDS = {mark: re.compile(rf"[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+") for mark in ".,"}
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+(,\d+)?|,\d+)([eE][+-]?\d+)?")


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
    """Return columns from a list of dictionaries, one for each trial; absent keys and lists are missing entries.

    Entries of a dictionary within a trial get its name before their own, as in ``response.rt``.
    """
    rows = [_flat(row) for row in records]
    names = dict.fromkeys(name for row in rows for name in row)
    table = {}
    for name in names:
        values: list[object] = [row.get(name) for row in rows]
        table[name] = [None if isinstance(value, list | dict | tuple) else value for value in values]
    return from_mapping({name: np.array(values, object) for name, values in table.items()})


def _flat(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a dictionary without dictionaries among its entries."""
    entries: dict[str, Any] = {}
    for name, value in row.items():
        entries |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return entries


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


def without_brackets(column: Column) -> Column:
    """Return a column in which the first entry stands for a list written as a text, as ``['f', 'j']``."""
    lists = [len(word) > 1 and word[0] == "[" and word[-1] == "]" for word in column.words]
    if not any(lists):
        return column
    assert column.codes is not None
    firsts = [
        word[1:-1].split(",")[0].strip(" '\"") if is_list else word
        for word, is_list in zip(column.words, lists, strict=True)
    ]
    return Column.of_words(firsts, column.codes)


def mark_of_thousands(words: Sequence[str]) -> str:
    """Return the point or comma that whole numbers have before each three digits; empty if they have none.

    Numbers such as 1.234 are thousands if all others are whole numbers of at most three digits, mostly above 99.
    """
    for mark in ".,":
        marked = [word for word in words if mark in word]
        rest = [word for word in words if mark not in word]
        if not marked or not rest or not all(_THOUSANDS[mark].fullmatch(word) for word in marked):
            continue
        whole = all(word.isdecimal() and len(word) <= 3 for word in rest)
        if whole and sum(len(word) == 3 for word in rest) > 0.5 * len(rest):
            return mark
    return ""


def without_thousands(column: Column) -> Column:
    """Return a column of whole numbers without the points, or commas, before each three digits."""
    mark = mark_of_thousands(column.words)
    if not mark:
        return column
    assert column.codes is not None
    return Column.of_words([word.replace(mark, "") for word in column.words], column.codes)


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
