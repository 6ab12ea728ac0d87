"""Reading tables of behaviour: from files of many formats and from Python, through one reader that says what it read.

The columns of a source get formulas and conditions, rows that are no trials are left out, each column gets a role from
its name and its values, entries become choices, times and amounts, and rows become sessions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from neurogym.behaviour import assembling, derivation, expressions, grouping, roles, screens
from neurogym.behaviour.column_maps import ColumnMap
from neurogym.behaviour.column_names import ROLES
from neurogym.behaviour.columns import Column, Columns, TableError, rows_of
from neurogym.behaviour.conversion import from_source
from neurogym.behaviour.files import Source, read_source
from neurogym.behaviour.roles import Roles
from neurogym.behaviour.table import Behaviour, ColumnReading, Reading
from neurogym.messages.names import unknown

__all__ = ["TableError", "TableOptions", "from_columns", "read"]

#: Tables that can be read: a path or several, a DataFrame, a ``pyarrow.Table``, a dict of arrays, a list of dicts.
TableSource = Any
MOST_LISTED_ENTRIES = 6  #: entries that are listed of a column


@dataclass(frozen=True)
class TableOptions:
    """What a user says about a table; the rest is guessed.

    Attributes:
        roles: columns of roles (see `neurogym.behaviour.column_names.COLUMN_NAMES`; ``stimuli``: several); None: the
            table has no such column.
        columns: content of a column file, see `neurogym.behaviour.column_maps`.
        where: conditions that choose rows, see `neurogym.behaviour.expressions.rows_where`.
        derive: formulas that make columns, see `neurogym.behaviour.expressions.derived`.
        missed: entries of the choice that mean no answer.
        keep: further columns that are kept with the trials, to split by.
    """

    roles: Roles = field(default_factory=dict)
    columns: Mapping[str, Any] | None = None
    where: Sequence[str] = ()
    derive: Sequence[str] | Mapping[str, str] = ()
    missed: Sequence[str] = ()
    keep: Sequence[str] = ()


def read(
    source: TableSource, given: Roles | None = None, columns: Mapping[str, Any] | None = None, **options: Any
) -> Behaviour:
    """Read a table of behaviour.

    Args:
        source: file, folder or list of files (CSV, TSV, Parquet, Feather, MATLAB, NWB, JSON, ALF, BIDS), DataFrame,
            ``pyarrow.Table``, mapping of arrays, or list of mappings.
        given: columns of roles, see `TableOptions`.
        columns: content of a column file, see `TableOptions`.
        **options: other fields of `TableOptions`.

    Raises:
        TableError: if the file or the table is unfit.
    """
    settings = TableOptions(given or {}, columns, **options)
    if isinstance(source, Behaviour):
        return source
    loaded, name = _load(source)
    try:
        return _read(loaded, settings)
    except TableError as error:
        raise TableError(f"{name}: {error}" if name else str(error)) from None


def from_columns(table: Mapping[str, Any], given: Roles | None = None, guessing: bool = True) -> Behaviour:
    """Return behaviour from columns of equal length; see `read`.

    Args:
        table: array or list by name.
        given: columns of roles.
        guessing: whether roles that are not given are guessed.
    """
    named = dict(given or {})
    return read(table, {} if not guessing else named, None if guessing else {"roles": {"stimuli": (), **named}})


def _load(source: TableSource) -> tuple[Source, str]:
    """Return the columns of a source, and its name for messages."""
    if isinstance(source, str | PathLike):
        return read_source(Path(source)), str(source)
    if isinstance(source, list | tuple) and source and all(isinstance(each, str | PathLike) for each in source):
        paths = [Path(each) for each in source]
        return read_source(paths), f"{paths[0]}, ..." if len(paths) > 1 else str(paths[0])
    columns = from_source(source)
    if columns is None:
        raise TableError(
            f"expected a path, a DataFrame, a dict of arrays or a list of dicts, not {type(source).__name__}"
        )
    return Source(columns), ""


def _read(source: Source, options: TableOptions) -> Behaviour:
    if not rows_of(source.columns):
        raise TableError("found no rows, expected one for each trial")
    chosen = ColumnMap.of(options.columns)
    chosen.where = (*chosen.where, *options.where)
    formulas = dict(options.derive) if isinstance(options.derive, Mapping) else _formulas(options.derive)
    chosen.derive = {**chosen.derive, **formulas}
    chosen.missed = tuple(map(str, options.missed)) or chosen.missed
    columns, notes = expressions.derived(source.columns, chosen.derive)
    left_out, notes = dict(source.left_out), [*source.notes, *notes]
    columns, rows = _filtered(columns, chosen.where, left_out)
    mapped: Roles | None = None
    if chosen.rules:
        columns, mapped = chosen.apply(columns)
    elif chosen.roles is not None:
        mapped = {**chosen.roles, "stimuli": tuple(_names(chosen.roles.get("stimuli")))}
    if not chosen.rules:
        tentative: dict[str, Any] = {**(mapped or roles.guess(columns)), **options.roles}
        columns, rows = _without_screens(columns, rows, tentative, chosen, left_out)
    if mapped is None:
        columns = derivation.with_rewards(columns, chosen)
    assigned, given = _assigned(columns, options.roles, mapped)
    if "choice" not in assigned:
        listed = ", ".join(list(columns)[:20]) + (", ..." if len(columns) > 20 else "")
        reasons = "".join(f"; {why}" for why in roles.unfit("choice", columns))
        may_be = [name for name in roles.unnamed_choices(columns) if name not in assigned.values()]
        hint = f"; {' or '.join(may_be)} may be it" if may_be else ""
        raise TableError(
            f"found no column of choices among {listed}{reasons}{hint}; expected --choice COLUMN in a table with a row "
            "for each trial"
        )
    if "stimuli" not in given:
        columns, assigned = derivation.with_differences(columns, assigned, chosen, notes)
    for name in options.keep:
        if name not in columns:
            raise TableError(unknown("column", name, columns))
    assembler = assembling.Assembler(columns, assigned, given, chosen, rows, source.locate)
    trials = assembler.assemble()
    groups = grouping.group(columns, assigned, rows, source.locate)
    if groups.rows_left_out:
        left_out["rows without a subject or session"] = groups.rows_left_out
    conditions = assembler.conditions(options.keep)
    sessions = assembling.sessions_of(trials, groups.sessions, conditions)
    if not sessions:
        raise TableError("found no rows with a subject and a session")
    words = {**trials.words, **groups.words}
    used = {each for role, value in assigned.items() for each in _names(value)}
    saved = column_map_of(chosen, assigned, assembler)
    reading = Reading(
        source.form,
        tuple(_reading(columns, assigned, conditions, words)),
        {**left_out, **trials.left_out},
        tuple(dict.fromkeys([*notes, *trials.notes, *groups.notes, *_offers(columns, assigned)])),
        saved,
    )
    unused = tuple(name for name in columns if name not in used)
    return Behaviour(sessions, trials.choices, trials.stimuli, dict(assigned), unused, reading)


def _formulas(texts: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for (name, sign, formula), text in zip(pairs, texts, strict=True):
        if not (name.strip() and sign and formula.strip()):
            raise TableError(f"formula {text!r}: expected NAME=FORMULA, as in signed=contrastRight-contrastLeft")
    return {name.strip(): formula.strip() for name, _, formula in pairs}


def _filtered(columns: Columns, where: Sequence[str], left_out: dict[str, int]) -> tuple[Columns, np.ndarray]:
    """Return the rows that satisfy all conditions, and their numbers."""
    rows = np.ones(rows_of(columns), bool)
    for condition in where:
        chosen = expressions.rows_where(columns, condition)
        removed = int((rows & ~chosen).sum())
        rows &= chosen
        if removed:
            left_out[f"rows without {condition}"] = removed
    if not rows.any():
        raise TableError(f"no row satisfies {' and '.join(where)}")
    numbers = np.flatnonzero(rows)
    return (columns if rows.all() else {name: column.take(rows) for name, column in columns.items()}), numbers


def _without_screens(
    columns: Columns, rows: np.ndarray, tentative: Roles, chosen: ColumnMap, left_out: dict[str, int]
) -> tuple[Columns, np.ndarray]:
    """Return the rows that are trials."""
    filtered = [name for name in columns if any(name in condition for condition in chosen.where)]
    finite = {
        role: value
        for role, value in tentative.items()
        if value is not None and all(name in columns for name in _names(value))
    }
    trials, reasons = screens.trial_rows(columns, finite, filtered)
    left_out.update(reasons)
    if trials.all():
        return columns, rows
    return {name: column.take(trials) for name, column in columns.items()}, rows[trials]


def _assigned(columns: Columns, given: Roles, mapped: Roles | None) -> tuple[dict[str, Any], list[str]]:
    """Return the column of each role, from what the user says and a guess, and the roles that the user named."""
    if mapped is None:
        assigned: dict[str, Any] = roles.guess(columns)
        named: list[str] = []
    else:
        assigned = {role: value for role, value in mapped.items() if value is not None}
        assigned.setdefault("stimuli", ())
        named = list(assigned)
        _check(columns, assigned)
    _check(columns, given)
    for role, value in given.items():
        names = _names(value)
        assigned = {k: v for k, v in assigned.items() if k == "stimuli" or v not in names}
        assigned["stimuli"] = tuple(each for each in assigned["stimuli"] if each not in names)
        named.append(role)
        if role == "stimuli":
            assigned[role] = tuple(names)
        elif value is not None:
            assigned[role] = names[0]
        else:
            assigned.pop(role, None)
    return assigned, named


def _check(columns: Columns, named: Mapping[str, Any]) -> None:
    for role, value in named.items():
        if role not in ROLES:
            raise TableError(unknown("role", role, ROLES))
        for name in _names(value):
            if name not in columns:
                raise TableError(unknown("column", name, columns))


def _names(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _offers(columns: Columns, assigned: Mapping[str, Any]) -> list[str]:
    pairs = roles.numbered_pairs(columns, assigned["stimuli"])
    notes = [
        f"{a} and {b} are two stimuli; --derive difference={b}-{a} --stimuli difference makes one" for a, b in pairs
    ]
    if not assigned["stimuli"] and not {"reward", "gain", "choice2"} & set(assigned):
        may_be = roles.unnamed_stimuli(columns, assigned)
        notes += [
            f"choices depend on {' and '.join(may_be)}: --stimuli {','.join(may_be)} if these are stimuli"
        ] * bool(may_be)
    offered = [name for name in roles.offers(columns, {"choice": assigned["choice"]}) if name in assigned["stimuli"]]
    if len(offered) > 1:
        notes.append(
            f"{', '.join(offered)} are read as offers that {assigned['choice']} is about; --gain COLUMN --loss COLUMN "
            "if they are what came of the choice"
        )
    return notes


def column_map_of(chosen: ColumnMap, assigned: Mapping[str, Any], assembler: assembling.Assembler) -> dict[str, Any]:
    """Return the content of a column file that reads the table in the same way without a guess."""
    if chosen.rules:
        return replace(chosen, roles=None).to_dict()
    saved = replace(
        chosen,
        roles={role: value for role, value in assigned.items() if value},
        choices=assembler.options,
        turned=tuple(assembler.turned),
        rt_unit=assembler.times.unit if "rt" in assigned else None,
    )
    return saved.to_dict()


def _reading(
    columns: Columns, assigned: Mapping[str, Any], conditions: Mapping[str, object], words: Mapping[str, str]
) -> list[ColumnReading]:
    """Return a row for each column: those with roles first, in the order of the roles."""
    of_column: dict[str, list[str]] = {}
    for role, value in assigned.items():
        for name in _names(value):
            of_column.setdefault(name, []).append("stimulus" if role == "stimuli" else role.replace("_", " "))
    rest = [name for name in columns if name not in of_column]
    return [
        ColumnReading(
            name,
            ", ".join(of_column.get(name, ["condition"] if name in conditions else [])),
            _values(columns[name], as_written={"subject", "session"} & set(of_column.get(name, ()))),
            words.get(name, "" if name not in of_column else "as written"),
        )
        for name in (*of_column, *rest)
    ]


def _values(column: Column, as_written: Collection[str] = ()) -> str:
    """Return the entries of a column in words; labels as written."""
    words = column.texts[0] if as_written else ()
    numeric = column.codes is None or (column.is_numeric and len(column.words) > MOST_LISTED_ENTRIES)
    if numeric and not as_written:
        finite = column.numbers[np.isfinite(column.numbers)]
        if not len(finite):
            return "empty"
        if len(column.distinct) > MOST_LISTED_ENTRIES:
            return f"{finite.min():.4g} to {finite.max():.4g}"
    words = words or column.levels[0]
    short = [word if len(word) <= 20 else word[:17] + "..." for word in words[:MOST_LISTED_ENTRIES]]
    return (
        ", ".join(short) if len(words) <= MOST_LISTED_ENTRIES else f"{len(words):,} words: {', '.join(short[:3])}, ..."
    )
