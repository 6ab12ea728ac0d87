"""Columns that are made from others: one reward of two sides, signed differences of sides, times from a clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour import entries, expressions, roles
from neurogym.behaviour.column_maps import ColumnMap
from neurogym.behaviour.column_names import COLUMN_NAMES
from neurogym.behaviour.entries import plain
from neurogym.behaviour.evidence import is_in_blocks, trial_order

if TYPE_CHECKING:
    from pandas import DataFrame


def with_rewards(columns: DataFrame, chosen: ColumnMap) -> DataFrame:
    """Return the table with one column of rewards, where it has a column for each side (foraging mice)."""
    if any(plain(name) in COLUMN_NAMES["reward"] for name in columns):
        return columns
    sides = {plain(name): name for name in columns}
    for ending in (("l", "r"), ("left", "right")):
        for short, left in sides.items():
            right = sides.get(short.removesuffix(ending[0]) + ending[1])
            if "reward" not in short or "prob" in short or not short.endswith(ending[0]) or right is None:
                continue
            flags = roles.is_flag(columns[left]) and roles.is_flag(columns[right])
            if flags and not np.any(
                (entries.numbers(columns[left]) > 0) & (entries.numbers(columns[right]) > 0)
            ):  # else of both options
                chosen.derive["reward"] = f"max(`{left}`, `{right}`)"
                return expressions.derived(columns, {"reward": chosen.derive["reward"]})[0]
    return columns


def with_differences(
    columns: DataFrame, assigned: dict[str, Any], chosen: ColumnMap, notes: list[str]
) -> tuple[DataFrame, dict[str, Any]]:
    """Return the table with signed differences of the left and the right, and times from differences (IBL)."""
    extended = columns
    assigned_names = [value for role, value in assigned.items() if role != "stimuli"]
    signed = [name for name in assigned["stimuli"] if np.nanmin(entries.numbers(extended[name])) < 0]
    if "choice2" not in assigned:
        outcomes = bool({"reward", "gain"} & set(assigned))
        for left, right in roles.side_pairs(columns, assigned_names):
            if outcomes and all(is_in_blocks(columns[name], *trial_order(columns, assigned)) for name in (left, right)):
                continue
            formula = f"`{right}`-`{left}`" if not (left.isidentifier() and right.isidentifier()) else f"{right}-{left}"
            name = f"{right}-{left}"
            extended, remarks = expressions.derived(extended, {name: formula})
            rest = tuple(each for each in assigned["stimuli"] if each not in (left, right))
            copies = [
                each
                for each in signed
                if each in rest and _same(entries.numbers(extended[each]), entries.numbers(extended[name]))
            ]
            assigned = {**assigned, "stimuli": rest if copies else (*rest, name)}
            if copies:
                extended = extended.drop(columns=name)
                continue
            chosen.derive[name] = formula
            notes.append(f"{left} and {right} are read as one signed stimulus {name}; --stimuli {left},{right} for two")
            notes += remarks
    sizes = {name: np.abs(entries.numbers(extended[name])) for name in assigned["stimuli"]}
    strengths = [
        name
        for name in assigned["stimuli"]
        if any(name != each and _same(entries.numbers(extended[name]), size) for each, size in sizes.items())
    ]
    if strengths and len(strengths) < len(assigned["stimuli"]):
        assigned = {**assigned, "stimuli": tuple(each for each in assigned["stimuli"] if each not in strengths)}
        notes.append(f"{', '.join(strengths)} is the size of {', '.join(assigned['stimuli'])} and not used next to it")
    if "rt" not in assigned:
        extended, assigned = _with_times(extended, assigned, chosen)
    return extended, assigned


def _with_times(columns: DataFrame, assigned: dict[str, Any], chosen: ColumnMap) -> tuple[DataFrame, dict[str, Any]]:
    """Return the table with reaction times from times of the session, as IBL keeps them."""
    short = {plain(name): name for name in columns if entries.is_numeric(columns[name])}
    start = short.get("stimontimes") or short.get("visualstimtimes") or short.get("gocuetimes")
    end = short.get("firstmovementtimes") or short.get("responsetimes")
    if start is None or end is None:
        return columns, assigned
    chosen.derive["rt"] = f"{end}-{start}"
    return expressions.derived(columns, {"rt": chosen.derive["rt"]})[0], {**assigned, "rt": "rt"}


def _same(a: FloatArray, b: FloatArray) -> bool:
    """Return whether two columns are proportional to each other."""
    x, y = np.nan_to_num(a), np.nan_to_num(b)
    if not x.any() or not y.any():
        return False
    return bool(abs(x @ y) > 0.99999 * np.linalg.norm(x) * np.linalg.norm(y))
