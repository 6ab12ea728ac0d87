"""Names and words by which laboratories say what columns and entries are, and formats known by several columns.

They stand in ``words.toml`` and ``formats.toml``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from neurogym.behaviour.entries import plain

if TYPE_CHECKING:
    from pandas import DataFrame


_FILE, _FORMATS = (
    tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8")) for name in ("words.toml", "formats.toml")
)
#: Roles that a column can have, and names (see `neurogym.behaviour.entries.plain`) that suggest the role, best first.
COLUMN_NAMES: dict[str, tuple[str, ...]] = {role: tuple(names) for role, names in _FILE["roles"].items()}
#: The same of roles that a column has only beside others.
FURTHER_NAMES: dict[str, Sequence[str]] = _FILE["further_roles"]
ROLES = (*COLUMN_NAMES, *FURTHER_NAMES, "stimuli")
#: Ways in which names of PsychoPy and E-Prime end, after a dot.
ENDINGS: dict[str, tuple[str, ...]] = {role: tuple(ends) for role, ends in _FILE["endings"].items()}
#: Pairs of choices of which the first comes first as an option, whatever the alphabet says.
ORDERED = tuple((first, second) for first, second in _FILE["words"].pop("ordered"))
#: Outcomes of signal detection: beside these, a miss is an error and not a trial without an answer.
DETECTION: dict[str, bool] = _FILE["detection"]
#: Letters for some of these, beside others.
LETTERS = {"h": "hit", "m": "miss"}
#: Choices that say whether they were correct, and not which side was chosen.
ACCURACY: dict[str, bool] = _FILE["accuracy"]
#: Codes of a correct answer and of an error, by the name of their column; other codes mean no answer.
CODES: dict[str, tuple[int, int]] = {name: tuple(codes) for name, codes in _FILE["codes"].items()}
YES, NO = set(_FILE["words"]["yes"]), set(_FILE["words"]["no"])
#: Lists of names and words, and patterns with whether these are searched in plain names, by key in ``words.toml``.
_TABLES = {table: _FILE[table] for table in ("detection", "accuracy", "codes")}
_LISTS: dict[str, Collection[str]] = _FILE["roles"] | FURTHER_NAMES | _FILE["words"] | _TABLES
_PATTERNS = {
    key: (re.compile("".join(parts).replace("STRENGTHS", "|".join(_LISTS["strengths"]))), part == "plain_patterns")
    for part in ("patterns", "plain_patterns")
    for key, parts in _FILE[part].items()
}


def is_called(name: object, *lists: str) -> bool:
    """Return whether a name, or a word, stands in one of some lists of ``words.toml``."""
    return any(plain(str(name)) in _LISTS[each] for each in lists)


def any_called(names: Iterable[object], *lists: str) -> bool:
    """Return whether one of some names stands in one of some lists of ``words.toml``."""
    return any(is_called(name, *lists) for name in names)


def is_like(name: str, pattern: str) -> re.Match[str] | None:
    """Return the match of a name, or of a word, with a pattern of ``words.toml``; None without one."""
    compiled, of_plain = _PATTERNS[pattern]
    return compiled.search(plain(name) if of_plain else name.lower())


@dataclass(frozen=True)
class TableFormat:
    """Form of the tables of a program or a collection.

    Attributes:
        name: of the form.
        needs: names of columns (see `neurogym.behaviour.entries.plain`) that only this form has together.
        roles: name of the column of a role, or several of which the first that is there counts.
        states: columns that are states of the task, never stimuli.
        missed: entries of the choice that mean no answer.
    """

    name: str
    needs: Sequence[str]
    roles: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    states: Sequence[str] = ()
    missed: Sequence[str] = ()


FORMATS = tuple(TableFormat(**row) for row in _FORMATS["format"])
#: Name of a format that is not read and the Python that reads it, by the ending of its files.
NOT_READ: dict[str, tuple[str, str]] = {
    f".{ending}": (name, reader) for ending, (name, reader) in _FORMATS["not_read"].items()
}
#: Name of a program and what makes a table of its log, by what the log holds near its beginning.
LOGS: dict[str, tuple[str, str]] = {mark: (name, way) for mark, (name, way) in _FORMATS["logs"].items()}


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
