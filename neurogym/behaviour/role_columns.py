"""Columns of a table by role, read as numbers, yes and no, or labels; errors name column and row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray
from neurogym.behaviour import codings, entries
from neurogym.behaviour.choices import Witness
from neurogym.behaviour.codings import BadEntry, Times
from neurogym.behaviour.entries import TableError, plain
from neurogym.behaviour.evidence import FILE, group_index, group_names, listed, within_states
from neurogym.behaviour.expressions import rows_where
from neurogym.behaviour.questions import Answer, TableQuestion, ask, say
from neurogym.behaviour.roles import MOST_CHOICES, is_flag, missed_rows, names_of
from neurogym.behaviour.vocabulary import CODES, any_called, is_called
from neurogym.messages.options import option

if TYPE_CHECKING:
    from pandas import DataFrame, Series


MOST_CURED, LARGEST_CURE = 8, 0.2  #: entries that are left out by one condition, and share of rows
ROLES_OF_MISSES = ("correct", "reward", "outcome")


class RoleColumns:
    """Columns with roles, and an account of what was read.

    Args:
        columns: the table, with the number of each row in the source as index.
        roles: column of each role; ``stimuli`` a tuple.
        locate: returns the number of a row of the source in words.

    Attributes:
        n: number of rows.
        words: meaning of the entries of each column that was read, by column.
        left_out: number of trials that are not scored, by reason.
        notes: remarks that the user should see.
        times: reaction times, once they are read.
    """

    def __init__(self, columns: DataFrame, roles: dict[str, object], locate: Callable[[int], str]):
        self.columns, self.roles, self.locate = columns, roles, locate
        self.n = len(columns)
        self.words: dict[str, str] = {}
        self.left_out: dict[str, int] = {}
        self.notes: list[str] = []
        self.times = Times(np.full(self.n, np.nan))

    @property
    def groups(self) -> list[object]:
        """Names of the columns of files, subjects and sessions, each of which may have codings of its own."""
        return [FILE, self.roles.get("subject"), self.roles.get("session")]

    @property
    def free(self) -> list[str]:
        """Names of the columns without a role."""
        used = {name for value in self.roles.values() for name in names_of(value)}  # type: ignore[arg-type]
        return [name for name in self.columns if name not in used]

    def note(self, key: str, **values: object) -> None:
        """Add a remark, see `neurogym.behaviour.questions.say`."""
        self.notes.append(say(key, **values))

    def ask(
        self, key: str, names: Sequence[str] = (), answers: Sequence[Answer] = (), **values: object
    ) -> TableQuestion:
        """Return a question, see `neurogym.behaviour.questions.ask`."""
        return ask(key, self.columns, names, answers, **values)

    def column(self, role: str) -> tuple[str, Series]:
        """Return name and column of a role."""
        name = str(self.roles[role])
        return name, self.columns[name]

    def bad(self, name: str, error: BadEntry) -> TableError:
        """Return the error of an entry with column, row in the source, and a way on."""
        row = self.locate(int(self.columns.index[error.row]))
        found = f"column {name!r}, {row}: found {error.entry!r}, expected {error.expected}"
        rows = np.any(
            [rows_where(self.columns, f"`{name}` == '{entry}'") for entry in error.others[:MOST_CURED]], axis=0
        )
        if len(error.others) > MOST_CURED or rows.mean() > LARGEST_CURE:
            shown = listed([repr(each) for each in error.others])
            return TableError(f"{found}, as in {rows.mean():.0%} of the rows or more ({shown}); name another column")
        words = ",".join(f"'{entry}'" if " " in str(entry) else str(entry) for entry in error.others)
        condition = f"{name} != {words}" if len(error.others) == 1 else f"{name} not in {words}"
        n = int(rows.sum())
        cure = option(f'--where "{condition}"')
        return TableError(f"{found}; {cure} leaves {f'the {n:,} such rows' if n > 1 else 'this row'} out")

    def numbers(self, name: object) -> FloatArray:
        """Return a column as numbers, nan for missing entries; all nan without a column."""
        if name is None:
            return np.broadcast_to(np.nan, self.n)
        try:
            return codings.read_numbers(self.columns[str(name)])
        except BadEntry as error:
            raise self.bad(str(name), error) from None

    def flags(self, role: str) -> FloatArray:
        """Return a column of yes and no as 1 and 0, nan for missing entries; all nan without a column."""
        if role not in self.roles:
            return np.full(self.n, np.nan)
        name, column = self.column(role)
        try:
            values, self.words[name] = codings.read_flags(column)
        except BadEntry as error:
            raise self.bad(name, error) from None
        return values

    def labels(self, role: str) -> IntArray:
        """Return the index of each entry among the entries of a column in order; negative numbers are missing."""
        name, column = self.column(role)
        words, index = entries.levels(column)
        retained = [k for k, word in enumerate(words) if not word.startswith("-")]
        if len(retained) > MOST_CHOICES:
            raise TableError(f"column {name!r}: found {len(retained)} values, expected at most {MOST_CHOICES}")
        lookup = np.full(len(words) + 1, -1)
        lookup[retained] = np.arange(len(retained))
        self.words[name] = ", ".join(words[k] for k in retained)
        return lookup[index].astype(np.int64)

    def marked_as_missed(self, correct: FloatArray, formulas: Iterable[str] = ()) -> BoolArray:
        """Return a mask of trials that a word in another column marks as missed.

        Args:
            correct: 1, 0 or nan, shape (rows,).
            formulas: of derived columns, which say what an outcome that they name means.
        """
        names = {str(self.roles[role]) for role in ROLES_OF_MISSES if role in self.roles}
        names |= {name for name in self.columns if plain(name) == "outcome" and name not in " ".join(formulas)}
        gone = [missed_rows(self.columns[name]) for name in names]
        for name in (name for name in self.columns if is_called(name, "codes")):
            numbers = entries.numbers(self.columns[name])
            gone.append(np.isfinite(numbers) & ~np.isin(numbers, CODES[plain(name)]))
            self.words[name] = f"no answer, but for {' and '.join(map(str, CODES[plain(name)]))}"
        return np.asarray(np.any(gone, axis=0) | self.flagged_as_missed(correct))

    def flagged_as_missed(self, correct: FloatArray) -> BoolArray:
        """Return a mask of trials that a flag such as ``timeout`` marks as missed, in less than half of all trials.

        A flag ``miss`` beside flags of hits and false alarms means an error and not a trial without an answer, and so
        does a flag of all errors and of nothing else, beside choices.
        """
        success = correct if np.isfinite(correct).any() else self.amounts()
        answered = ~entries.missing(self.column("choice")[1])
        flagged, short = np.zeros(self.n, bool), {plain(name) for name in self.columns}
        detection = "hit" in short and any_called(short - {"hit", "miss"}, "detection")
        for name, column in self.columns.items():
            if (
                not is_called(plain(name).removeprefix("is").removesuffix("trial"), "missed", "missed_flags")
                or name in self.roles.values()
                or not is_flag(column)
            ):
                continue
            if detection and is_called(name, "detection"):
                continue
            rows = codings.read_flags(column)[0] == 1
            known = np.isfinite(success) & answered
            if (rows & known).mean() > 0.5 * rows.mean() and np.array_equal(rows[known], success[known] <= 0):
                self.note("flag_of_errors", name=name)
            elif 0 < rows.mean() < 0.5:
                self.words[name] = f"1: no answer ({int(rows.sum()):,})"
                flagged |= rows
        return flagged

    def witness(self, correct: FloatArray) -> Witness:
        """Return the other columns by which codes of the choice are judged."""
        rt = np.full(self.n, np.nan)
        if "rt" in self.roles:
            rt = entries.numbers(self.column("rt")[1])
            codes = [float(code) for code in codings.read_times(rt, group=group_index(self.columns, self.groups)).codes]
            rt = np.where(np.isin(rt, codes), np.nan, rt)
        stimulus = self.first_number(self.roles.get("stimuli", ()))  # type: ignore[arg-type]
        truth = entries.levels(self.column("ground_truth")[1])[0] if "ground_truth" in self.roles else ()
        return Witness(correct, self.amounts(), rt, stimulus, truth)

    def amounts(self) -> FloatArray:
        """Return the numbers of the column of rewards or gains; all nan where there are none."""
        amounts = self.first_number([self.roles[role] for role in ("reward", "gain") if role in self.roles])
        return np.full(self.n, np.nan) if amounts is None else amounts

    def first_number(self, names: Sequence[object]) -> FloatArray | None:
        """Return the first of some columns that holds numbers, or None."""
        columns = (self.columns[str(name)] for name in names)
        return next((entries.numbers(column) for column in columns if entries.is_numeric(column)), None)

    def rewards(self, choice: IntArray, correct: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return rewards, gains and losses; 0 after a miss, correctness where the table has no rewards."""
        gain = loss = np.broadcast_to(np.nan, self.n)
        if "gain" in self.roles and "loss" in self.roles:
            gain, loss = self.numbers(self.roles["gain"]), self.numbers(self.roles["loss"])
            name = str(self.roles["loss"])
            positive = np.nanmin(np.where(choice < 0, 0, loss), initial=0) >= 0
            self.words[str(self.roles["gain"])] = "amount won"
            self.words[name] = "amount lost" + (", the sign is turned" if positive and np.nansum(loss) > 0 else "")
            gain, loss = np.where(choice < 0, 0.0, gain), np.where(choice < 0, 0.0, -np.abs(loss))
            reward = gain + loss
        elif "reward" not in self.roles:
            reward = np.full(self.n, np.nan)
        elif entries.is_numeric(self.column("reward")[1]) or not is_flag(self.column("reward")[1]):
            name, _column = self.column("reward")
            reward = self.numbers(name)
            self.words.setdefault(name, "amount")
        else:
            reward = self.flags("reward")
            name = str(self.roles["reward"])
            self.words[name] = self.words[name].replace(" correct", " reward").replace(" error", " none")
        unknown = np.isnan(reward) & ((correct == 0) | ("reward" not in self.roles))
        return np.where(choice < 0, 0.0, np.where(unknown, correct, reward)), gain, loss

    def read_times(self, choice: IntArray, unit: str | None) -> Times:
        """Return reaction times and the reading of their column.

        Args:
            choice: index of the choice.
            unit: of the times, if the user says so.
        """
        if "rt" not in self.roles:
            return self.times
        name = str(self.roles["rt"])
        group = group_index(self.columns, self.groups)
        times = self.times = codings.read_times(self.numbers(name), name, choice, unit, group)
        words = [times.unit] + (["the sign is that of the choice"] if times.signed else [])
        words += [f"no time: {', '.join(f'{code} ({n:,})' for code, n in times.codes.items())}"] if times.codes else []
        self.words[name] = "; ".join(words)
        if times.groups:
            where = "; ".join(
                f"{unit} in {listed(group_names(self.columns, self.groups, rows))}"
                for unit, rows in times.groups.items()
            )
            self.notes.append(f"{name} has two units: {where}")
        if times.negative:
            self.left_out[f"reaction times below 0 in {name}"] = times.negative
        longest, rows = times.longest()
        if rows:
            self.note("longest_time", name=name, longest=longest, n=rows)
        answered = choice >= 0
        untimed = int((answered & np.isnan(times.seconds)).sum())
        if untimed and np.isfinite(times.seconds).any():
            self.left_out[f"answers without a reaction time in {name}, whose choices are scored"] = untimed
        return times

    def second_stage(self, choice: IntArray) -> tuple[IntArray, IntArray]:
        """Return state and choice of the second stage of a two-step task; -1 without one."""
        none = np.broadcast_to(np.int64(-1), self.n)
        if "choice2" not in self.roles:
            return (self.labels("state"), none) if "state" in self.roles else (none, none)
        name, choice2 = str(self.roles["choice2"]), self.labels("choice2")
        if "state" in self.roles:
            state = self.labels("state")
        elif choice2.max(initial=-1) == 3:
            self.words[name] = "1, 2: options of the first state; 3, 4: of the second"
            state = np.where(choice2 < 0, -1, choice2 // 2)
        elif "common" in self.roles:
            common, first = self.flags("common"), str(self.roles["choice"])
            self.words[str(self.roles["common"])] = f"common transition: from {first} to the state of the same order"
            state = np.where(np.isnan(common) | (choice < 0), -1, np.where(common == 1, choice, 1 - choice))
        else:
            self.note("no_state", name=name)
            return none, none
        if choice2.max(initial=-1) > 1:
            choice2 = within_states(choice2, state)
        return state.astype(np.int64), choice2.astype(np.int64)
