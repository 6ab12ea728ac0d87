"""Tables of one or several files, and what is known about these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neurogym.behaviour import entries
from neurogym.behaviour.evidence import FILE

if TYPE_CHECKING:
    from pandas import DataFrame


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
    tables = [source.table for source in sources]
    names = dict.fromkeys(name for table in tables for name in table)
    tables = [table.reindex(columns=[*names]) for table in tables]
    stems = _short_names([path for path, _ in read])
    columns = {name: entries.joined([table[name] for table in tables]) for name in names}
    columns[FILE] = entries.of_words(stems, np.repeat(np.arange(len(stems)), [*map(len, tables)]))
    left_out: Counter[str] = Counter()
    for source in sources:
        left_out.update(source.left_out)
    forms = dict.fromkeys(source.form for source in sources)
    naming = dict.fromkeys(name for source in sources for name in source.names)
    lacking = [name for name in names if any(name not in source.table for source in sources)]
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


def _short_names(paths: Sequence[Path]) -> list[str]:
    """Return the stems of files, with the folders above where stems are not distinct."""
    deepest = max(len(path.parts) for path in paths)
    for depth in range(1, deepest + 1):
        plain_paths = [path.with_name(path.name.removesuffix(".gz")).with_suffix("") for path in paths]
        names = ["/".join(path.parts[-depth:]) for path in plain_paths]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]
