"""Reading tables of behaviour: from files of many formats and from Python, through one reader that says what it read.

The columns of a source get formulas and conditions, rows that are no trials are left out, each column gets a role from
its name and its values, entries become choices, times and amounts, and rows become sessions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.array_types import BoolArray, IntArray
from neurogym.behaviour import (
    assembling,
    derivation,
    entries,
    expressions,
    grouping,
    layouts,
    pulse_times,
    roles,
    screens,
)
from neurogym.behaviour.column_maps import ColumnMap
from neurogym.behaviour.conversion import from_source
from neurogym.behaviour.derivation import Draft
from neurogym.behaviour.entries import TableError, check_number_of_columns
from neurogym.behaviour.evidence import FILE, listed, trials_of_sessions
from neurogym.behaviour.expressions import TrialOrder
from neurogym.behaviour.files import read_source
from neurogym.behaviour.guessing import Guess, guess
from neurogym.behaviour.layouts import NoChoiceError
from neurogym.behaviour.questions import TableQuestion
from neurogym.behaviour.roles import Roles, names_of
from neurogym.behaviour.sources import Source, without_copies
from neurogym.behaviour.table import Behaviour, ColumnReading, Reading
from neurogym.behaviour.vocabulary import ROLES
from neurogym.messages.names import unknown
from neurogym.messages.options import option

if TYPE_CHECKING:
    from pandas import DataFrame


__all__ = ["NoChoiceError", "TableError", "TableQuestion", "read"]

#: Tables that can be read: a path or several, a DataFrame, a ``pyarrow.Table``, a dict of arrays, a list of dicts.
TableSource = Any
SEVERAL = ("stimuli", "pulses")  #: roles of several columns


def read(
    source: TableSource,
    given: Roles | None = None,
    columns: Mapping[str, Any] | None = None,
    *,
    where: Sequence[str] = (),
    derive: Sequence[str] | Mapping[str, str] = (),
    missed: Sequence[str] = (),
    keep: Sequence[str] = (),
    choices: Sequence[str] = (),
) -> Behaviour:
    """Read a table of behaviour; what the arguments do not say is guessed.

    Args:
        source: file, folder or list of files (CSV, TSV, Parquet, Feather, MATLAB, NWB, JSON, ALF, BIDS), DataFrame,
            ``pyarrow.Table``, mapping of arrays, or list of mappings.
        given: columns of roles (see `neurogym.behaviour.vocabulary.COLUMN_NAMES`; ``stimuli``: several); None: the
            table has no such column.
        columns: content of a column file, see `neurogym.behaviour.column_maps`.
        where: conditions that choose rows, see `neurogym.behaviour.expressions.rows_where`.
        derive: formulas that make columns, see `neurogym.behaviour.expressions.derived`.
        missed: entries of the choice that mean no answer.
        keep: further columns that are kept with the trials, to split by.
        choices: the options in order; other entries of the choice mean no answer.

    Raises:
        TableError: if the file or the table is unfit.
    """
    named = dict(given or {})
    for role, value in named.items():
        if role not in SEVERAL and not isinstance(value, str | None):
            found = " and ".join(map(str, value))
            raise TableError(f"found {found} as {role.replace('_', ' ')}, expected one column")
    every = [name for value in named.values() for name in {*names_of(value)}]
    for name in (each for each in every if every.count(each) > 1):
        several = " and as ".join(role.replace("_", " ") for role in named if name in names_of(named[role]))
        raise TableError(f"found {name} as {several}, expected one role for a column")
    if isinstance(source, Behaviour):
        return source
    loaded, name = _load(source)
    try:
        chosen = ColumnMap.of(columns)
        chosen = replace(
            chosen,
            where=(*chosen.where, *where),
            derive={**chosen.derive, **(derive if isinstance(derive, Mapping) else _formulas(derive))},
            missed=tuple(map(str, missed)) or chosen.missed,
            choices=tuple(map(str, choices)) or chosen.choices,
        )
        return _read(loaded, named, chosen, keep)
    except TableQuestion as question:
        raise question.about(name) from None
    except TableError as error:
        text = f"{name}: {error}" if name else str(error)
        raise (NoChoiceError(text, error.table) if isinstance(error, NoChoiceError) else TableError(text)) from None


def _load(source: TableSource) -> tuple[Source, str]:
    """Return the columns of a source, and its name for messages."""
    if isinstance(source, str | PathLike):
        return read_source(Path(source)), str(source)
    if isinstance(source, list | tuple) and source and all(isinstance(each, str | PathLike) for each in source):
        paths = [Path(each) for each in source]
        return read_source(paths), f"{paths[0]}, ..." if len(paths) > 1 else str(paths[0])
    table = from_source(source)
    if table is None:
        raise TableError(
            f"expected a path, a DataFrame, a dict of arrays or a list of dicts, not {type(source).__name__}"
        )
    return Source(table), ""


def _read(source: Source, given: dict[str, Any], chosen: ColumnMap, keep: Sequence[str]) -> Behaviour:
    if source.table.empty:
        raise TableError("found no rows, expected one for each trial")
    check_number_of_columns(source.table.shape[1])
    left_out = dict(source.left_out)
    kept, notes = without_copies(source.table, source.names)
    if not kept.all():
        left_out["rows that occur twice"] = int((~kept).sum())
    table = entries.take(source.table, kept)

    def order() -> tuple[IntArray, BoolArray]:
        return trials_of_sessions(table, {**(chosen.roles or guess(table, given).roles), **given})

    chosen.derive = {**derivation.of_codes(table), **chosen.derive}
    columns, remarks = expressions.derived(table, chosen.derive, order)
    columns = _with_pulses(_filtered(columns, chosen.where, left_out, order), given, chosen)
    columns = grouping.with_combinations(columns, [*{**(chosen.roles or {}), **given}.values()])
    mapped: Roles | None = None
    if chosen.rules:
        columns, mapped = chosen.apply(columns)
    else:
        _check(columns, {**given, "stimuli": (*names_of(given.get("stimuli")), *keep)})
        if chosen.roles is not None:
            mapped = {**chosen.roles, **{role: tuple(names_of(chosen.roles.get(role))) for role in SEVERAL}}
        tentative: dict[str, Any] = {**(mapped or guess(columns, given).roles), **given}
        columns = _without_screens(columns, tentative, chosen, left_out)
    draft = Draft(columns, chosen, [*given], notes=[*source.notes, *notes, *remarks])
    if mapped is None:
        derivation.derive_outcomes(draft)
    if mapped is None and "choice" not in given:
        layouts.refuse_named_wide(draft.columns)
    draft.roles, draft.named, guessed = _assigned(draft.columns, given, mapped)
    layouts.check_choice(draft.columns, draft.roles, chosen.derive)
    chosen.missed = chosen.missed or guessed.missed
    draft.notes += guessed.notes
    derivation.derive_differences(draft)
    columns, assigned = draft.columns, draft.roles
    assembler = assembling.Assembler(columns, assigned, draft.named, chosen, source.locate)
    stimuli, trials = assembler.assemble()
    groups = grouping.group(columns, assigned, source.locate, asks=mapped is None and "subject" not in draft.named)
    if groups.rows_left_out:
        left_out["rows without a subject or session"] = groups.rows_left_out
    conditions = assembler.conditions(keep)
    sessions = assembling.sessions_of(trials, groups.sessions, conditions)
    if not sessions:
        raise TableError("found no rows with a subject and a session")
    words = {**assembler.words, **groups.words}
    used = {each for value in assigned.values() for each in names_of(value)}
    saved = column_map_of(chosen, assigned, assembler)
    notes = [
        *draft.notes,
        *assembler.notes,
        *groups.notes,
        *roles.remarks_on(columns, assigned, " ".join(chosen.derive.values())),
    ]
    reading = Reading(
        source.form,
        tuple(_reading(columns, assigned, conditions, words, _reasons(assigned, draft.named, guessed))),
        {**left_out, **assembler.left_out},
        tuple(dict.fromkeys(notes)),
        saved,
    )
    unused = tuple(name for name in columns if name not in used)
    return Behaviour(sessions, assembler.choices.words, stimuli, dict(assigned), unused, reading)


def _formulas(texts: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for (name, sign, formula), text in zip(pairs, texts, strict=True):
        if not (name.strip() and sign and formula.strip()):
            raise TableError(f"formula {text!r}: expected NAME=FORMULA, as in signed=contrastRight-contrastLeft")
    return {name.strip(): formula.strip() for name, _, formula in pairs}


def _with_pulses(columns: DataFrame, given: dict[str, Any], chosen: ColumnMap) -> DataFrame:
    """Return the table with the difference of the pulses of both sides; their unit moves to the settings."""
    names = names_of(given["pulses"] if "pulses" in given else (chosen.roles or {}).get("pulses"))
    if "pulses" in given and len(names) == 3 and names[2] in pulse_times.UNITS:
        *names, chosen.pulse_unit = names
        given["pulses"] = names
    elif "pulses" not in given and chosen.roles is None and not chosen.rules:
        names = list(pulse_times.pulse_columns(columns) or ())
    if not names:
        return columns
    if len(names) != 2:
        raise TableError(f"{option('--pulses')}: expected two columns, and s or ms, as in left,right,ms; found {names}")
    _check(columns, {"pulses": names})
    return pulse_times.with_counts(columns, (names[0], names[1]))


def _filtered(columns: DataFrame, where: Sequence[str], left_out: dict[str, int], order: TrialOrder) -> DataFrame:
    """Return the rows that satisfy all conditions."""
    rows = np.ones(len(columns), bool)
    for condition in where:
        chosen = expressions.rows_where(columns, condition, order)
        removed = int((rows & ~chosen).sum())
        rows &= chosen
        if removed:
            left_out[f"rows without {condition}"] = removed
    if not rows.any():
        raise TableError(f"no row satisfies {' and '.join(where)}")
    return entries.take(columns, rows)


def _without_screens(columns: DataFrame, tentative: Roles, chosen: ColumnMap, left_out: dict[str, int]) -> DataFrame:
    """Return the rows that are trials."""
    if tentative.get("choice") in columns:
        columns = _with_choices(columns, str(tentative["choice"]), left_out)
    filtered = [name for name in columns if any(name in condition for condition in chosen.where)]
    finite = {
        role: value
        for role, value in tentative.items()
        if value is not None and all(name in columns for name in names_of(value))
    }
    trials, reasons = screens.trial_rows(columns, finite, filtered)
    left_out.update(reasons)
    columns = entries.take(columns, trials)
    joined = screens.joined_trials(columns, finite)
    if len(joined) < len(columns):
        left_out[f"rows joined with the first of their number in {finite['trial']}"] = len(columns) - len(joined)
    return joined


def _assigned(columns: DataFrame, given: Roles, mapped: Roles | None) -> tuple[dict[str, Any], list[str], Guess]:
    """Return the column of each role, from what the user says and a guess; the roles that the user named; the guess.

    Raises:
        TableQuestion: if the guess leaves open a role that the user did not name.
    """
    guessed = Guess()
    if mapped is None:
        guessed = guess(columns, given)
        for question in guessed.questions.values():
            raise question
        assigned: dict[str, Any] = dict(guessed.roles)
        named: list[str] = []
    else:
        assigned = {role: value for role, value in mapped.items() if value is not None}
        assigned.setdefault("stimuli", ())
        named = list(assigned)
        _check(columns, assigned)
    _check(columns, given)
    for role, value in given.items():
        names = names_of(value)
        assigned = {k: v for k, v in assigned.items() if k == "stimuli" or v not in names}
        assigned["stimuli"] = tuple(each for each in assigned["stimuli"] if each not in names)
        named.append(role)
        if role in SEVERAL:
            assigned[role] = tuple(names)
        elif value is not None:
            assigned[role] = names[0]
        else:
            assigned.pop(role, None)
    return assigned, named, guessed


def _reasons(assigned: Mapping[str, Any], named: Sequence[str], guessed: Guess) -> dict[str, str]:
    """Return why the column of each role has its role."""
    reasons = {
        role: guessed.reasons.get(role, "derived") if guessed.roles.get(role) == name else "derived"
        for role, name in assigned.items()
    }
    return reasons | {role: "named" for role in named if role in assigned}


def _check(columns: DataFrame, named: Mapping[str, Any]) -> None:
    for role, value in named.items():
        if role not in ROLES:
            raise TableError(unknown("role", role, ROLES))
        for name in names_of(value):
            if name not in columns:
                raise TableError(unknown("column", name, columns))


def _with_choices(columns: DataFrame, choice: str, left_out: dict[str, int]) -> DataFrame:
    """Return the table without the files in which no row has a choice, as those of another task."""
    labels, file = entries.texts(columns[FILE]) if FILE in columns else ((), np.zeros(0, int))
    empty = np.bincount(file, ~entries.missing(columns[choice]), len(labels)) == 0 if labels else np.zeros(0, bool)
    if not empty.any() or empty.all():
        return columns
    names = [label for label, without in zip(labels, empty, strict=True) if without]
    left_out[f"rows of {listed(names)}, where {choice} is empty"] = int(empty[file].sum())
    return entries.take(columns, ~empty[file])


def column_map_of(chosen: ColumnMap, assigned: Mapping[str, Any], assembler: assembling.Assembler) -> dict[str, Any]:
    """Return the content of a column file that reads the table in the same way without a guess."""
    if chosen.rules:
        return replace(chosen, roles=None).to_dict()
    saved = replace(
        chosen,
        roles={role: value for role, value in assigned.items() if value},
        choices=assembler.options,
        turned=tuple(assembler.turned),
        rt_unit=assembler.times.unit if "rt" in assigned and not assembler.times.groups else None,
        pulse_unit=assembler.pulse_unit,
    )
    return saved.to_dict()


def _reading(
    columns: DataFrame,
    assigned: Mapping[str, Any],
    conditions: Mapping[str, object],
    words: Mapping[str, str],
    reasons: Mapping[str, str],
) -> list[ColumnReading]:
    """Return a row for each column: those with roles first, in the order of the roles."""
    of_column: dict[str, list[str]] = {}
    why: dict[str, list[str]] = {}
    for role, value in assigned.items():
        for name in names_of(value):
            of_column.setdefault(name, []).append("stimulus" if role == "stimuli" else role.replace("_", " "))
            why.setdefault(name, []).append(reasons[role])
    rest = [name for name in columns if name not in of_column]
    return [
        ColumnReading(
            name,
            ", ".join(of_column.get(name, ["condition"] if name in conditions else [])),
            entries.describe(columns[name], bool({"subject", "session"} & set(of_column.get(name, ())))),
            words.get(name, "" if name not in of_column else "as written"),
            ", ".join(dict.fromkeys(why.get(name, ()))),
        )
        for name in (*of_column, *rest)
    ]
