"""Times of pulses on two sides, as columns with a list of times for each trial.

A list is written as numbers with blanks or commas between them, with or without brackets. Two columns are pulses if
their names differ in left and right (or L and R) only and their lists rise. Times are in s from the beginning of the
stimulus; the difference of the counts of both sides is the stimulus of other models and of psychometric curves.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour import entries
from neurogym.behaviour.entries import TableError, plain
from neurogym.behaviour.evidence import rises, trial_order
from neurogym.behaviour.questions import ask, say
from neurogym.behaviour.vocabulary import FURTHER_NAMES, is_like

if TYPE_CHECKING:
    from pandas import DataFrame, Series

NUMBER = r"(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan)"
LIST = re.compile(rf"[\[({{]?\s*(?:{NUMBER}(?:[\s,;|]+{NUMBER})*)?\s*[\])}}]?", re.I)
#: Names of the left, and of the right in their place.
SIDES = {
    "left": "right",
    "Left": "Right",
    "LEFT": "RIGHT",
    "(?<![A-Za-z])l(?![A-Za-z])": "r",
    "(?<![A-Za-z])L(?![A-Za-z])|(?<=[a-z])L$|^L(?=[A-Z])": "R",
}
UNITS = {"s": 1.0, "ms": 1e3}
#: Median length of a train (as written) up to which times are in s, and from which these are in ms.
LONGEST_S, SHORTEST_MS = 15.0, 60.0


class PulseTimes(NamedTuple):
    """Pulses of all rows.

    Attributes:
        times: of both sides in s, nan beyond the last, shape (rows, 2, pulses).
        duration: of the stimulus in s, shape (rows,).
        words: what each column was read as.
        notes: remarks that the user should see.
        unit: of the times, as written.
    """

    times: FloatArray
    duration: FloatArray
    words: dict[str, str]
    notes: list[str]
    unit: str


def pairs_of(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the names that differ in left and right only, in pairs."""
    known = dict.fromkeys(names)
    others = ((name, re.sub(left, right, name)) for name in known for left, right in SIDES.items())
    return list(dict.fromkeys((name, other) for name, other in others if other != name and other in known))


def sides(names: Iterable[str]) -> set[str]:
    """Return all names of `pairs_of`."""
    return {name for pair in pairs_of(names) for name in pair}


def of_lists(values: Iterable[Any]) -> Series:
    """Return a column of lists of numbers as a column of words.

    Raises:
        TableError: if an entry is neither a list of numbers nor missing.
    """
    words: dict[str, int] = {}
    codes = []
    for value in values:
        try:
            numbers = np.ravel(np.asarray([] if value is None else value, float))
        except (TypeError, ValueError):
            raise TableError("found a list of other entries than numbers") from None
        word = " ".join(f"{number:.10g}" for number in numbers[np.isfinite(numbers)])
        codes.append(words.setdefault(word, len(words)))
    return entries.of_words([*words], np.array(codes, np.int32))


@functools.lru_cache(maxsize=16)
def _parsed(words: tuple[str, ...]) -> list[FloatArray] | None:
    """Return the list of each word and an empty one, or None if there is another word or a list that falls."""
    if not all(LIST.fullmatch(word.strip()) for word in words):
        return None
    lists = [np.array([float(each) for each in re.findall(NUMBER, word, re.I)]) for word in words]
    lists = [each[np.isfinite(each)] for each in lists]
    return None if any(np.any(np.diff(each) < 0) for each in lists) else [*lists, np.zeros(0)]


def _lists(column: Series) -> list[FloatArray] | None:
    """Return the list of each entry of a column, or None if an entry is none."""
    if not entries.is_words(column):
        return [np.array([value])[np.isfinite([value])] for value in column]
    parsed = _parsed(entries.words(column))
    return None if parsed is None else [parsed[k] for k in entries.codes(column)]


def is_lists(column: Series) -> bool:
    """Return whether entries are rising lists, some of several numbers."""
    lists = _parsed(entries.words(column)) if entries.is_words(column) else None
    return lists is not None and max(map(len, lists)) > 1


