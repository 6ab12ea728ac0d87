"""Rows that a table holds twice: a file in two copies, a part of another file, a table appended to itself."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from neurogym.array_types import BoolArray
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
    files = FILE in columns and len(entries.words(columns[FILE])) > 1
    digest = _digests(columns, (*names_of_files, FILE) if files else ())
    copied = _copied(digest) | _repeated_whole(digest)
    notes = []
    if files:
        index, words = entries.texts(columns[FILE])[1], entries.texts(columns[FILE])[0]
        bounds = np.searchsorted(index, np.arange(len(words) + 1)) if np.all(np.diff(index) >= 0) else None
        copied &= np.isin(index, _mostly(copied, index, len(words)))
        if bounds is not None:
            contents = [digest[a:b].tobytes() for a, b in itertools.pairwise(bounds)]
            first: dict[bytes, int] = {}
            for k, content in enumerate(contents):
                if first.setdefault(content, k) != k and len(content) >= 8 * SHORTEST:
                    copied[bounds[k] : bounds[k + 1]] = True
        for k in np.unique(index[copied]):
            rows = np.flatnonzero(copied & (index == k))
            original = words[index[np.flatnonzero(digest == digest[rows[0]])[0]]]
            whole = len(rows) == int((index == k).sum())
            part = "" if whole else f"{len(rows):,} rows of "
            where = "within it" if original == words[k] else f"in {original} as well"
            notes.append(f"{part}{words[k]} is {where}: counted once")
    elif copied.any():
        rows = np.flatnonzero(copied)
        original = int(np.flatnonzero(digest == digest[rows[0]])[0])
        notes.append(f"{len(rows):,} rows from row {rows[0] + 1} repeat those from row {original + 1}: counted once")
    return ~copied, notes


def _mostly(copied: BoolArray, index: np.ndarray, n: int) -> np.ndarray:
    """Return the files nearly all of whose rows are copies, or that hold copies of their own rows."""
    total = np.bincount(index, minlength=n)
    return np.flatnonzero(np.bincount(index, copied, minlength=n) >= 0.5 * np.maximum(total, 1))


def _digests(columns: DataFrame, without: Sequence[str]) -> np.ndarray:
    """Return a number for each row that rows with the same entries share; counters of rows do not count."""
    n = len(columns)
    digest = np.zeros(n, np.uint64)
    with np.errstate(over="ignore"):
        for k, (name, column) in enumerate(columns.items(), 1):
            numbers = entries.numbers(column) if not entries.is_words(column) or entries.is_numeric(column) else None
            counter = numbers is not None and n > 1 and np.all(np.diff(numbers) == 1)
            if name in without or counter:
                continue
            entry = entries.codes(column) if entries.is_words(column) else entries.numbers(column).view(np.uint64)
            mixed = (entry.astype(np.uint64) + np.uint64(k)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
            digest = (digest ^ mixed) * np.uint64(0xBF58476D1CE4E5B9)
            digest ^= digest >> np.uint64(32)
    return digest


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
