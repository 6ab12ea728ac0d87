"""The rows of trials ahead of a batch that was saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from neurogym.vector.distinct import KINDS


class SavedRows:
    """Validated result of :meth:`neurogym.vector.pools.Pools.rows_from_here`, which may have been changed on disk.

    Args:
        saved: ``counts``, rows and entries of tables of each environment; ``rows``, name to array (row, ...), one
            environment after the other, with ``_code``, the entry of each row; ``tables``, name to array (entry, ...).
        known: Fields of trials that were made here: their types and shapes without the first axis count.
        n: Number of environments.

    Raises:
        ValueError: If an array does not fit the others, or what is known.
    """

    def __init__(self, saved: Mapping[str, Any], known: Mapping[str, np.ndarray], n: int):
        ends = []
        for counts in saved["counts"]:
            counts = np.asarray(counts)
            if counts.shape != (n,) or counts.dtype.kind != "i" or counts.min() < 0 or counts.max() > 1 << 40:
                raise ValueError(f"the batch: expected {n} numbers of rows, got {counts!r}")
            ends.append(np.concatenate([[0], np.cumsum(counts)]).tolist())
        self._ends, self._entries = ends
        self._code: np.ndarray = saved["rows"]["_code"]
        self._columns: dict[str, np.ndarray] = {}
        self._tables: dict[str, np.ndarray] = {}
        for name, like in known.items():
            table = name in KINDS
            values = saved["tables" if table else "rows"][name]
            shape = (self._entries[-1] if table else self._ends[-1], *like.shape[1:])
            if values.shape != shape or values.dtype != like.dtype:
                raise ValueError(f"the batch: expected {name} of shape {shape} and type {like.dtype}")
            (self._tables if table else self._columns)[name] = values
        if self._code.shape != (self._ends[-1],) or self._code.dtype.kind != "i":
            raise ValueError("the batch: there is not one entry of the tables for each row")

    def of(self, i: int) -> dict[str, np.ndarray]:
        """The fields of the trials of environment ``i``.

        Raises:
            ValueError: If a row has no entry in the tables.
        """
        at, entries = (slice(ends[i], ends[i + 1]) for ends in (self._ends, self._entries))
        code = self._code[at]
        if len(code) and (code.min() < 0 or code.max() >= entries.stop - entries.start):
            raise ValueError("the batch: a row has no entry in the tables")
        tables = {name: table[entries].take(code, axis=0) for name, table in self._tables.items()}
        return {**{name: values[at] for name, values in self._columns.items()}, **tables}
