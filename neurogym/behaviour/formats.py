"""Tables of known programs, collections and laboratories, recognised by several columns together: ``formats.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from neurogym.behaviour.entries import plain

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class TableFormat:
    """Form of the tables of a program or a collection.

    Attributes:
        name: of the form.
        needs: names of columns (see `neurogym.behaviour.columns.plain`) that only this form has together.
        roles: name of the column of a role, or several of which the first that is there counts.
        states: columns that are states of the task, never stimuli.
        missed: entries of the choice that mean no answer.
    """

    name: str
    needs: Sequence[str]
    roles: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    states: Sequence[str] = ()
    missed: Sequence[str] = ()


_FILE = tomllib.loads(Path(__file__).with_name("formats.toml").read_text(encoding="utf-8"))
FORMATS = tuple(TableFormat(**row) for row in _FILE["format"])
#: Name of a format that is not read and the Python that reads it, by the ending of its files.
NOT_READ: dict[str, tuple[str, str]] = {
    f".{ending}": (name, reader) for ending, (name, reader) in _FILE["not_read"].items()
}
#: Name of a program and what makes a table of its log, by what the log holds near its beginning.
LOGS: dict[str, tuple[str, str]] = {mark: (name, way) for mark, (name, way) in _FILE["logs"].items()}


def format_of(columns: DataFrame) -> TableFormat | None:
    """Return the form of a table, or None if it is not known."""
    short = {plain(name) for name in columns}
    return next((each for each in FORMATS if set(each.needs) <= short), None)


def roles_of_format(table: DataFrame, form: TableFormat) -> dict[str, str]:
    """Return the columns to which a form gives a role, by role."""
    names = {plain(name): name for name in reversed(list(table))}
    options = {role: [word] if isinstance(word, str) else word for role, word in form.roles.items()}
    present = {role: [names[each] for each in words if each in names] for role, words in options.items()}
    return {role: columns[0] for role, columns in present.items() if columns}
