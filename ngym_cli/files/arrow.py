"""Columns of a table as Arrow arrays.

``pyarrow.array`` imports pandas, if it is there, to ask whether it has been given a column of it; that takes as much
memory as Arrow itself. Numbers and words are put into arrays without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


def column(values: np.ndarray, gaps: bool = False) -> pa.Array:
    """Return a column: vectors become lists, None becomes null; of other objects that differ in kind, their text.

    Args:
        values: shape (rows,) or (rows, ...).
        gaps: whether nan becomes null.
    """
    import pyarrow as pa

    if values.ndim == 1 and values.dtype.kind in "biuf":
        return _numbers(values, ~np.isnan(values) if gaps and values.dtype.kind == "f" else None)
    if values.ndim == 2 and values.dtype.kind in "biuf":
        kind = {"b": bool, "f": np.float64}.get(values.dtype.kind, np.int64)
        offsets = np.arange(0, values.size + 1, max(1, values.shape[1]), np.int32)
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


def _numbers(values: np.ndarray, valid: np.ndarray | None = None) -> pa.Array:
    import pyarrow as pa

    bits = np.packbits(values, bitorder="little") if values.dtype == bool else np.ascontiguousarray(values)
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(values.dtype), len(values), [_valid(valid), pa.py_buffer(bits)]
    )


def _words(items: Sequence[str | None]) -> pa.Array:
    import pyarrow as pa

    parts = [(item or "").encode() for item in items]
    offsets = np.fromiter(accumulate(map(len, parts), initial=0), np.int32, len(parts) + 1)
    valid = np.array([item is not None for item in items])
    buffers = [_valid(None if valid.all() else valid), pa.py_buffer(offsets), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(pa.string(), len(items), buffers)


def _valid(valid: np.ndarray | None) -> pa.Buffer | None:
    """Which entries are not null, as bits; None if all are."""
    import pyarrow as pa

    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
