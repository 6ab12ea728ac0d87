"""Tables of one or several files, what is known about these, and rows that they hold twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neurogym.array_types import BoolArray, IntArray
from neurogym.behaviour import entries
from neurogym.behaviour.evidence import FILE, FOLDER

if TYPE_CHECKING:
    from pandas import DataFrame


SHORTEST = 20  #: rows in a row that occur again, from which they count as a copy


@dataclass
class Source:
    """Table of one or several files.

    Attributes:
        table: the table.
        form: format of the files in words.
        left_out: number of lines that were left out, by reason.
        notes: remarks for the user.
        names: subject and session that the names of the files say, by column.
        line_of: number of the line that holds a row, from 0, and its file if there are several; None if files have no
            lines.
        identity: start and identifier of the session, if the file says them.
    """

    table: DataFrame
    form: str = ""
    left_out: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    names: tuple[str, ...] = ()
    line_of: Callable[[int], str] | None = None
    identity: str = ""

    def locate(self, row: int) -> str:
        """Return the number of a row, and of its line, in words.

        Args:
            row: number of the row, from 0.
        """
        line = "" if self.line_of is None else self.line_of(row)
        return f"row {row + 1} ({line})" if line else f"row {row + 1}"


def joined(read: list[tuple[Path, Source]]) -> Source:
    """Return several files as one table; columns that some lack are missing there."""
    import pandas as pd

    sources = [source for _, source in read]
    notes = _told_apart(sources)
    tables = _with_one_spelling([source.table for source in sources])
    names = dict.fromkeys(name for table in tables for name in table)
    lacking = [name for name in names if any(name not in table for table in tables)]
    tables = [table.reindex(columns=[*names]) for table in tables]
    stems = _short_names([path for path, _ in read])
    columns = {name: entries.joined([table[name] for table in tables]) for name in names}
    file = np.repeat(np.arange(len(stems)), [*map(len, tables)])
    if (folders := _folders(stems)) and FOLDER not in columns:
        distinct = list(dict.fromkeys(folders))
        columns[FOLDER] = entries.of_words(distinct, np.array([distinct.index(each) for each in folders])[file])
    columns[FILE] = entries.of_words(stems, file)
    left_out: Counter[str] = Counter()
    for source in sources:
        left_out.update(source.left_out)
    forms = dict.fromkeys(source.form for source in sources)
    naming = dict.fromkeys(name for source in sources for name in source.names)
    notes += [f"columns that some files lack: {', '.join(lacking[:8])}"] if lacking else []
    ends = np.cumsum([*map(len, tables)])

    def line_of(row: int) -> str:
        k = int(np.searchsorted(ends, row, side="right"))
        find = sources[k].line_of
        line = "" if find is None else find(row - int(ends[k]) + len(tables[k]))
        return f"{line} of {read[k][0]}" if line else str(read[k][0])

    form = f"{len(read)} files, {'; '.join(forms)}"
    return Source(pd.DataFrame(columns, copy=False), form, left_out, notes, tuple(naming), line_of)


def _told_apart(sources: Sequence[Source]) -> list[str]:
    """Give sessions of one subject with one name, but another start or identifier, names of their own; say so."""
    files: dict[tuple[object, ...], list[Source]] = {}
    for source in sources:
        if source.identity and "session" in source.table:
            key = [entries.entry(source.table[k], 0) for k in ("subject", "session") if k in source.table]
            files.setdefault(tuple(key), []).append(source)
    notes = []
    for called, same in files.items():
        identities = list(dict.fromkeys(source.identity for source in same))
        starts = Counter(each.partition(" ")[0] for each in identities)
        for source in same if len(identities) > 1 else ():
            start = source.identity.partition(" ")[0]
            name = f"{called[-1]} ({start if starts[start] == 1 else source.identity})"
            source.table["session"] = entries.constant(name, len(source.table))
        if len(identities) > 1:
            notes.append(
                f"{len(identities)} sessions of {called[0]} are called {called[-1]}: told apart by their start"
            )
    return notes


def _with_one_spelling(tables: Sequence[DataFrame]) -> list[DataFrame]:
    """Return tables in which names of columns that differ in capitals only are spelled as in the first of them."""
    spelled: dict[str, str] = {}
    result = []
    for table in tables:
        names = {
            name: spelled.get(name.casefold(), name) for name in table if spelled.get(name.casefold()) not in table
        }
        result.append(table.rename(columns=names))
        for name in result[-1]:
            spelled.setdefault(name.casefold(), name)
    return result


def _folders(names: Sequence[str]) -> list[str]:
    """Return the first folder in which the names of files differ, if they differ in a folder or file below as well."""
    parts = [name.split("/") for name in names]
    if len({*map(len, parts)}) > 1:
        return []
    differ = [k for k in range(len(parts[0])) if len({each[k] for each in parts}) > 1]
    return [each[differ[0]] for each in parts] if len(differ) > 1 and differ[0] < len(parts[0]) - 1 else []


def _short_names(paths: Sequence[Path]) -> list[str]:
    """Return the stems of files, with the folders above where stems are not distinct."""
    deepest = max(len(path.parts) for path in paths)
    for depth in range(1, deepest + 1):
        plain_paths = [path.with_name(path.name.removesuffix(".gz")).with_suffix("") for path in paths]
        names = ["/".join(path.parts[-depth:]) for path in plain_paths]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


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
    share = np.bincount(index, copied, len(names)) / np.maximum(np.bincount(index, minlength=len(names)), 1)
    copied &= share[index] >= 0.5  # files nearly all of whose rows are copies
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
