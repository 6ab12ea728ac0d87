"""Numbers that rise from trial to trial: points in time, whose differences are reaction times, and running totals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.array_types import BoolArray, IntArray
from neurogym.behaviour import entries, expressions
from neurogym.behaviour.column_maps import ColumnMap
from neurogym.behaviour.entries import plain
from neurogym.behaviour.evidence import ALMOST_ALL, rises, trial_order

if TYPE_CHECKING:
    from pandas import DataFrame


#: Names of the beginning of a reaction time, the best first: the stimulus, or the start of the trial.
STARTS = (
    re.compile(r"(stim|target|dots?|gocue|cue|tone|sound|probe|sample|item|image)"),
    re.compile(r"(start|begin|onset|init)"),
)
NOT_STARTS = re.compile(r"(off|end|stop|feedback|reward|resp|choice|lick|press|iti|fix)")
FEWEST_TOTALS = 10  #: distinct amounts from which a reward that never falls is a running total


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
        notes.append(
            f"{name} rises from trial to trial: a point in time and not a reaction time; left out, because no column "
            f"is the time of the stimulus (--derive time={_quoted(name)}-COLUMN --rt time)"
        )
        return columns, {role: column for role, column in assigned.items() if role != "rt"}
    difference = f"{name}-{start}"
    chosen.derive[difference] = f"{_quoted(name)}-{_quoted(start)}"
    notes.append(f"{name} is a point in time: the reaction time is {difference}")
    extended, _ = expressions.derived(columns, {difference: chosen.derive[difference]})
    return extended, {**assigned, "rt": difference}


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def _start_of(columns: DataFrame, end: str, order: IntArray, follows: BoolArray) -> str | None:
    """Return the latest column, of the best name, that is a point in time of the same trial before another."""
    time = entries.numbers(columns[end])
    steps = np.diff(time[order])[follows[1:]]
    longest = float(np.nanmedian(steps))
    for pattern in STARTS:
        fits: list[tuple[float, str]] = []
        for name, column in columns.items():
            if (
                name == end
                or not entries.is_numeric(column)
                or not pattern.search(plain(name))
                or NOT_STARTS.search(plain(name))
            ):
                continue
            before = time - entries.numbers(column)
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
    notes.append(
        f"{name} never falls: a running total and not the reward of a trial; left out (--reward {name} keeps it)"
    )
    return {role: column for role, column in assigned.items() if role != "reward"}
