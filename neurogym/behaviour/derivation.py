"""Columns made from others: one reward of two sides, signed differences of sides, times from points in time."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray
from neurogym.behaviour import entries, expressions, roles
from neurogym.behaviour.column_maps import ColumnMap
from neurogym.behaviour.entries import plain
from neurogym.behaviour.evidence import ALMOST_ALL, is_in_blocks, rises, trial_order
from neurogym.behaviour.questions import quoted, say
from neurogym.behaviour.vocabulary import CODES, any_called, is_called, is_like

if TYPE_CHECKING:
    from pandas import DataFrame


OUTCOMES = ("hits", "misses", "false_alarms", "rejections")
#: Formula of one column by its role, from a flag of the left and one of the right.
SIDED = {"reward": "max(`{0}`, `{1}`)", "choice": "`{1}`/(`{0}`+`{1}`)"}
#: Names of the side that a subject is told to choose, and words of a wrong answer, the clearest first.
SIDES_TO_CHOOSE = ("trialinstruction", "instructedside", "correctside", "trialtype")
WRONG = ("error", "err", "incorrect", "wrong", "miss")
FEWEST_TOTALS = 10  #: distinct amounts from which a reward that never falls is a running total


def of_codes(columns: DataFrame) -> dict[str, str]:
    """Return the formula of correctness from codes of what came of a trial, of which others than two are misses."""
    coded = [name for name in columns if is_called(name, "codes") and entries.is_numeric(columns[name])]
    if not coded or any_called(columns, "correct"):
        return {}
    return {"correct": f"(`{coded[0]}`=={CODES[plain(coded[0])][0]})"}


@dataclass
class Draft:
    """Table whose columns get roles, step by step.

    Attributes:
        columns: the table.
        settings: what is known about the table; gets the formulas of derived columns.
        named: roles that the user named, which keep their columns.
        roles: the column of each role, ``stimuli`` a tuple.
        notes: remarks that the user should see.
    """

    columns: DataFrame
    settings: ColumnMap
    named: Collection[str]
    roles: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def derive(self, key: str, formulas: Mapping[str, str], **values: object) -> None:
        """Add columns made by formulas, with a remark.

        Args:
            key: of the remark, see `neurogym.behaviour.questions.say`; empty for none.
            formulas: by the name of their column.
            **values: that the remark names.
        """
        self.settings.derive |= formulas
        self.notes += [say(key, **values)] if key else []
        self.columns, remarks = expressions.derived(self.columns, formulas)
        self.notes += remarks

    def drop(self, role: str, key: str) -> None:
        """Take a role from its column, with a remark about the column."""
        self.notes.append(say(key, name=self.roles.pop(role)))

    def numbers(self, name: str) -> FloatArray:
        """Return a column as numbers."""
        return entries.numbers(self.columns[name])

    def has_choice(self) -> bool:
        """Return whether a column is named like a choice."""
        return any_called(self.columns, "choice")


def derive_outcomes(draft: Draft) -> None:
    """Give a table choices and rewards that follow from others of its columns, before roles are known."""
    _with_sides(draft)
    if "choice" not in draft.named:
        _with_detection(draft)
        _with_outcomes(draft)


def derive_differences(draft: Draft) -> None:
    """Give a table times and stimuli that are differences, once roles are known; take running totals for no rewards."""
    _with_time_differences(draft)
    _without_totals(draft)
    if "stimuli" not in draft.named:
        _with_differences(draft)


def _with_sides(draft: Draft) -> None:
    """Give a table with a flag for each side one column of rewards, or of choices."""
    columns, sides = draft.columns, {plain(name): name for name in draft.columns}
    for role, formula in SIDED.items():
        for short, left in sides.items() if role not in draft.named else ():
            right = sides.get(re.sub("left", "right", short) if "left" in short else f"{short[:-1]}r")
            others = {*sides} - {short, plain(str(right))}
            if not is_like(short, f"left_{role}") or right is None or any_called(others, role):
                continue
            if not (roles.is_flag(columns[left]) and roles.is_flag(columns[right])):
                continue
            both = (draft.numbers(left) > 0) + 1 * (draft.numbers(right) > 0)
            if both.max() > 1 or (role == "choice" and both.min()):  # rewards of both options; one flag says the other
                continue
            filled = formula.format(left, right)
            draft.derive("one_of_sides", {role: filled}, left=left, right=right, role=role, formula=filled)
            break


def _with_detection(draft: Draft) -> None:
    """Give a table with each outcome of a detection, as flags or words, response, correctness and signal."""
    columns = draft.columns
    if draft.has_choice():
        return
    terms = {name: f"`{name}`" for name in columns if roles.is_flag(columns[name])}
    outcome = next((name for name in columns if roles.is_detection(entries.words(columns[name]))), None)
    if outcome is not None:
        terms = {word: f'(`{outcome}`=="{word}")' for word in entries.words(columns[outcome])}
    found = [next((name for name in terms if is_like(name, each)), None) for each in OUTCOMES]
    if None in found:
        return
    hit, miss, alarm, rejection = (terms[str(name)] for name in found)
    of_all = f"({hit}+{miss}+{alarm}+{rejection})"  # 0 in other trials, whose entries are then missing
    pairs = {"response": (hit, alarm), "correct": (hit, rejection), "signal": (hit, miss)}
    formulas = {name: f"({a}+{b})/{of_all}" for name, (a, b) in pairs.items() if name not in columns}
    draft.derive("from_detection", formulas, names=formulas, outcomes=found)
    draft.columns = draft.columns.drop(columns=outcome or [])


def _with_outcomes(draft: Draft) -> None:
    """Give a table with the correct side and, in words, what came of each trial the choice.

    Of hit, miss and ignore, as laboratories of directional licking keep them, a miss is a wrong answer.
    """
    columns = draft.columns
    side = next((name for name in columns if plain(name) in SIDES_TO_CHOOSE), "")
    outcome = next((name for name in columns if plain(name) in ("outcome", "trialoutcome")), "")
    if not side or not outcome or draft.has_choice():
        return
    short, sides = {plain(word): word for word in entries.words(columns[outcome])}, entries.levels(columns[side])[0]
    hit, miss = (next((short[each] for each in words if each in short), "") for words in (("hit", "correct"), WRONG))
    # a miss is an error beside another word for no answer
    is_error = plain(miss) != "miss" or any_called(short.keys() - {"miss"}, "missed")
    if not (hit and miss and is_error and sorted(plain(each)[:1] for each in sides) == ["l", "r"]):
        return
    hits, misses = (f'(`{outcome}`=="{word}")' for word in (hit, miss))
    formulas = {"correct": f"{hits}/({hits}+{misses})"}
    formulas["choice"] = f'({hits}==(`{side}`=="{sides[1]}"))/({hits}+{misses})'
    draft.derive("from_outcomes", formulas, side=side, outcome=outcome, miss=miss)
    draft.columns = draft.columns.drop(columns=outcome)


def _with_differences(draft: Draft) -> None:
    """Give a table signed differences of the left and the right, and times from differences (IBL)."""
    used = [value for role, value in draft.roles.items() if role != "stimuli"] + [*draft.roles.get("pulses", ())]
    signed = [name for name in draft.roles["stimuli"] if np.nanmin(draft.numbers(name)) < 0]
    outcomes = bool({"reward", "gain"} & set(draft.roles))
    for left, right in [] if "choice2" in draft.roles else roles.side_pairs(draft.columns, used):
        order = trial_order(draft.columns, draft.roles) if outcomes else None
        if order is not None and all(is_in_blocks(draft.columns[name], *order) for name in (left, right)):
            continue
        name, formula = f"{right}-{left}", f"{quoted(right)}-{quoted(left)}"
        rest = tuple(each for each in draft.roles["stimuli"] if each not in (left, right))
        values = entries.numbers(expressions.derived(draft.columns, {name: formula})[0][name])
        if any(each in rest and _same(draft.numbers(each), values) for each in signed):
            draft.roles["stimuli"] = rest
            continue
        draft.roles["stimuli"] = (*rest, name)
        draft.derive("signed_difference", {name: formula}, left=left, right=right, name=name)
    stimuli = draft.roles["stimuli"]
    sizes = {name: np.abs(draft.numbers(name)) for name in stimuli}
    strengths = [a for a in sizes for b in sizes if a != b and _same(draft.numbers(a), sizes[b])]
    if strengths and len(strengths) < len(stimuli):
        draft.roles["stimuli"] = tuple(each for each in stimuli if each not in strengths)
        draft.notes.append(say("size_of_signed", names=strengths, signed=draft.roles["stimuli"]))
    if "rt" not in draft.roles:
        _with_times(draft)


def _with_times(draft: Draft) -> None:
    """Give a table reaction times from two times of the session, as IBL and others keep them."""
    columns = draft.columns
    short = {plain(name): name for name in columns if entries.is_numeric(columns[name])}
    start = short.get("stimontimes") or short.get("visualstimtimes") or short.get("gocuetimes")
    end, key = short.get("firstmovementtimes") or short.get("responsetimes"), ""
    if start is None or end is None:
        order, follows = trial_order(columns, draft.roles)
        late = [name for name in short.values() if is_like(name, "like_a_time")]
        late = [name for name in late if rises(draft.numbers(name), order, follows)]
        found = ((name, begin) for name in late if (begin := _start_of(columns, name, order, follows)))
        (end, start), key = next(found, (None, None)), "point_in_time"
        if end is None or start is None or "rt" in columns:
            return
    draft.derive(key, {"rt": f"{quoted(end)}-{quoted(start)}"}, name=end, difference=f"{end}-{start}")
    draft.roles["rt"] = "rt"


def _same(a: FloatArray, b: FloatArray) -> bool:
    """Return whether two columns are proportional to each other."""
    x, y = np.nan_to_num(a), np.nan_to_num(b)
    if not x.any() or not y.any():
        return False
    return bool(abs(x @ y) > 0.99999 * np.linalg.norm(x) * np.linalg.norm(y))


def _with_time_differences(draft: Draft) -> None:
    """Give a table a reaction time in place of a point in time, or take the role from the latter."""
    name = draft.roles.get("rt")
    if name is None or not entries.is_numeric(draft.columns[name]):
        return
    order, follows = trial_order(draft.columns, draft.roles)
    time = draft.numbers(name)
    if not rises(np.where(time > 0, time, np.nan), order, follows):
        return
    start = _start_of(draft.columns, name, order, follows)
    if "rt" in draft.named:
        draft.notes.append(say("named_point_in_time", name=name))
    elif start is None:
        draft.drop("rt", "point_without_start")
    else:
        draft.roles["rt"] = f"{name}-{start}"
        formulas = {draft.roles["rt"]: f"{quoted(name)}-{quoted(start)}"}
        draft.derive("point_in_time", formulas, name=name, difference=draft.roles["rt"])


def _start_of(columns: DataFrame, end: str, order: IntArray, follows: BoolArray) -> str | None:
    """Return the latest column, of the best name, that is a point in time of the same trial before another."""
    time = entries.numbers(columns[end])
    steps = np.diff(time[order])[follows[1:]]
    longest = float(np.nanmedian(steps))
    others = {name: column for name, column in columns.items() if name != end and not is_like(name, "not_starts")}
    for pattern in ("stimulus_start", "trial_start"):
        fits: list[tuple[float, str]] = []
        for name in (each for each in others if is_like(each, pattern) and entries.is_numeric(others[each])):
            before = time - entries.numbers(others[name])
            known = before[np.isfinite(before)]
            if len(known) > 0.5 * np.isfinite(time).sum() and np.mean((known > 0) & (known < longest)) >= ALMOST_ALL:
                fits.append((float(np.median(known)), name))
        if fits:
            return min(fits)[1]
    return None


def _without_totals(draft: Draft) -> None:
    """Take the role from a reward that never falls from trial to trial and rises often: a running total."""
    name = draft.roles.get("reward")
    if name is None or "reward" in draft.named or not entries.is_numeric(draft.columns[name]):
        return
    values, (order, follows) = draft.numbers(name), trial_order(draft.columns, draft.roles)
    steps = np.diff(values[order])[follows[1:]]
    steps = steps[np.isfinite(steps)]
    many = len(np.unique(values[np.isfinite(values)])) >= FEWEST_TOTALS
    if many and len(steps) >= 2 * FEWEST_TOTALS and np.mean(steps >= 0) == 1 and np.mean(steps > 0) >= 0.1:
        draft.drop("reward", "running_total")
