"""Rows of a table that are no trials: instructions, practice, fixation screens and other events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from neurogym.array_types import BoolArray
from neurogym.behaviour import entries
from neurogym.behaviour.codings import read_flags
from neurogym.behaviour.entries import plain
from neurogym.behaviour.evidence import FILE, group_index
from neurogym.behaviour.roles import Roles, is_flag, names_of
from neurogym.behaviour.vocabulary import is_called, is_like
from neurogym.messages.options import option

if TYPE_CHECKING:
    from pandas import DataFrame, Series


MOST_SUMMARIES = 0.02  #: share of rows
Remove = Callable[[BoolArray, str], None]  #: leaves rows out for a reason
#: Roles whose entries show that a row is a trial.
DESIGN = ("correct", "ground_truth", "stimuli", "reward", "gain", "state")


def trial_rows(columns: DataFrame, roles: Roles, filtered: Sequence[str] = ()) -> tuple[BoolArray, dict[str, int]]:
    """Return which rows are trials, and how many others there are, by reason.

    Args:
        columns: the table.
        roles: the column of each role, as guessed from all rows.
        filtered: columns by which the user chose rows; these decide nothing more.
    """
    rows = np.ones(len(columns), bool)
    left_out: dict[str, int] = {}

    def remove(mask: BoolArray, reason: str) -> None:
        count = int((rows & mask).sum())
        if 0 < count < rows.sum():
            rows[mask] = False
            left_out[reason] = left_out.get(reason, 0) + count

    def remove_phase(mask: BoolArray, reason: str) -> None:
        inside = np.bincount(subject[mask], minlength=subject.max() + 1) > 0
        if (inside & (np.bincount(subject[~mask], minlength=len(inside)) > 0)).sum() > 0.5 * inside.sum():
            remove(mask, reason)  # else a group of subjects, as one with practice

    choice = None if "choice" not in roles else str(roles["choice"])
    subject = group_index(columns, [roles.get("subject", FILE)])
    for name, column in columns.items():
        if name in filtered or name == choice:
            continue
        if is_like(name, "practice_flag") and is_flag(column) and len(entries.distinct(column)) > 1:
            listed = ",".join(entries.levels(column)[0])
            remove_phase(read_flags(column)[0] == 1, f"practice ({name}); to keep these, {_kept(name, listed)}")
        elif entries.is_words(column) and name not in roles.values():
            _remove_phases(name, column, "phases" if is_called(name, "phase_columns") else "practice", remove_phase)
    for _, column in columns.items():
        for word in filter(lambda word: is_like(word, "summary"), entries.words(column)):
            summary = np.asarray(column == word)
            if summary.mean() < MOST_SUMMARIES:
                remove(summary, f"rows {word}")
    _remove_loops(columns, filtered, remove)
    if {roles.get("trial"), choice} <= {*columns}:
        unnumbered = np.all([entries.missing(columns[str(name)]) for name in (roles["trial"], choice)], axis=0)
        remove(unnumbered, f"rows without {roles['trial']} and {choice}")
    form = form_of(columns)
    if form:
        remove(_without_design(columns, roles), f"rows without a trial ({form})")
    return rows, left_out


def joined_trials(columns: DataFrame, roles: Mapping[str, object]) -> DataFrame:
    """Return one row for each trial, where rows of one trial number follow each other and one of them has the choice.

    Of entries that differ, the first counts.
    """
    numbers = columns.get(str(roles.get("trial")))
    if numbers is None or roles.get("choice") not in columns or not numbers.eq(numbers.shift()).any():
        return columns
    trial = group_index(columns, [FILE, *(roles.get(role) for role in ("subject", "session", "trial"))])
    begins = np.append(True, trial[1:] != trial[:-1])
    number = np.cumsum(begins) - 1
    answers = np.bincount(number, ~entries.missing(columns[str(roles["choice"])]))
    if np.median(np.bincount(number)) < 2 or answers.max() > 1:
        return columns
    return columns.groupby(number).first().set_axis(columns.index[begins])


def _kept(name: str, words: str) -> str:
    return option(f"--where '{name} in {words}'")


def form_of(columns: DataFrame) -> str:
    """Return the program that wrote a row for each screen or event; empty for tables of trials."""
    short = {plain(name) for name in columns}
    if len([name for name in columns if is_called(name, "screens")]) >= 2:
        return "jsPsych"
    if any(name.endswith(".thisN") for name in columns) or {"psychopyversion", "expname"} <= short:
        return "PsychoPy"
    return "BIDS events" if {"onset", "duration", "trialtype"} <= short else ""


def _remove_phases(name: str, column: Series, pattern: str, remove: Remove) -> None:
    idle = [word for word in entries.words(column) if is_like(word, pattern)]
    if not idle or len(idle) == len(entries.words(column)):
        return
    for word in idle:
        remove(np.asarray(column == word), f"{name} {word}; to keep these, {_kept(name, f'{word},...')}")


def _remove_loops(columns: DataFrame, filtered: Sequence[str], remove: Remove) -> None:
    """Remove the rows of PsychoPy outside the innermost loop, and those of loops named after practice."""
    loops = [name for name in columns if name.endswith(".thisN") and name not in filtered]
    if not loops:
        return
    practice = [name for name in loops if plain(name).startswith(("prac", "instr", "demo", "tutorial"))]
    for name in practice:
        remove(~entries.missing(columns[name]), f"practice (loop {name.removesuffix('.thisN')})")
    rest = [name for name in loops if name not in practice]
    if rest:
        main = max(rest, key=lambda name: int((~entries.missing(columns[name])).sum()))
        remove(entries.missing(columns[main]), f"rows outside the loop {main.removesuffix('.thisN')}")


def _without_design(columns: DataFrame, roles: Roles) -> BoolArray:
    """Return which rows have no entry in any column that a trial has whether it is answered or not."""
    names = [name for role in DESIGN for name in names_of(roles.get(role))]
    if not names:
        choice = roles.get("choice")
        kinds = [name for name in columns if plain(name) == "trialtype" and entries.is_words(columns[name])]
        if choice is None or not kinds or len(entries.distinct(columns[str(choice)])) < 2:
            return np.zeros(len(columns), bool)
        return _other_kinds(columns[kinds[0]], columns[str(choice)])
    return np.all([entries.missing(columns[name]) for name in names], axis=0)


def _other_kinds(kind: Series, choice: Series) -> BoolArray:
    """Return the rows of other kinds than the one with most answers."""
    answered = entries.codes(kind)[~entries.missing(choice) & ~entries.missing(kind)]
    return np.asarray(entries.codes(kind) != int(np.argmax(np.bincount(answered, minlength=1))))
