"""Rows of a table that are no trials: instructions, practice, fixation screens and other events."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from neurogym.array_types import BoolArray
from neurogym.behaviour.codings import read_flags
from neurogym.behaviour.column_names import SCREENS
from neurogym.behaviour.columns import Column, Columns, plain, rows_of
from neurogym.behaviour.roles import is_flag

#: Columns that say which phase of an experiment a row belongs to, and words for phases without trials of the task.
PHASE_COLUMNS = (
    "task", "phase", "block", "blocktype", "stage", "section", "testpart", "part", "trialpart", "trialtype", "screen",
    "screenid", "screenname", "event", "eventtype", "display", "label", "name", "condition", "tasktype", "blockname",
    "taskname", "zonetype",
)  # fmt: skip
IDLE = re.compile(
    r"(prac(tice|tise)?(trials?|block)?\d*|instr(uctions?)?\w*|tutorial|demo|warmup|example|fix(ation)?(cross)?|iti|"
    r"feedback\w*|debrief\w*|consent\w*|welcome\w*|end|thanks|thankyou|survey\w*|questionnaire\w*|demographics\w*|"
    r"content\w*|continue\w*|preload|(enter|exit)?fullscreen|attentioncheck|browsercheck|break|rest|pause|intro(duction)?|goodbye)"
)
END_OF_FILE = "END OF FILE"  #: last row of a table of Gorilla
PRACTICE = ("practice", "ispractice", "practise", "practicetrial")
#: Roles whose entries show that a row is a trial.
DESIGN = ("correct", "ground_truth", "stimuli", "reward", "gain", "state")


def trial_rows(
    columns: Columns, roles: Mapping[str, object], filtered: Sequence[str] = ()
) -> tuple[BoolArray, dict[str, int]]:
    """Return which rows are trials, and how many others there are, by reason.

    Args:
        columns: the table.
        roles: the column of each role, as guessed from all rows.
        filtered: columns by which the user chose rows; these decide nothing more.
    """
    rows = np.ones(rows_of(columns), bool)
    left_out: dict[str, int] = {}

    def remove(mask: BoolArray, reason: str) -> None:
        count = int((rows & mask).sum())
        if 0 < count < rows.sum():
            rows[mask] = False
            left_out[reason] = left_out.get(reason, 0) + count

    choice = None if "choice" not in roles else str(roles["choice"])
    for name, column in columns.items():
        if name in filtered or name == choice:
            continue
        if plain(name) in PRACTICE and is_flag(column) and len(column.distinct) > 1:
            listed = ",".join(column.levels[0])
            remove(read_flags(column)[0] == 1, f"practice ({name}); to keep these, --where '{name} in {listed}'")
        elif plain(name) in PHASE_COLUMNS and column.codes is not None and name not in roles.values():
            _remove_phases(name, column, remove)
    for column in columns.values():
        ends = [k for k, word in enumerate(column.words) if word == END_OF_FILE]
        if ends and column.codes is not None:
            remove(column.codes == ends[0], f"rows {END_OF_FILE}")
    _remove_loops(columns, filtered, remove)
    form = form_of(columns)
    if form:
        remove(_without_design(columns, roles), f"rows without a trial ({form})")
    return rows, left_out


def form_of(columns: Columns) -> str:
    """Return the program that wrote a row for each screen or event; empty for tables of trials."""
    short = {plain(name) for name in columns}
    if len(SCREENS & short) >= 2:
        return "jsPsych"
    if any(name.endswith(".thisN") for name in columns) or {"psychopyversion", "expname"} <= short:
        return "PsychoPy"
    return "BIDS events" if {"onset", "duration", "trialtype"} <= short else ""


def _remove_phases(name: str, column: Column, remove: object) -> None:
    idle = [k for k, word in enumerate(column.words) if IDLE.fullmatch(plain(word))]
    if not idle or len(idle) == len(column.words) or not callable(remove):
        return
    assert column.codes is not None
    for k in idle:
        word = column.words[k]
        remove(column.codes == k, f"{name} {word}; to keep these, --where '{name} in {word},...'")


def _remove_loops(columns: Columns, filtered: Sequence[str], remove: object) -> None:
    """Remove the rows of PsychoPy outside the innermost loop, and those of loops named after practice."""
    loops = [name for name in columns if name.endswith(".thisN") and name not in filtered]
    if not loops or not callable(remove):
        return
    practice = [name for name in loops if plain(name).startswith(("prac", "instr", "demo", "tutorial"))]
    for name in practice:
        remove(~columns[name].missing, f"practice (loop {name.removesuffix('.thisN')})")
    rest = [name for name in loops if name not in practice]
    if rest:
        main = max(rest, key=lambda name: int((~columns[name].missing).sum()))
        remove(columns[main].missing, f"rows outside the loop {main.removesuffix('.thisN')}")


def _without_design(columns: Columns, roles: Mapping[str, object]) -> BoolArray:
    """Return which rows have no entry in any column that a trial has whether it is answered or not."""
    names: list[str] = []
    for role in DESIGN:
        value = roles.get(role, ())
        names += [value] if isinstance(value, str) else list(value)  # type: ignore[call-overload]
    if not names:
        choice = roles.get("choice")
        kinds = [name for name in columns if plain(name) == "trialtype" and columns[name].codes is not None]
        if choice is None or not kinds:
            return np.zeros(rows_of(columns), bool)
        return _other_kinds(columns[kinds[0]], columns[str(choice)])
    return np.all([columns[name].missing for name in names], axis=0)


def _other_kinds(kind: Column, choice: Column) -> BoolArray:
    """Return the rows of other kinds than the one with most answers."""
    assert kind.codes is not None
    answers = np.bincount(kind.codes[~choice.missing & (kind.codes >= 0)], minlength=len(kind.words))
    return np.asarray(kind.codes != int(np.argmax(answers)))
