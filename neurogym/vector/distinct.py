"""Tables of the response rule that hold each distinct row once.

In most rows of a block of trials actions mean and earn what they do in many others, so that a number for each row and
a short table say the same as a table with every row. Here in NumPy, and compiled in ``step.c`` with the same results.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neurogym import kernels

#: Types of the tables, and of the number of a row.
KINDS = {
    name: np.dtype(kind) for name, kind in {"reward": "f8", "performance": "f8", "event": "u1", "gt": "i8"}.items()
}
CODE = np.dtype("i4")


class RuleTables(NamedTuple):
    """Rewards, performance gains, events and correct actions; for the rows of a block or for distinct entries.

    Attributes:
        reward, performance, event: Shape (rows, actions).
        gt: Shape (rows,); None without ground truth.
    """

    reward: np.ndarray
    performance: np.ndarray
    event: np.ndarray
    gt: np.ndarray | None = None


def distinct(rows: RuleTables, code: np.ndarray, entries: RuleTables) -> int | None:
    """Write each distinct row, compared bit by bit, into a table once, in order of first occurrence.

    Args:
        rows: The rows; all arrays here are C-contiguous and of the types of `KINDS`.
        code: Changed in place: the entry of each row, shape (rows,), type `CODE`.
        entries: Changed in place: the table, as long as there is room for.

    Returns:
        How many entries there are; None if there is not room for all.
    """
    compiled = kernels.get("distinct")
    if compiled is not None:
        slots = np.empty(1 << (2 * len(entries.reward)).bit_length(), np.int64)
        found = compiled(*rows, code, *entries, slots)
        return None if found < 0 else found
    return in_numpy(rows, code, entries)


def in_numpy(rows: RuleTables, code: np.ndarray, entries: RuleTables) -> int | None:
    """`distinct` without the compiled form."""
    columns = [column.reshape(len(code), -1) for column in rows if column is not None]
    together = np.hstack([np.ascontiguousarray(column).view(np.uint8) for column in columns])
    _, first, of_row = np.unique(together, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    if len(order) > len(entries.reward):
        return None
    code[...] = np.argsort(order)[of_row.reshape(-1)]
    for table, column in zip(entries, rows, strict=True):
        if table is not None and column is not None:
            table[: len(order)] = column[first[order]]
    return len(order)
