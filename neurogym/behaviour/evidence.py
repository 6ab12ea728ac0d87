"""Observations on the values of a table that say what a column can be, whatever its name suggests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray
from neurogym.behaviour import entries
from neurogym.behaviour.entries import label

if TYPE_CHECKING:
    from pandas import DataFrame, Series


FILE = "file"  #: column with the file of each trial, where there are several
#: Name of the column with the first of several folders in which the names of files differ.
FOLDER = "folder"
FEWEST = 8  #: pairs of trials below which nothing is concluded from their order
ALMOST_ALL, MOSTLY = 0.95, 0.9
ENOUGH_TRIALS = 30  #: trials below which nothing is concluded from what goes together
BLOCK_CHANGES = 0.1  #: largest share of trials at which a state of the task changes that is constant in blocks


def group_index(columns: DataFrame, names: Sequence[object]) -> IntArray:
    """Return the number of each row's combination of entries in some columns, from 0, in order of appearance."""
    import pandas as pd

    index = np.zeros(len(columns), np.int64)
    for name in dict.fromkeys(str(each) for each in names if each in columns):
        entry = entries.texts(columns[name])[1]
        index = pd.factorize(index * (int(entry.max(initial=0)) + 2) + entry + 1)[0]
    return index


def group_names(columns: DataFrame, names: Sequence[object], rows: BoolArray) -> list[str]:
    """Return the names of files, subjects or sessions that hold some rows and no others."""
    for name in (str(each) for each in names if each in columns):
        words, index = entries.texts(columns[name])
        inside = np.unique(index[rows & (index >= 0)])
        if not np.isin(index[~rows], inside).any():
            return [words[k] for k in inside]
    return [f"{int(rows.sum()):,} rows"]


def trial_order(columns: DataFrame, assigned: Mapping[str, object]) -> tuple[IntArray, BoolArray]:
    """Return the rows in the order of the trials, and which of these follow one of the same file, subject and session.

    Args:
        columns: the table.
        assigned: the column of each role.
    """
    group = group_index(columns, [FILE, assigned.get("subject"), assigned.get("session")])
    rows = np.arange(len(group))
    name = assigned.get("trial")
    numbered = name in columns and entries.is_numeric(columns[str(name)])
    number = entries.numbers(columns[str(name)]) if numbered else rows
    same = np.append(False, group[1:] == group[:-1])[: len(rows)]
    if np.all(np.diff(group) >= 0) and np.all((np.diff(number) > 0) | ~same[1:]):
        return rows, same
    order = np.lexsort((number, group))
    follows = np.append(False, group[order][1:] == group[order][:-1])[: len(rows)]
    if not np.isfinite(number).all() or np.any(np.diff(number[order])[follows[1:]] == 0):
        order = np.argsort(group, kind="stable")
    return order, follows


def trials_of_sessions(columns: DataFrame, assigned: Mapping[str, object]) -> tuple[IntArray, BoolArray]:
    """Return what `trial_order` does; in a table without sessions, one begins where the trial number falls."""
    order, follows = trial_order(columns, assigned)
    name = assigned.get("trial")
    if assigned.get("session") is None and name in columns:
        number = entries.numbers(columns[str(name)])[order]
        follows = follows & np.append(False, number[1:] >= number[:-1])
    return order, follows


def rises(values: FloatArray, order: IntArray, follows: BoolArray) -> bool:
    """Return whether a number rises from trial to trial, as a clock or a running total does."""
    known = np.isfinite(values[order])
    session = np.cumsum(~follows)[known]
    steps = np.diff(values[order][known])[session[1:] == session[:-1]]
    return len(steps) >= FEWEST and float(np.mean(steps > 0)) >= ALMOST_ALL


