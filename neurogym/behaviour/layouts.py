"""Tables without a row of a choice for each trial: the command or the Python that gives one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.behaviour import entries, roles
from neurogym.behaviour.entries import TableError, plain
from neurogym.behaviour.evidence import listed
from neurogym.behaviour.questions import ask, say
from neurogym.behaviour.vocabulary import any_called, is_called, is_like

if TYPE_CHECKING:
    from pandas import DataFrame


FEWEST_NAMED, FEWEST_ALIKE = 5, 3  #: numbered columns that are trials, if these are named like a choice, and if not
FEWEST_EVENTS = 5  #: of an entry that may be a choice in a log


class NoChoiceError(TableError):
    """A table without a column of choices.

    Args:
        message: what was found.
        table: the columns.
    """

    def __init__(self, message: str, table: DataFrame):
        super().__init__(message)
        self.table = table


def check_choice(columns: DataFrame, assigned: Mapping[str, Any], formulas: Mapping[str, str]) -> None:
    """Refuse a table without choices, with what may make some.

    Args:
        columns: the table.
        assigned: column of each role.
        formulas: of the columns that were derived.

    Raises:
        TableQuestion: if rows are events, or a column may be the correct choice beside one of correctness.
        NoChoiceError: otherwise.
    """
    if "choice" in assigned:
        return
    refuse_wide(columns, max(_numbered(columns).values(), key=len, default={}), FEWEST_ALIKE)
    _refuse_counts(columns, list(assigned.values()))
    _ask_for_events(columns)
    flag = assigned.get("correct")
    rest = [name for name in columns if name not in assigned.values() and "stair" not in name.lower()]
    sides = [name for name in rest if len(entries.levels(columns[name])[0]) == 2]
    unfit = roles.unfit("choice", columns)
    if flag in columns and (sides or not unfit):
        answers = roles.chosen_sides(columns, sides[:3], f"({formulas.get(str(flag), f'`{flag}`')}==1)")
        raise ask("choice_follows", columns, sides[:3], answers, flag=flag, alone=None if answers else flag)
    names = ", ".join(list(columns)[:20]) + (", ..." if columns.shape[1] > 20 else "")
    raise NoChoiceError(say("no_choice", names=names, reasons="".join(f"; {why}" for why in unfit)), columns)


def _numbered(columns: DataFrame) -> dict[str, dict[int, str]]:
    """Return the columns whose names differ in a number only, by number, by the name with braces in its place."""
    families: dict[str, dict[int, str]] = {}
    for name in columns:
        if match := re.search(r"\d+", name):
            families.setdefault(f"{name[: match.start()]}{{}}{name[match.end() :]}", {})[int(match[0])] = name
    return families


def are_alike(columns: DataFrame, names: Sequence[str]) -> bool:
    """Return whether names of several columns differ in a number only, as those of trials or subjects do."""
    return len(names) >= FEWEST_ALIKE and any({*names} <= {*each.values()} for each in _numbered(columns).values())


def refuse_named_wide(columns: DataFrame) -> None:
    """Refuse a table with numbered columns that are named like a choice.

    Raises:
        TableError: with the Python that turns the table into one with a row for each trial.
    """
    for family, names in _numbered(columns).items():
        if is_called(plain(family).removeprefix("trial"), "choice"):
            refuse_wide(columns, names, FEWEST_NAMED)


def refuse_wide(columns: DataFrame, names: Mapping[int, str], fewest: int) -> None:
    """Refuse a table with a column, and not a row, for each trial or subject.

    Args:
        columns: the table.
        names: columns that differ in a number only, by number.
        fewest: number of these from which the table is refused.

    Raises:
        TableError: with the Python that turns the table into one with a row for each trial.
    """
    if len(names) < fewest:
        return
    families = {family: each for family, each in _numbered(columns).items() if [*each] == [*names]}
    (chosen,) = (family for family, each in families.items() if each == names)
    made = {family: "choice" if family == chosen else plain(family) for family in families}
    values = [f"{name}=frame[f{family.replace('{}', '{k}')!r}]" for family, name in made.items() if name.isidentifier()]
    number = "subject" if any_called(columns, "trial") else "trial"
    row = [] if number == "subject" or any_called(columns, "subject") else ["subject=frame.index"]
    each = ", ".join([f"{number}=k", *row, *values])
    first, *_, last = names.values()
    python = f"pandas.concat([frame.filter(regex=r'^\\D*$').assign({each}) for k in {_range([*names])}])"
    raise TableError(say("wide", n=len(names), first=first, last=last, each=number, python=python))


def _range(numbers: Sequence[int]) -> str:
    several = range(min(numbers), max(numbers) + 1)
    return str(several) if list(several) == sorted(numbers) else str(list(numbers))


def _refuse_counts(columns: DataFrame, used: Sequence[object]) -> None:
    """Refuse a table with a row for several trials, which says how many these are and how many choices were the second.

    Raises:
        TableError: with the Python that turns the table into one with a row for each trial.
    """
    numeric = {name: entries.numbers(columns[name]) for name in columns if entries.is_plain_number(columns[name])}
    free = {name: each for name, each in numeric.items() if name not in used and np.isfinite(each).all()}
    for total in (name for name in free if is_like(name, "totals") and free[name].min() > 1):
        for part, values in free.items():
            if part == total or not is_like(part, "parts") or np.any((values < 0) | (values > free[total])):
                continue
            number = f"rows[{part!r}]" if np.ptp(values) > 1 else f"(rows[{total!r}] * rows[{part!r}]).round()"
            choice = f"lambda rows: (rows.groupby(level=0).cumcount() < {number}) * 1"
            repeated = f"frame.loc[frame.index.repeat(frame[{total!r}])].assign(choice={choice})"
            repeated += f".drop(columns={[total, part]})"
            raise TableError(say("counts", total=total, part=part, python=repeated))


def _ask_for_events(columns: DataFrame) -> None:
    """Ask which events of a log are choices.

    Raises:
        TableQuestion: if a column beside a clock has entries that differ in the side, or sound like answers.
    """
    if not any_called(columns, "clocks"):
        return
    for name, column in columns.items():
        words, index = entries.levels(column) if entries.is_words(column) else ((), np.zeros(0, int))
        counts = np.bincount(index[index >= 0], minlength=len(words))
        frequent = [word for word, count in zip(words, counts, strict=True) if count >= FEWEST_EVENTS]
        answers = [word for word in frequent if is_like(word, "like_a_choice")]
        events = [word for word in answers if is_like(word, "one_side")] or answers
        if len(events) > 1:
            raise ask("events", columns, [name], name=name, shown=listed(events), events=",".join(events))
