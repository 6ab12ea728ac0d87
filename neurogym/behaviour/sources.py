"""Columns of one or several files, and what is known about these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from neurogym.behaviour.columns import Column, Columns, rows_of
from neurogym.behaviour.evidence import FILE


@dataclass
class Source:
    """Columns of one or several files.

    Attributes:
        columns: the columns.
        form: format of the files in words.
        left_out: number of lines that were left out, by reason.
        notes: remarks for the user.
        names: subject and session that the names of the files say, by column.
        line_of: number of the line that holds a row, from 0, and its file if there are several; None if files have no
            lines.
        identity: start and identifier of the session, if the file says them.
    """

    columns: Columns
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


def constant(word: str, n: int) -> Column:
    """Return a column with one word in all rows."""
    return Column((word,), np.zeros(n, np.int32))


def joined(read: list[tuple[Path, Source]]) -> Source:
    """Return several files as one table; columns that some lack are missing there."""
    sources = [source for _, source in read]
    notes = _told_apart(sources)
    counts = [rows_of(source.columns) for source in sources]
    names = dict.fromkeys(name for source in sources for name in source.columns)
    columns = {name: _concatenated([source.columns.get(name) for source in sources], counts) for name in names}
    stems = _short_names([path for path, _ in read])
    columns[FILE] = Column(tuple(stems), np.repeat(np.arange(len(stems)), counts).astype(np.int32))
    left_out: dict[str, int] = {}
    for source in sources:
        for reason, count in source.left_out.items():
            left_out[reason] = left_out.get(reason, 0) + count
    forms = dict.fromkeys(source.form for source in sources)
    naming = dict.fromkeys(name for source in sources for name in source.names)
    lacking = [name for name in names if any(name not in source.columns for source in sources)]
    notes += [f"columns that some files lack: {', '.join(lacking[:8])}"] if lacking else []
    ends = np.cumsum(counts)

    def words(row: int) -> str:
        k = int(np.searchsorted(ends, row, side="right"))
        line = "" if (find := sources[k].line_of) is None else find(row - int(ends[k]) + counts[k])
        return f"{line} of {read[k][0]}" if line else str(read[k][0])

    return Source(columns, f"{len(read)} files, {'; '.join(forms)}", left_out, notes, tuple(naming), words)


def _told_apart(sources: Sequence[Source]) -> list[str]:
    """Give sessions of one subject with one name, but another start or identifier, names of their own; say so."""
    files: dict[tuple[object, ...], list[Source]] = {}
    for source in sources:
        if source.identity and "session" in source.columns:
            names = [source.columns[name].entry(0) for name in ("subject", "session") if name in source.columns]
            files.setdefault(tuple(names), []).append(source)
    notes = []
    for called, same in files.items():
        identities = list(dict.fromkeys(source.identity for source in same))
        for source in same if len(identities) > 1 else ():
            name = f"{called[-1]} ({source.identity.partition(' ')[0]})"
            taken = [each for each in identities if each.partition(" ")[0] == source.identity.partition(" ")[0]]
            name = name if len(taken) == 1 else f"{called[-1]} ({source.identity})"
            source.columns["session"] = constant(name, rows_of(source.columns))
        if len(identities) > 1:
            notes.append(
                f"{len(identities)} sessions of {called[0]} are called {called[-1]}: told apart by their start"
            )
    return notes


def _concatenated(entries: Sequence[Column | None], counts: Sequence[int]) -> Column:
    """Return one column from those of several files."""
    if all(entry is None or entry.codes is None for entry in entries):
        floats = [
            np.full(n, np.nan) if entry is None else entry.numbers for entry, n in zip(entries, counts, strict=True)
        ]
        return Column(floats=np.concatenate(floats))
    index: dict[str, int] = {}
    codes = []
    for entry, n in zip(entries, counts, strict=True):
        if entry is None:
            codes.append(np.full(n, -1, np.int32))
            continue
        words, at = entry.texts
        lookup = np.array([*(index.setdefault(word, len(index)) for word in words), -1], np.int32)
        codes.append(lookup[at])
    return Column(tuple(index), np.concatenate(codes))


def _short_names(paths: Sequence[Path]) -> list[str]:
    """Return the stems of files, with the folders above where stems are not distinct."""
    deepest = max(len(path.parts) for path in paths)
    for depth in range(1, deepest + 1):
        plain_paths = [path.with_name(path.name.removesuffix(".gz")).with_suffix("") for path in paths]
        names = ["/".join(path.parts[-depth:]) for path in plain_paths]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]
