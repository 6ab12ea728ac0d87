"""Rows that a table holds twice: a file in two copies, a part of another file, a table appended to itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from neurogym.array_types import BoolArray, IntArray
from neurogym.behaviour import entries
from neurogym.behaviour.evidence import FILE

if TYPE_CHECKING:
    from pandas import DataFrame


SHORTEST = 20  #: rows in a row that occur again, from which they count as a copy


def without_copies(columns: DataFrame, names_of_files: Sequence[str] = ()) -> tuple[BoolArray, list[str]]:
    """Return which rows occur for the first time, and remarks on those that do not.

    Args:
        columns: the table.
        names_of_files: columns that hold what the names of files say.
    """
    names, index = entries.texts(columns[FILE]) if FILE in columns else ((), np.zeros(len(columns), int))
    digest = _digests(columns, (*names_of_files, FILE) if len(names) > 1 else ())
    copied = _copied(digest) | _repeated_whole(digest)
    if len(names) < 2:
        if not copied.any():
            return ~copied, []
        rows = np.flatnonzero(copied)
        original = int(np.flatnonzero(digest == digest[rows[0]])[0])
        note = f"{len(rows):,} rows from row {rows[0] + 1} repeat those from row {original + 1}: counted once"
        return ~copied, [note]
    copied &= np.isin(index, _mostly(copied, index, len(names)))
    copied |= np.isin(index, _equal_files(digest, index))
    notes = []
    for k in np.unique(index[copied]):
        rows = np.flatnonzero(copied & (index == k))
        original = names[index[np.flatnonzero(digest == digest[rows[0]])[0]]]
        part = "" if len(rows) == int((index == k).sum()) else f"{len(rows):,} rows of "
        where = "within it" if original == names[k] else f"in {original} as well"
        notes.append(f"{part}{names[k]} is {where}: counted once")
    return ~copied, notes


def _equal_files(digest: np.ndarray, index: IntArray) -> list[int]:
    """Return the files with the rows of an earlier file, in a table in which files follow one another."""
    if np.any(np.diff(index) < 0):
        return []
    first: dict[bytes, int] = {}
    contents = np.split(digest, np.flatnonzero(np.diff(index)) + 1)
    return [k for k, each in enumerate(contents) if len(each) >= SHORTEST and first.setdefault(each.tobytes(), k) != k]


def _mostly(copied: BoolArray, index: np.ndarray, n: int) -> np.ndarray:
    """Return the files nearly all of whose rows are copies, or that hold copies of their own rows."""
    total = np.bincount(index, minlength=n)
    return np.flatnonzero(np.bincount(index, copied, minlength=n) >= 0.5 * np.maximum(total, 1))


def _digests(columns: DataFrame, without: Sequence[str]) -> np.ndarray:
    """Return a number for each row that rows with the same entries share; counters of rows do not count."""
    from pandas.util import hash_pandas_object

    counters = [name for name in columns if len(columns) > 1 and np.all(np.diff(entries.numbers(columns[name])) == 1)]
    compared = columns.drop(columns=[*counters, *without], errors="ignore")
    return hash_pandas_object(compared, index=False).to_numpy()


def _copied(digest: np.ndarray) -> BoolArray:
    """Return the rows of long runs that repeat as many earlier rows, whose first occurrences follow one another."""
    n = len(digest)
    _, first, inverse = np.unique(digest, return_index=True, return_inverse=True)
    source = first[inverse]
    copied = source < np.arange(n)
    if copied.sum() < SHORTEST:
        return np.zeros(n, bool)
    begins = np.append(True, ~(copied[1:] & copied[:-1] & (np.diff(source) == 1)))
    run = np.cumsum(begins) - 1
    return copied & (np.bincount(run)[run] >= SHORTEST)


def _repeated_whole(digest: np.ndarray) -> BoolArray:
    """Return the second half of rows that is the first again, unless all rows go in circles."""
    n, half = len(digest), len(digest) // 2
    none = np.zeros(n, bool)
    if n % 2 or half < 2 * SHORTEST or not np.array_equal(digest[:half], digest[half:]):
        return none
    if digest[:half].tobytes().find(digest[:SHORTEST].tobytes(), 8) >= 0:
        return none
    return np.arange(n) >= half