def is_in_blocks(column: Series, order: IntArray, follows: BoolArray) -> bool:
    """Return whether an entry stays the same over long runs of trials and changes between these."""
    entry = entries.levels(column)[1][order]
    inside = follows & (entry >= 0) & np.append(False, entry[:-1] >= 0)
    changes = np.append(False, entry[1:] != entry[:-1])[inside]
    return len(changes) >= 5 * FEWEST and 0 < changes.mean() <= BLOCK_CHANGES


def same_information(a: Series, b: Series) -> bool:
    """Return whether the entries of two columns stand for each other wherever both have one."""
    x, y = entries.levels(a)[1], entries.levels(b)[1]
    both = (x >= 0) & (y >= 0)
    pairs, counts = np.unique(np.stack([x[both], y[both]]), axis=1, return_counts=True)
    frequent = pairs[:, counts > 0.01 * counts.sum()]
    return all(len(np.unique(side)) == frequent.shape[1] > 0 for side in frequent)


def is_known_without_answer(values: FloatArray, missed: BoolArray) -> bool:
    """Return whether an amount is known, and as large, where there was no answer, as what came of a choice is not."""
    amount = np.abs(np.nan_to_num(values))
    if missed.sum() < 3 or not (~missed).any() or amount.max(initial=0) == 0:
        return False
    if np.isin(values[missed], values[~missed]).mean() < MOSTLY or len(np.unique(amount[~missed])) < 2:
        return False  # a code for none
    low = amount.min()
    there, elsewhere = float(np.mean(amount[missed] > low)), float(np.mean(amount[~missed] > low))
    return int((amount[missed] > low).sum()) >= 3 and there > 0.5 * elsewhere


def is_by_chance(truth: IntArray, choice: IntArray, n_choices: int) -> bool:
    """Return whether the choices agree with what may be the correct choice by chance only."""
    both = (truth >= 0) & (choice >= 0)
    if not both.any():
        return False
    agreement = float(np.mean(truth[both] == choice[both]))
    return abs(agreement - 1 / n_choices) < 2 / np.sqrt(both.sum())


def agrees(column: Series, truth: IntArray, correct: FloatArray) -> bool:
    """Return whether a column with two entries is the correct choice in all trials that are correct, and only there."""
    words, index = entries.levels(column)
    rows = (index >= 0) & (truth >= 0) & np.isfinite(correct)
    if len(words) != 2 or rows.sum() < FEWEST:
        return False
    share = float(np.mean((index == truth)[rows] == (correct[rows] > 0.5)))
    return max(share, 1 - share) > ALMOST_ALL


def listed(words: Sequence[object], most: int = 4) -> str:
    """Return some words and how many more there are."""
    texts = [label(word) if isinstance(word, float) else str(word) for word in words]
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def correlation(a: np.ndarray, b: np.ndarray, rows: BoolArray) -> float:
    """Return the correlation of two columns in some rows; 0 if one is constant there, or rows are fewer than three."""
    if rows.sum() < 3 or not np.ptp(a[rows]) or not np.ptp(b[rows].astype(float)):
        return 0.0
    return float(np.corrcoef(a[rows], b[rows])[0, 1])


def minus(name: str) -> str:
    """Return the name of a stimulus with the sign turned; a difference is turned round."""
    first, sign, second = name.partition("-")
    return f"{second}-{first}" if first and sign and "-" not in second else f"-{name}"


def falls(stimulus: FloatArray, choice: IntArray) -> bool:
    """Return whether the second choice is less frequent for larger stimuli, beyond chance."""
    valid = (choice >= 0) & np.isfinite(stimulus)
    return bool(valid.sum() >= ENOUGH_TRIALS and correlation(stimulus, choice, valid) * np.sqrt(valid.sum()) < -3)


def within_states(choice2: IntArray, state: IntArray) -> IntArray:
    """Return second-stage choices as numbers within the state."""
    within = np.full(len(choice2), -1)
    for k in np.unique(state[state >= 0]):
        rows = (state == k) & (choice2 >= 0)
        within[rows] = np.unique(choice2[rows], return_inverse=True)[1]
    return within
