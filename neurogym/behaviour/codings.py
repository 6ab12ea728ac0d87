"""Meaning of the entries of a column: choices and misses, yes and no, reaction times, amounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray
from neurogym.behaviour import entries
from neurogym.behaviour.entries import TableError, label, plain
from neurogym.behaviour.roles import detected, is_detection, says_yes, without_codes
from neurogym.behaviour.vocabulary import is_called

if TYPE_CHECKING:
    from pandas import Series


#: Numbers that laboratories write for a reaction time or an amount that does not exist.
TIME_CODES = (0.0, 9.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0)
TWO_UNITS = 200  #: ratio of median times of two files, subjects or sessions from which they are in different units
FEWEST_LAST = 8  #: equal times, the longest of all, that may be the end of the time allowed
WIDE_GAP = 20  #: ratio of times, none of which lies between, from which these are in different units
#: Median from which times are in a unit, and units in a second.
TIME_UNITS = {"us": (100_000.0, 1e6), "ms": (30.0, 1e3), "s": (0.0, 1.0)}


def is_missed_word(word: str) -> bool:
    """Return whether a word means that there was no answer."""
    return is_called(word, "missed")


def read_flags(column: Series) -> tuple[FloatArray, str]:
    """Return yes and no as 1 and 0, nan for missing entries, and the reading in words.

    Raises:
        TableError: for an entry that is neither; the message lacks the name of the column.
    """
    if entries.is_plain_number(column) and not len(entries.damaged(column)):
        values, codes = without_codes(entries.numbers(column))
        valid = np.unique(values[np.isfinite(values)])
        low = set(valid.tolist()) if len(valid) < 10 else set()
        gone = f"; no answer: {', '.join(map(entries.label, codes))}" if codes else ""
        if low <= {0.0, 1.0}:
            return values, f"1 correct, 0 error{gone}"
        if low <= {-1.0, 1.0} or low == {-1.0, 0.0, 1.0}:
            reading = f"1 correct, {'0 and ' * (0.0 in low)}-1 error"
            return np.where(np.isnan(values), np.nan, (values > 0).astype(float)), reading
        if low <= {0.0, 100.0}:
            return values / 100, "100 correct, 0 error"
        if valid.min() >= 0 and valid.max() <= 1:
            return np.where(np.isnan(values), np.nan, (values > 0.5).astype(float)), "correct above 0.5"
        row = int(np.flatnonzero(np.isfinite(values) & ((values < 0) | (values > 1)))[0])
        raise BadEntry(row, entries.entry(column, row), "0 or 1")
    words = entries.words(column)
    outcomes = {word: detected(word) for word in words} if is_detection(words) else {}
    correct = {word: says_yes(word) if outcomes.get(word) is None else outcomes[word] for word in words}
    unclear = [word for word in words if correct[word] is None and not is_missed_word(word)]
    if unclear:
        raise BadEntry(int(np.flatnonzero(column == unclear[0])[0]), unclear[0], "0 or 1", unclear)
    right, wrong = ([word for word in words if correct[word] is flag] for flag in (True, False))
    lookup = np.array([*correct.values(), None], float)
    return lookup[entries.codes(column)], f"{', '.join(right) or 'none'} correct, {', '.join(wrong) or 'none'} error"


class BadEntry(TableError):
    """Error about an entry, before the name of the column is known.

    Args:
        row: number of the first row with such an entry, from 0.
        entry: the entry.
        expected: entries that would suit, in words.
        others: all entries that do not suit.
    """

    def __init__(self, row: int, entry: object, expected: str, others: Sequence[object] = ()):
        super().__init__(f"row {row + 1}: found {entry!r}, expected {expected}")
        self.row, self.entry, self.expected = row, entry, expected
        self.others = tuple(dict.fromkeys((entry, *others)))


def read_numbers(column: Series) -> FloatArray:
    """Return a column as finite numbers, nan for missing entries.

    Raises:
        BadEntry: for a word among the numbers, or a number too large to count with.
    """
    numbers = entries.numbers(column)
    damaged = {row: entries.entry(column, row) for row in entries.damaged(column).tolist()}
    words = {row: word for row, word in damaged.items() if not is_missed_word(str(word))}
    if words:
        row, word = next(iter(words.items()))
        raise BadEntry(row, word, "a number", [*words.values()])
    large = np.flatnonzero(np.abs(np.nan_to_num(numbers, posinf=np.inf, neginf=-np.inf)) > 1e100)
    if len(large):
        raise BadEntry(int(large[0]), float(numbers[large[0]]), "a finite number")
    return numbers


@dataclass
class Times:
    """Reaction times of all rows.

    Attributes:
        seconds: shape (rows,), nan where there is none.
        unit: unit in the table: s, ms or us.
        codes: numbers that mean no time, with the number of rows.
        negative: number of other times below 0, which are left out.
        signed: whether the sign of the time said the choice (HDDM).
        groups: rows of each unit, by unit, if files or subjects have different units.
    """

    seconds: FloatArray
    unit: str = "s"
    codes: dict[str, int] = field(default_factory=dict)
    negative: int = 0
    signed: bool = False
    groups: dict[str, BoolArray] = field(default_factory=dict)

    def longest(self) -> tuple[float, int]:
        """Return the longest time, in the unit of the table, and in how many rows it is; 0 unless it stands out."""
        valid = self.seconds[np.isfinite(self.seconds)]
        last = valid == valid.max(initial=0)
        if self.groups or not 0.02 * len(valid) < last.sum() < 0.5 * len(valid) or last.sum() < FEWEST_LAST:
            return 0.0, 0
        usual = np.unique(valid[~last], return_counts=True)[1].max()
        return float(valid.max() * TIME_UNITS[self.unit][1]), int(last.sum()) if last.sum() > 3 * usual else 0


def _unit_of(short: str, typical: float) -> str:
    """Return the unit of times that a name without separators says, or else their typical size."""
    if short.endswith(("us", "usec", "micros", "microseconds")):
        return "us"
    if short.endswith(("ms", "msec", "millis")) and not short.endswith("times") and typical <= TIME_UNITS["us"][0]:
        return "ms"
    return next(unit for unit, (size, _) in TIME_UNITS.items() if typical > size or not size)


def _units_apart(values: FloatArray, group: IntArray) -> BoolArray | None:
    """Return the rows of groups whose times are in a smaller unit than those of others, or None."""
    import pandas as pd

    valid = np.isfinite(values) & (np.abs(values) > 0) & ~np.isin(np.abs(values), TIME_CODES)
    medians = pd.Series(np.abs(values[valid])).groupby(group[valid]).median()
    if len(medians) < 2 or medians.max() < TWO_UNITS * medians.min():
        return None
    return np.isin(group, medians.index[medians > np.sqrt(medians.max() * medians.min())])


def two_units(seconds: FloatArray) -> float | None:
    """Return a time between two kinds of times a wide gap apart, of which none is rare; None without such a gap."""
    ordered = np.sort(seconds[seconds > 0])
    if len(ordered) < 2:
        return None
    ratios = ordered[1:] / ordered[:-1]
    k = int(np.argmax(ratios))
    share = (k + 1) / len(ordered)
    return float(np.sqrt(ordered[k] * ordered[k + 1])) if ratios[k] > WIDE_GAP and 0.05 < share < 0.95 else None


def read_times(
    values: FloatArray,
    name: str = "",
    choice: IntArray | None = None,
    unit: str | None = None,
    group: IntArray | None = None,
) -> Times:
    """Return reaction times in seconds.

    Codes for no time are left out first: 0, negative numbers that are repeated, and 9, 99, 999, ... where they stand
    out. The unit is that of most times that are left. Times with the sign of the choice lose it.

    Args:
        values: entries, nan for missing ones, shape (rows,).
        name: name of the column, which may say the unit.
        choice: index of the choice, -1 for no answer, shape (rows,).
        unit: s, ms or us, if the user says so.
        group: number of the file, subject and session of each row, which may have a unit of its own.
    """
    apart = None if unit or group is None else _units_apart(values, group)
    if apart is not None:
        small, large = (read_times(np.where(rows, values, np.nan), "", choice) for rows in (apart, ~apart))
        codes = {code: small.codes.get(code, 0) + large.codes.get(code, 0) for code in {**small.codes, **large.codes}}
        seconds = np.where(apart, small.seconds, large.seconds)
        groups = {small.unit: apart, large.unit: ~apart}
        units, signed = f"{large.unit}, {small.unit}", small.signed or large.signed
        return Times(seconds, units, codes, small.negative + large.negative, signed, groups)
    values = np.where(np.isfinite(values), values, np.nan)
    times = Times(values)
    negative = values < 0
    if choice is not None and negative.any():
        answered = np.isfinite(values) & (choice >= 0)
        varied = len(np.unique(values[negative])) > max(3, 0.2 * negative.sum())
        if varied and np.mean((choice == 0)[answered] == negative[answered]) > 0.99:
            times.signed, values = True, np.abs(values)
            negative = values < 0
    usual = values[np.isfinite(values) & (values > 0)]
    if not len(usual):
        times.seconds = np.full(len(values), np.nan)
        return times
    candidates, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    top = np.quantile(usual[~np.isin(usual, TIME_CODES)], 0.99) if (~np.isin(usual, TIME_CODES)).any() else np.inf
    repeated = counts.max() if len(candidates) < 4 else np.sort(counts)[-max(4, len(counts) // 20)]
    stands_out = (counts > 2) & ((candidates > 2 * top) | (counts > 5 * repeated))
    written = np.isin(candidates, TIME_CODES) & (stands_out | (candidates > 3 * top))
    code = (candidates == 0) | ((candidates < 0) & (counts > 1)) | written
    code |= (candidates > 100 * np.median(usual)) & (counts > 1)
    times.codes = {label(value): int(count) for value, count in zip(candidates[code], counts[code], strict=True)}
    rows = np.isin(values, candidates[code])
    times.negative = int((negative & ~rows).sum())
    values = np.where(rows | (values < 0), np.nan, values)
    valid = values[np.isfinite(values)]
    times.unit = unit or _unit_of(plain(name), float(np.median(valid)) if len(valid) else 0.0)
    times.seconds = values / TIME_UNITS[times.unit][1]
    return times
