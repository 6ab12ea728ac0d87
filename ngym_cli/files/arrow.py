"""Columns of a table as Arrow arrays, and back.

``pyarrow.array`` and ``to_numpy`` import pandas, if it is there, to ask whether it has to do with the column; that
takes as much memory as Arrow itself. Numbers and words go there and back without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


def column(values: np.ndarray, gaps: bool = False) -> pa.Array:
    """Return a column: vectors become lists, None becomes null, and objects of mixed types become text.

    Args:
        values: shape (rows,) or (rows, ...).
        gaps: whether nan becomes null.
    """
    import pyarrow as pa

    if values.ndim == 1 and values.dtype.kind in "biuf":
        return _numbers(values, ~np.isnan(values) if gaps and values.dtype.kind == "f" else None)
    if values.ndim == 2 and values.dtype.kind in "biuf":
        kind = {"b": bool, "f": np.float64}.get(values.dtype.kind, np.int64)
        offsets = np.arange(0, values.size + 1, max(1, values.shape[1]), dtype=np.int32)
        if len(offsets) == len(values) + 1:
            return pa.ListArray.from_arrays(_numbers(offsets), _numbers(values.ravel().astype(kind)))
    items = [item.tolist() if isinstance(item, np.ndarray | np.generic) else item for item in values]
    if all(item is None for item in items):
        return pa.nulls(len(items))
    if all(item is None or type(item) is str for item in items):
        return _words(items)
    try:
        return pa.array(items)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if item is None else str(item) for item in items])


def values_of(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column as a NumPy array; gaps among numbers are nan.

    Equal words of a dictionary-encoded column share a single object.
    """
    from pyarrow import types

    if types.is_dictionary(column.type):
        return np.concatenate([np.zeros(0, object), *(_words_of(chunk) for chunk in column.chunks)])
    if types.is_null(column.type):
        return np.full(len(column), None)
    if not (types.is_integer(column.type) or types.is_floating(column.type)) or not column.num_chunks:
        return column.to_numpy()
    values = np.concatenate([_values(chunk) for chunk in column.chunks])
    if column.null_count:
        values = values if values.dtype.kind == "f" else values.astype(float)
        values[np.concatenate([_missing(chunk) for chunk in column.chunks])] = np.nan
    return values


def _values(chunk: pa.Array) -> np.ndarray:
    """Numbers of an array; values at gaps are arbitrary."""
    import pyarrow as pa

    buffers = [None, chunk.buffers()[1]]
    return np.from_dlpack(pa.Array.from_buffers(chunk.type, len(chunk), buffers, offset=chunk.offset))


def _words_of(chunk: pa.DictionaryArray) -> np.ndarray:
    words = np.array([*chunk.dictionary.to_pylist(), None], object)
    return words[np.where(_missing(chunk.indices), len(words) - 1, _values(chunk.indices))]


def _missing(chunk: pa.Array) -> np.ndarray:
    if not chunk.null_count:
        return np.zeros(len(chunk), bool)
    bits = np.unpackbits(np.frombuffer(chunk.buffers()[0], np.uint8), bitorder="little")
    return bits[chunk.offset : chunk.offset + len(chunk)] == 0


def _numbers(values: np.ndarray, valid: np.ndarray | None = None) -> pa.Array:
    import pyarrow as pa

    bits = np.packbits(values, bitorder="little") if values.dtype == bool else np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [_valid(valid), pa.py_buffer(bits)])


def _words(items: Sequence[str | None]) -> pa.Array:
    import pyarrow as pa

    encoded = [(item or "").encode() for item in items]
    offsets = np.fromiter(accumulate(map(len, encoded), initial=0), np.int32, len(encoded) + 1)
    valid = np.array([item is not None for item in items])
    buffers = [_valid(None if valid.all() else valid), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(items), buffers)


def _valid(valid: np.ndarray | None) -> pa.Buffer | None:
    """Validity bits of entries that are not null; None if no entry is null."""
    import pyarrow as pa

    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
