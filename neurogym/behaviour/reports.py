"""Tables of continuous reports (remembered colours, directions, durations): target and report of each trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from neurogym.analysis.estimation import FEWEST, ContinuousReports, continuous_reports
from neurogym.array_types import BoolArray, FloatArray
from neurogym.behaviour import entries
from neurogym.behaviour.entries import TableError
from neurogym.behaviour.guessing import guess
from neurogym.behaviour.roles import report_columns
from neurogym.behaviour.vocabulary import is_called

if TYPE_CHECKING:
    from pandas import DataFrame

FILLED = 0.85  #: share of a circle that targets fill
MOST_SIZES = 12
EVERY = "all"  #: name of all subjects, or of all set sizes, together


@dataclass(frozen=True)
class ReportTable:
    """Continuous reports of a table.

    Attributes:
        columns: the column of the target, of the report, of the subject and of the set size; None where there is none.
        ring: circumference of the circle that targets fill, in the unit of the table; None on a line.
        groups: statistics by subject and set size; ``all`` for all together.
    """

    columns: dict[str, str | None]
    ring: float | None
    groups: dict[tuple[str, str], ContinuousReports]

    @property
    def by_size(self) -> dict[str, ContinuousReports]:
        """Statistics by set size, of all subjects together or of the only one."""
        first, _ = next(iter(self.groups))
        return {size: each for (subject, size), each in self.groups.items() if subject == first}

    @property
    def by_subject(self) -> dict[str, ContinuousReports]:
        """Statistics of each of several subjects, of all set sizes together."""
        return {who: each for (who, size), each in self.groups.items() if who != EVERY and size == EVERY}

    @property
    def on(self) -> str:
        """What reports lie on, in words."""
        if self.ring is None:
            return "a line"
        return f"a circle of {self.ring:.3g} {'degrees' if self.ring > 2 * np.pi else 'radians'}"


def reports_of(table: DataFrame, by: str | None = None) -> ReportTable | None:
    """Return the continuous reports of a table without choices; None if it has none.

    Targets that fill a circle or half of one, in degrees or radians, lie on that; others lie on a line.

    Args:
        table: the columns.
        by: column that takes the place of the set size.

    Raises:
        TableError: if several columns may be the target, or reports are too few.
    """
    reports, targets = report_columns(table)
    if not reports or not targets:
        return None
    if len(targets) > 1:
        raise TableError(f"{' and '.join(targets)} may both be the target of {reports[0]}: leave one in the table")
    report, target = entries.numbers(table[reports[0]]), entries.numbers(table[targets[0]])
    subject = guess(table.drop(columns=[reports[0], targets[0]])).roles.get("subject")
    sizes = [name for name in table if is_called(name, "sizes")]
    size = by or next((name for name in sizes if 1 < len(entries.distinct(table[name])) <= MOST_SIZES), None)
    ring = None if is_called(targets[0], "durations") else _ring(target)
    groups = dict[tuple[str, str], ContinuousReports]()
    for who, of_person in _parts(table, str(subject) if subject else None):
        for level, of_level in _parts(table, size):
            rows = np.isfinite(report - target) & of_person & of_level
            if rows.sum() >= FEWEST:
                groups[who, level] = continuous_reports(report[rows], target[rows], ring=ring)
    if not groups:
        raise TableError(f"{reports[0]} and {targets[0]}: expected {FEWEST} continuous reports or more")
    names = {"target": targets[0], "report": reports[0], "subject": str(subject) if subject else None, "size": size}
    return ReportTable(names, ring, groups)


def _parts(table: DataFrame, name: str | None) -> list[tuple[str, BoolArray]]:
    """Return all rows, and those of each entry of a column."""
    every = [(EVERY, np.ones(len(table), bool))]
    if name is None:
        return every
    labels, index = entries.levels(table[name])
    return every * (len(labels) > 1) + [(label, index == k) for k, label in enumerate(labels)]


def _ring(target: FloatArray) -> float | None:
    """Return the circumference of the circle that targets fill; None if they fill none.

    Between the last of equally spaced targets and the first there is a further step. Whole numbers are no radians.
    """
    levels = np.unique(target[np.isfinite(target)])
    low, high, steps = levels[0], levels[-1], np.diff(levels)
    filled = high - low + (steps[0] if len(levels) > 2 and np.ptp(steps) < 0.01 * steps[0] else 0.0)
    for circumference in (180.0, 360.0) if (levels == np.round(levels)).all() else (np.pi, 2 * np.pi, 180.0, 360.0):
        begins = [begin for begin in (0.0, -circumference / 2) if begin - 1e-6 <= low]
        if any(high <= begin + circumference + 1e-6 for begin in begins) and filled >= FILLED * circumference:
            return float(circumference)
    return None