def pulse_columns(columns: DataFrame) -> tuple[str, str] | None:
    """Return the columns of pulses of both sides, or None.

    Raises:
        TableQuestion: if several pairs may be.
    """
    pairs = [pair for pair in pairs_of(columns) if not is_like(pair[0], "acts")]
    pairs = [pair for pair in pairs if any(is_lists(columns[name]) for name in pair)]
    pairs = [pair for pair in pairs if all(_lists(columns[name]) is not None for name in pair)]
    if len(pairs) > 1:
        names = [name for pair in pairs for name in pair]
        raise ask("several_pairs", columns, names, each=[",".join(pair) for pair in pairs])
    return pairs[0] if pairs else None


def duration_column(columns: DataFrame) -> str | None:
    """Return the column named like the duration of the stimulus, or None."""
    short = {plain(name): name for name in columns if entries.is_numeric(columns[name])}
    return next((short[name] for name in FURTHER_NAMES["duration"] if name in short), None)


def with_counts(columns: DataFrame, pair: tuple[str, str]) -> DataFrame:
    """Return the table with the difference of the counts of pulses.

    Raises:
        TableError: if a column holds no lists of times.
    """
    lists = [_lists(columns[name]) for name in pair]
    if None in lists:
        raise TableError(f"column {pair[lists.index(None)]!r}: expected lists of rising times, as in '0.1 0.25 0.4'")
    counts = [np.array(list(map(len, side or ())), float) for side in lists]
    return columns.assign(**{difference(pair): counts[1] - counts[0]})


def difference(pair: tuple[str, str]) -> str:
    """Return the name of the difference of the counts of pulses."""
    return f"{pair[1]}-{pair[0]}"


def read_pulses(
    columns: DataFrame, pair: tuple[str, str], duration: str | None, unit: str | None, assigned: Mapping[str, object]
) -> PulseTimes:
    """Return the pulses of a table in s from the beginning of the stimulus.

    Args:
        columns: the table.
        pair: columns of the times on the left and on the right.
        duration: column of the duration of the stimulus; None if there is none.
        unit: of the times, "s" or "ms", if the user says so.
        assigned: column of each role.

    Raises:
        TableError: if there are no times.
        TableQuestion: if the unit is not clear.
    """
    lists = [_lists(columns[name]) or [] for name in pair]
    most = max(1, *(len(each) for side in lists for each in side))
    times = np.full((len(columns), 2, most), np.nan)
    for k, side in enumerate(lists):
        for row, each in zip(times[:, k], side, strict=True):
            row[: len(each)] = each
    first, last = np.nan_to_num(times, nan=np.inf).min((1, 2)), np.nan_to_num(times, nan=-np.inf).max((1, 2))
    present = np.isfinite(first)
    if not present.any():
        raise TableError(f"columns {pair[0]!r} and {pair[1]!r}: found no times of pulses")
    notes: list[str] = []
    gap = float(np.median((last - first)[present] / np.maximum(np.isfinite(times).sum((1, 2))[present] - 1, 1)))
    if rises(np.where(present, first, np.nan), *trial_order(columns, assigned)):
        origin = np.where(present, first, 0.0)
        notes.append(say("points_in_time", pair=pair))
    elif (earliest := float(first.min())) > gap:
        origin = np.full(len(first), earliest)
        notes.append(f"pulses begin {earliest:.4g} after time 0: times count from there")
    else:
        origin = np.zeros(len(first))
    times, last = times - origin[:, None, None], np.where(present, last - origin, 0.0)
    unit = unit or _unit(columns, pair, float(np.median(last[present])))
    times, last = times / UNITS[unit], last / UNITS[unit]
    words = {name: f"times of pulses in {unit}" for name in pair}
    length = last
    if duration is None:
        notes.append(say("no_duration"))
    else:
        given = entries.numbers(columns[duration])
        ratio = max(float(np.nanmedian(given)), 1e-9) / max(float(np.median(last[present])), 1e-9)
        own = min(UNITS, key=lambda name: abs(np.log(ratio / UNITS[name])))
        length = np.where(np.isfinite(given), given / UNITS[own], last)
        words[duration] = f"duration of the stimulus in {own}"
        if late := int((last > length + 1e-6).sum()):
            notes.append(say("late_pulses", n=late, duration=duration))
    return PulseTimes(times, length, words, notes, unit)


def _unit(columns: DataFrame, pair: tuple[str, str], typical: float) -> str:
    short = plain(pair[0])
    if typical <= LONGEST_S and not short.endswith("ms"):
        return "s"
    if typical >= SHORTEST_MS or short.endswith("ms"):
        return "ms"
    raise ask("unit_of_pulses", columns, pair, pair=pair, named=",".join(pair), typical=typical, each=UNITS)
