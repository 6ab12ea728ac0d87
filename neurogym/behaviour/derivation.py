"""Columns made from others: one reward of two sides, signed differences of sides, times from points in time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray
from neurogym.behaviour import entries, expressions, roles
from neurogym.behaviour.column_maps import ColumnMap
from neurogym.behaviour.column_names import CODES, COLUMN_NAMES, LIKE_A_TIME, MISSED
from neurogym.behaviour.entries import plain
from neurogym.behaviour.evidence import ALMOST_ALL, is_in_blocks, rises, trial_order
from neurogym.behaviour.questions import quoted, say

if TYPE_CHECKING:
    from pandas import DataFrame


#: Names of the beginning of a reaction time, the best first: the stimulus, or the start of the trial.
STARTS = (
    re.compile(r"(stim|target|dots?|gocue|cue|tone|sound|probe|sample|item|image|change)"),
    re.compile(r"(start|begin|onset|init)"),
)
NOT_STARTS = re.compile(r"(off|end|stop|feedback|reward|resp|choice|lick|press|iti|fix)")
#: Beginnings of names of flags of hits, misses, false alarms and correct rejections.
OUTCOMES = (
    re.compile("hits?"),
    re.compile("miss(es)?"),
    re.compile("falsealarms?|fa"),
    re.compile("cr|correctreject.*"),
)
#: Names of flags of the left that have one of the right beside them, by role, and the formula of both.
SIDED = {
    "reward": (re.compile(r"(?!.*prob).*reward.*(l|left)"), "max(`{0}`, `{1}`)"),
    "choice": (
        re.compile(r"(is|was)?(choice|chosen?|poked?|went|resp|response|pressed)(l|left)"),
        "`{1}`/(`{0}`+`{1}`)",
    ),
}
#: Names of the side that a subject is told to choose, and words of a wrong answer, the clearest first.
SIDES_TO_CHOOSE = ("trialinstruction", "instructedside", "correctside", "trialtype")
WRONG = ("error", "err", "incorrect", "wrong", "miss")
FEWEST_TOTALS = 10  #: distinct amounts from which a reward that never falls is a running total


def of_codes(columns: DataFrame) -> dict[str, str]:
    """Return the formula of correctness from codes of what came of a trial, of which others than two are misses."""
    coded = [name for name in columns if plain(name) in CODES and entries.is_numeric(columns[name])]
    if not coded or {plain(name) for name in columns} & {*COLUMN_NAMES["correct"]}:
        return {}
    return {"correct": f"(`{coded[0]}`=={CODES[plain(coded[0])][0]})"}


def with_sides(columns: DataFrame, chosen: ColumnMap, notes: list[str], given: roles.Roles) -> DataFrame:
    """Return the table with one column of rewards, or of choices, where it has a flag for each side."""
    sides = {plain(name): name for name in columns}
    for role, (pattern, formula) in SIDED.items():
        for short, left in sides.items() if role not in given else ():
            right = sides.get(re.sub("left", "right", short) if "left" in short else f"{short[:-1]}r")
            others = {*sides} - {short, plain(str(right))}
            if not pattern.fullmatch(short) or right is None or others & {*COLUMN_NAMES[role]}:
                continue
            if not (roles.is_flag(columns[left]) and roles.is_flag(columns[right])):
                continue
            both = (entries.numbers(columns[left]) > 0) + 1 * (entries.numbers(columns[right]) > 0)
            if both.max() > 1 or (role == "choice" and both.min()):  # rewards of both options; one flag says the other
                continue
            chosen.derive[role] = formula.format(left, right)
            notes.append(f"{left} and {right} are read as one {role}: {chosen.derive[role]}")
            columns = expressions.derived(columns, {role: chosen.derive[role]})[0]
            break
    return columns


def with_detection(columns: DataFrame, chosen: ColumnMap, notes: list[str]) -> DataFrame:
    """Return the table with response, correctness and signal, where it has each outcome of a detection.

    Outcomes are flags, or the words of one column.
    """
    if any(plain(name) in COLUMN_NAMES["choice"] for name in columns):
        return columns
    terms = {name: f"`{name}`" for name in columns if roles.is_flag(columns[name])}
    outcome = next((name for name in columns if roles.is_detection(entries.words(columns[name]))), None)
    if outcome is not None:
        terms = {word: f'(`{outcome}`=="{word}")' for word in entries.words(columns[outcome])}
    found = [next((name for name in terms if pattern.fullmatch(plain(name))), None) for pattern in OUTCOMES]
    if None in found:
        return columns
    hit, miss, alarm, rejection = (terms[str(name)] for name in found)
    of_all = f"({hit}+{miss}+{alarm}+{rejection})"  # 0 in other trials, whose entries are then missing
    pairs = {"response": (hit, alarm), "correct": (hit, rejection), "signal": (hit, miss)}
    formulas = {name: f"({a}+{b})/{of_all}" for name, (a, b) in pairs.items() if name not in columns}
    chosen.derive |= formulas
    notes.append(f"{', '.join(formulas)} are derived from {', '.join(map(str, found))}")
    return expressions.derived(columns, formulas)[0].drop(columns=outcome or [])


def with_outcomes(columns: DataFrame, chosen: ColumnMap, notes: list[str]) -> DataFrame:
    """Return the table with the choice, where it has the correct side and, in words, what came of each trial.

    Of hit, miss and ignore, as laboratories of directional licking keep them, a miss is a wrong answer.
    """
    side = next((name for name in columns if plain(name) in SIDES_TO_CHOOSE), "")
    outcome = next((name for name in columns if plain(name) in ("outcome", "trialoutcome")), "")
    if not side or not outcome or any(plain(name) in COLUMN_NAMES["choice"] for name in columns):
        return columns
    short, sides = {plain(word): word for word in entries.words(columns[outcome])}, entries.levels(columns[side])[0]
    hit, miss = (next((short[each] for each in words if each in short), "") for words in (("hit", "correct"), WRONG))
    is_error = plain(miss) != "miss" or bool(short.keys() & {*MISSED} - {"miss"})  # beside another word for no answer
    if not (hit and miss and is_error and sorted(plain(each)[:1] for each in sides) == ["l", "r"]):
        return columns
    hits, misses = (f'(`{outcome}`=="{word}")' for word in (hit, miss))
    formulas = {"correct": f"{hits}/({hits}+{misses})"}
    formulas["choice"] = f'({hits}==(`{side}`=="{sides[1]}"))/({hits}+{misses})'
    chosen.derive |= formulas
    notes.append(f"choice and correct are derived from {side} and {outcome}: {miss} is a wrong answer")
    return expressions.derived(columns, formulas)[0].drop(columns=outcome)


def with_differences(
    columns: DataFrame, assigned: dict[str, Any], chosen: ColumnMap, notes: list[str]
) -> tuple[DataFrame, dict[str, Any]]:
    """Return the table with signed differences of the left and the right, and times from differences (IBL)."""
    extended = columns
    assigned_names = [value for role, value in assigned.items() if role != "stimuli"]
    signed = [name for name in assigned["stimuli"] if np.nanmin(entries.numbers(extended[name])) < 0]
    if "choice2" not in assigned:
        outcomes = bool({"reward", "gain"} & set(assigned))
        assigned_names += assigned.get("pulses", ())
        for left, right in roles.side_pairs(columns, assigned_names):
            if outcomes and all(is_in_blocks(columns[name], *trial_order(columns, assigned)) for name in (left, right)):
                continue
            formula = f"{quoted(right)}-{quoted(left)}"
            name = f"{right}-{left}"
            extended, remarks = expressions.derived(extended, {name: formula})
            rest = tuple(each for each in assigned["stimuli"] if each not in (left, right))
            values = entries.numbers(extended[name])
            copied = any(each in rest and _same(entries.numbers(extended[each]), values) for each in signed)
            assigned = {**assigned, "stimuli": rest if copied else (*rest, name)}
            if copied:
                extended = extended.drop(columns=name)
                continue
            chosen.derive[name] = formula
            notes.append(say("signed_difference", left=left, right=right, name=name))
            notes += remarks
    sizes = {name: np.abs(entries.numbers(extended[name])) for name in assigned["stimuli"]}
    pairs = ((a, b) for a in sizes for b in sizes if a != b)
    strengths = [a for a, b in pairs if _same(entries.numbers(extended[a]), sizes[b])]
    if strengths and len(strengths) < len(assigned["stimuli"]):
        assigned = {**assigned, "stimuli": tuple(each for each in assigned["stimuli"] if each not in strengths)}
        notes.append(say("size_of_signed", names=strengths, signed=assigned["stimuli"]))
    if "rt" not in assigned:
        extended, assigned = _with_times(extended, assigned, chosen, notes)
    return extended, assigned


def _with_times(
    columns: DataFrame, assigned: dict[str, Any], chosen: ColumnMap, notes: list[str]
) -> tuple[DataFrame, dict[str, Any]]:
    """Return the table with reaction times from two times of the session, as IBL and others keep them."""
    short = {plain(name): name for name in columns if entries.is_numeric(columns[name])}
    start = short.get("stimontimes") or short.get("visualstimtimes") or short.get("gocuetimes")
    end = short.get("firstmovementtimes") or short.get("responsetimes")
    if start is None or end is None:
        order, follows = trial_order(columns, assigned)
        late = [name for name in short.values() if LIKE_A_TIME.search(name.lower())]
        late = [name for name in late if rises(entries.numbers(columns[name]), order, follows)]
        found = ((name, begin) for name in late if (begin := _start_of(columns, name, order, follows)))
        end, start = next(found, (None, None))
        if end is None or "rt" in columns:
            return columns, assigned
        notes.append(f"{end} is a point in time: the reaction time is {end}-{start}")
    chosen.derive["rt"] = f"{quoted(end)}-{quoted(str(start))}"
    return expressions.derived(columns, {"rt": chosen.derive["rt"]})[0], {**assigned, "rt": "rt"}


def _same(a: FloatArray, b: FloatArray) -> bool:
    """Return whether two columns are proportional to each other."""
    x, y = np.nan_to_num(a), np.nan_to_num(b)
    if not x.any() or not y.any():
        return False
    return bool(abs(x @ y) > 0.99999 * np.linalg.norm(x) * np.linalg.norm(y))


def with_time_differences(
    columns: DataFrame, assigned: dict[str, Any], chosen: ColumnMap, notes: list[str], named: Sequence[str]
) -> tuple[DataFrame, dict[str, Any]]:
    """Return the table with a reaction time in place of a point in time, or without one.

    Args:
        columns: the table.
        assigned: column of each role.
        chosen: what is known about the table; gets the formula of the reaction time.
        notes: get a remark.
        named: roles that the user named, which keep their columns.
    """
    name = assigned.get("rt")
    if name is None or not entries.is_numeric(columns[name]):
        return columns, assigned
    order, follows = trial_order(columns, assigned)
    time = entries.numbers(columns[name])
    if not rises(np.where(time > 0, time, np.nan), order, follows):
        return columns, assigned
    if "rt" in named:
        notes.append(f"{name} rises from trial to trial, as a point in time does and a reaction time does not")
        return columns, assigned
    start = _start_of(columns, name, order, follows)
    if start is None:
        notes.append(say("point_without_start", name=name))
        return columns, {role: column for role, column in assigned.items() if role != "rt"}
    difference = f"{name}-{start}"
    chosen.derive[difference] = f"{quoted(name)}-{quoted(start)}"
    notes.append(f"{name} is a point in time: the reaction time is {difference}")
    extended, remarks = expressions.derived(columns, {difference: chosen.derive[difference]})
    notes += remarks
    return extended, {**assigned, "rt": difference}


def _start_of(columns: DataFrame, end: str, order: IntArray, follows: BoolArray) -> str | None:
    """Return the latest column, of the best name, that is a point in time of the same trial before another."""
    time = entries.numbers(columns[end])
    steps = np.diff(time[order])[follows[1:]]
    longest = float(np.nanmedian(steps))
    others = {name: column for name, column in columns.items() if name != end and not NOT_STARTS.search(plain(name))}
    for pattern in STARTS:
        fits: list[tuple[float, str]] = []
        for name in (each for each in others if pattern.search(plain(each)) and entries.is_numeric(others[each])):
            before = time - entries.numbers(others[name])
            known = before[np.isfinite(before)]
            if len(known) > 0.5 * np.isfinite(time).sum() and np.mean((known > 0) & (known < longest)) >= ALMOST_ALL:
                fits.append((float(np.median(known)), name))
        if fits:
            return min(fits)[1]
    return None


def without_totals(
    columns: DataFrame, assigned: dict[str, Any], notes: list[str], named: Sequence[str]
) -> dict[str, Any]:
    """Return the roles without a reward that never falls from trial to trial and rises often: a running total."""
    name = assigned.get("reward")
    if name is None or "reward" in named or not entries.is_numeric(columns[name]):
        return assigned
    values, (order, follows) = entries.numbers(columns[name]), trial_order(columns, assigned)
    steps = np.diff(values[order])[follows[1:]]
    steps = steps[np.isfinite(steps)]
    many = len(np.unique(values[np.isfinite(values)])) >= FEWEST_TOTALS
    if not many or len(steps) < 2 * FEWEST_TOTALS or np.mean(steps >= 0) < 1 or np.mean(steps > 0) < 0.1:
        return assigned
    notes.append(say("running_total", name=name))
    return {role: column for role, column in assigned.items() if role != "reward"}
