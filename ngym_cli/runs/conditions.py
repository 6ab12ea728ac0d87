"""Conditions of trials: the columns that tell trials apart, their values, and the trials of each condition."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from neurogym.analysis.trial_tables import Table, numbers
from ngym_cli.config.values import Range, Scalar
from ngym_cli.environments.properties import ANSWER_COLUMNS, MAX_CONDITION_VALUES, listed_conditions
from ngym_cli.runs.trial_table import COLUMNS, DECISION_ONSET, FIRST_ACTION, FIXATION, PREVIOUS

#: Columns with the stimulus that is remembered through a delay, in the order in which they are looked for.
REMEMBERED = (
    "v1", "s1", "sample_category", "sample", "sample_theta", "sample1", "duration1", "measure", "stims", "odour",
)  # fmt: skip

#: Number of ranges with equally many trials into which a continuous column is divided.
RANGES = 6

#: Column with the side of the evidence, and with its strength; at strength 0 there is no side.
SIDE, STRENGTH = "ground_truth", "coh"


@dataclass(frozen=True)
class Conditions:
    """Conditions of trials.

    Attributes:
        names: columns that tell the conditions apart; empty for a single condition.
        levels: value of each column for each condition, in order. The side is missing where the strength is 0.
        index: condition of each trial, shape (trials,); -1 where a trial has none.
    """

    names: tuple[str, ...]
    levels: tuple[dict[str, Scalar], ...]
    index: np.ndarray

    @property
    def in_ranges(self) -> bool:
        """Whether a continuous column was divided into ranges of its values in these trials."""
        return any(isinstance(value, Range) for level in self.levels for value in level.values())

    def at_least(self, trials: int) -> Conditions:
        """Return the conditions with so many trials or more."""
        counts = np.bincount(self.index[self.index >= 0], minlength=len(self.levels))
        keep = np.flatnonzero(counts >= trials)
        places = np.full(len(self.levels) + 1, -1)
        places[keep] = np.arange(len(keep))
        return replace(self, levels=tuple(self.levels[k] for k in keep), index=places[self.index])


def conditions_of(table: Table, names: Sequence[str] = ()) -> Conditions:
    """Return the combinations of values of columns.

    Args:
        table: the trials.
        names: columns with an entry per trial; none for a single condition.
    """
    n = len(next(iter(table.values()), ()))
    if not names:
        return Conditions((), ({},), np.zeros(n, int))
    coded = {name: _levels(table[name]) for name in names}
    codes = np.stack([code for _, code in coded.values()], axis=1)
    missing = (codes < 0).any(axis=1)
    if SIDE in names and STRENGTH in names:
        codes[numbers(table[STRENGTH]) == 0, names.index(SIDE)] = -1
    rows, index = np.unique(codes[~missing], axis=0, return_inverse=True)
    full = np.full(n, -1)
    full[~missing] = index.ravel()
    values = [{name: coded[name][0][k] for name, k in zip(names, row, strict=True) if k >= 0} for row in rows]
    return Conditions(tuple(names), tuple(values), full)


def _levels(column: np.ndarray) -> tuple[list[Scalar], np.ndarray]:
    """Return the values of a column in order, many numbers as ranges, and the index of each entry, -1 for missing."""
    known, code = _known(column), np.full(len(column), -1)
    entries = column[known].astype(str) if column.dtype == object else column[known]
    values, code[known] = np.unique(entries, return_inverse=True)
    if len(values) <= MAX_CONDITION_VALUES or values.dtype.kind not in "iuf":
        return values.tolist(), code
    edges = np.quantile(entries, np.linspace(0, 1, RANGES + 1))
    code[known] = np.clip(np.searchsorted(edges, entries, "right") - 1, 0, RANGES - 1)
    decimals = max(0, 2 - int(np.floor(np.log10(np.ptp(edges)))))
    ends = [np.format_float_positional(edge, decimals, trim="-") for edge in edges]
    return [Range(f"{low} to {high}") for low, high in itertools.pairwise(ends)], code


def columns_by_default(declared: Mapping[str, object], table: Table) -> list[str]:
    """Return the columns that tell the conditions of activity apart unless others are named.

    The remembered stimulus, else side and strength, else the first condition of the task, else what is right, else
    another column of the task, else the choice.

    Args:
        declared: conditions of the task, name to values or distribution.
        table: the trials.
    """
    sizes = {name: n_values(table, name) for name in (*declared, SIDE, *extra_columns(table))}
    names = [name for name, size in sizes.items() if size > 1]
    remembered = [name for name in REMEMBERED if name in names]
    if remembered:
        return remembered[:1]
    if SIDE in names and STRENGTH in names:
        return [SIDE, STRENGTH]
    few = [name for name in (*declared, SIDE) if 1 < sizes[name] <= MAX_CONDITION_VALUES]
    return (few or names or [name for name in ("choice",) if n_values(table, name) > 1])[:1]


def columns_of_performance(declared: Mapping[str, object], table: Mapping[str, np.ndarray]) -> list[str]:
    """Return the columns by which performance is broken down: the task, and conditions with a few known values.

    Args:
        declared: conditions of the task, name to its values or to a distribution; may be empty.
        table: trials; a task that lists no conditions is broken down by the columns that take a few values.
    """
    few = [name for name in extra_columns(table) if 1 < len(np.unique(table[name])) <= MAX_CONDITION_VALUES]
    few = [name for name in few if name not in ANSWER_COLUMNS]
    if not declared:
        return few
    listed = [name for name in listed_conditions(declared) if name in table]
    return [*[name for name in REMEMBERED if name in few and name not in listed][:1], *listed]


def extra_columns(table: Mapping[str, np.ndarray]) -> list[str]:
    """Return the columns that the task added to the trial table, numbers and words only."""
    standard = {*COLUMNS, "linked", FIXATION, DECISION_ONSET, FIRST_ACTION, *(f"prev_{name}" for name in PREVIOUS)}
    names = [name for name in table if name not in standard and not name.startswith(("period_", "onset_"))]
    return [name for name in names if table[name].ndim == 1 and table[name].dtype != object]


def n_values(table: Mapping[str, np.ndarray], name: str) -> int:
    """Return the number of different values of a column; 0 if there is none, or no single value in most trials."""
    column = table.get(name)
    if column is None or column.ndim != 1 or any(np.ndim(value) for value in column[:1].tolist()):
        return 0
    known = column[_known(column)]
    if len(known) < len(column) / 2:
        return 0
    return len(np.unique(known.astype(str) if column.dtype == object else known))


def _known(column: np.ndarray) -> np.ndarray:
    return np.array([value is not None and value == value for value in column.tolist()], bool)
