"""Columns that are made from others: one reward of two sides, signed differences of sides, times from a clock."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.behaviour import expressions, roles
from neurogym.behaviour.column_maps import ColumnMap
from neurogym.behaviour.column_names import COLUMN_NAMES
from neurogym.behaviour.columns import Column, Columns, plain
from neurogym.behaviour.evidence import is_in_blocks, trial_order


def with_rewards(columns: Columns, chosen: ColumnMap) -> Columns:
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
            if flags and not np.any((columns[left].numbers > 0) & (columns[right].numbers > 0)):  # else of both options
                chosen.derive["reward"] = f"max(`{left}`, `{right}`)"
                return expressions.derived(columns, {"reward": chosen.derive["reward"]})[0]
    return columns


def with_differences(
    columns: Columns, assigned: dict[str, Any], chosen: ColumnMap, notes: list[str]
) -> tuple[Columns, dict[str, Any]]:
    """Return the table with signed differences of the left and the right, and times from differences (IBL)."""
    extended = dict(columns)
    assigned_names = [value for role, value in assigned.items() if role != "stimuli"]
    signed = [name for name in assigned["stimuli"] if np.nanmin(extended[name].numbers) < 0]
    if "choice2" not in assigned:
        outcomes = bool({"reward", "gain"} & set(assigned))
        for left, right in roles.side_pairs(columns, assigned_names):
            if outcomes and all(is_in_blocks(columns[name], *trial_order(columns, assigned)) for name in (left, right)):
                continue
            formula = f"`{right}`-`{left}`" if not (left.isidentifier() and right.isidentifier()) else f"{right}-{left}"
            name = f"{right}-{left}"
            extended, remarks = expressions.derived(extended, {name: formula})
            rest = tuple(each for each in assigned["stimuli"] if each not in (left, right))
            copies = [each for each in signed if each in rest and _same(extended[each], extended[name])]
            assigned = {**assigned, "stimuli": rest if copies else (*rest, name)}
            if copies:
                extended.pop(name)
                continue
            chosen.derive[name] = formula
            notes.append(f"{left} and {right} are read as one signed stimulus {name}; --stimuli {left},{right} for two")
            notes += remarks
    sizes = {name: Column(floats=np.abs(extended[name].numbers)) for name in assigned["stimuli"]}
    strengths = [
        name
        for name in assigned["stimuli"]
        if any(name != each and _same(extended[name], size) for each, size in sizes.items())
    ]
    if strengths and len(strengths) < len(assigned["stimuli"]):
        assigned = {**assigned, "stimuli": tuple(each for each in assigned["stimuli"] if each not in strengths)}
        notes.append(f"{', '.join(strengths)} is the size of {', '.join(assigned['stimuli'])} and not used next to it")
    if "rt" not in assigned:
        extended, assigned = _with_times(extended, assigned, chosen)
    return extended, assigned


def _with_times(columns: Columns, assigned: dict[str, Any], chosen: ColumnMap) -> tuple[Columns, dict[str, Any]]:
    """Return the table with reaction times from times of the session, as IBL keeps them."""
    short = {plain(name): name for name in columns if columns[name].is_numeric}
    start = short.get("stimontimes") or short.get("visualstimtimes") or short.get("gocuetimes")
    end = short.get("firstmovementtimes") or short.get("responsetimes")
    if start is None or end is None:
        return columns, assigned
    chosen.derive["rt"] = f"{end}-{start}"
    return expressions.derived(columns, {"rt": chosen.derive["rt"]})[0], {**assigned, "rt": "rt"}


def _same(a: Column, b: Column) -> bool:
    """Return whether two columns are proportional to each other."""
    x, y = np.nan_to_num(a.numbers), np.nan_to_num(b.numbers)
    if not x.any() or not y.any():
        return False
    return bool(abs(x @ y) > 0.99999 * np.linalg.norm(x) * np.linalg.norm(y))
