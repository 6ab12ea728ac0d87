"""MATLAB files: a structure of equally long vectors, a structure array, or vectors side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from neurogym.behaviour import bpod, hdf5
from neurogym.behaviour.columns import Column, Columns, TableError
from neurogym.behaviour.conversion import from_records

DEEPEST = 6  #: levels of structures that are searched


def read_matlab(path: Path) -> tuple[Columns, str]:
    """Read the table of a MATLAB file and its form in words; v5 by SciPy, v7.3 by h5py.

    Raises:
        TableError: if the file has no equally long vectors, or holds a table object, which only MATLAB reads.
    """
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        data = loadmat(path, simplify_cells=True, chars_as_strings=True)
    except NotImplementedError:
        data = hdf5.read_structures(path)
    except (MatReadError, TypeError, IndexError, MemoryError) as error:
        raise TableError(f"damaged MATLAB file: {error}") from None
    opaque = "__function_workspace__" in data or any("Opaque" in type(value).__name__ for value in data.values())
    content = {key: value for key, value in data.items() if not key.startswith("__")}
    if opaque and not list(_candidates(content, 0)):
        raise TableError("found an object that only MATLAB reads; save s = table2struct(T, 'ToScalar', true)")
    return bpod.read_session(content) or (largest_table(content), "MATLAB")


def largest_table(content: Mapping[str, Any]) -> Columns:
    """Return the largest table among nested structures.

    Raises:
        TableError: if there is none.
    """
    candidates = list(_candidates(content, 0))
    if not candidates:
        raise TableError("found no equally long vectors, expected a structure with a vector for each column")
    return max(candidates, key=lambda columns: (len(columns) > 1, len(columns) * len(next(iter(columns.values())))))


def _candidates(data: object, depth: int) -> Iterator[Columns]:
    """Yield the tables among nested structures."""
    if depth > DEEPEST:
        return
    if isinstance(data, Mapping):
        yield from _matrices(data)
        yield from _tables(data)
        for value in data.values():
            yield from _candidates(value, depth + 1)
    elif isinstance(data, list | np.ndarray) and len(records := _records(data)):
        if all(_is_scalar(value) for row in records for value in row.values()):
            yield from_records(records)
        else:
            yield from _joined(records)


def _records(data: Any) -> list[Mapping[str, Any]]:
    rows = list(data) if isinstance(data, list) or (data.dtype == object and data.ndim == 1) else []
    return rows if rows and all(isinstance(row, Mapping) for row in rows) else []


def _joined(records: list[Mapping[str, Any]]) -> Iterator[Columns]:
    """Yield the table of a structure array whose elements are tables, with the number of the element."""
    tables = [max(_tables(row), key=len, default=None) for row in records]
    if any(table is None for table in tables):
        return
    names = dict.fromkeys(name for table in tables if table for name in table)
    columns: Columns = {}
    for name in names:
        pieces = [table[name].values() if name in table else np.full(_rows(table), np.nan) for table in tables if table]
        columns[name] = Column.of_values(np.concatenate([np.asarray(piece, object) for piece in pieces]))
    counts = [_rows(table) for table in tables if table]
    columns.setdefault("element", Column(floats=np.repeat(np.arange(1.0, len(counts) + 1), counts)))
    yield columns


def _rows(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _matrices(data: Mapping[str, Any]) -> Iterator[Columns]:
    """Yield the tables of matrices beside a list with the name of each column."""
    lists = [[str(each) for each in value] for value in data.values() if _is_names(value)]
    for value in data.values():
        if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "biuf":
            continue
        for names in lists:
            if len(names) in value.shape and min(value.shape) > 1:
                matrix = value if value.shape[1] == len(names) else value.T
                yield {name: Column.of_values(column) for name, column in zip(names, matrix.T, strict=True)}


def _is_names(value: object) -> bool:
    entries = value.ravel().tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(entries, list) or len(entries) < 2 or not all(isinstance(each, str) for each in entries):
        return False
    return len(set(entries)) == len(entries)


def _tables(data: Mapping[str, Any]) -> Iterator[Columns]:
    """Yield the vectors of a structure, those of each length together, with its numbers and words as constants."""
    vectors: dict[int, Columns] = {}
    constants: dict[str, Any] = {}
    for name, value in data.items():
        if _is_scalar(value):
            constants[name] = value
            continue
        column = _vector(value)
        if column is not None and len(column) > 1:
            vectors.setdefault(len(column), {})[str(name)] = column
    for n, columns in vectors.items():
        fixed = {name: value for name, value in constants.items() if value not in ("", None) and name not in columns}
        yield {**columns, **{str(name): Column.of_values([value] * n) for name, value in fixed.items()}}


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float | bool | np.generic) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    )


def _vector(value: object) -> Column | None:
    """Return a vector of numbers or words, or None; empty cells are missing."""
    array = np.asarray(value, object) if isinstance(value, list) else value
    if not isinstance(array, np.ndarray) or not array.size:
        return None
    if array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.ndim != 1 or array.dtype.kind not in "biufOSU":
        return None
    if array.dtype == object:
        entries = [None if isinstance(x, np.ndarray) and not x.size else x for x in array.tolist()]
        if any(isinstance(x, list | dict | np.ndarray) for x in entries):
            return None
        array = np.array([*entries, None], object)[:-1]
    return Column.of_values(array)
