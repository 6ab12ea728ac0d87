"""Recorded activity aligned to an event of the trial, with the conditions that tell trials apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ngym_cli.figures.series import Series
from ngym_cli.figures.style import Unavailable
from ngym_cli.figures.view import View
from ngym_cli.runs.trial_table import Table

if TYPE_CHECKING:
    from neurogym.analysis import Activity

#: Events, besides periods, to which activity is aligned.
RESPONSE = "response"

#: Share of trials that must last until the end of the window.
REACHED = 0.5

#: Trials that population figures use.
MOST_TRIALS = 2_000

#: Fewest trials behind a condition, most conditions that are drawn.
FEWEST, MOST_CONDITIONS = 5, 12


@dataclass(frozen=True)
class Population:
    """Activity aligned to an event, with the trials' conditions.

    Attributes:
        activity: the population.
        table: the same trials.
        event: name of the period that the alignment is to; empty: the start of the trial.
        at: step of it in each trial.
        start: first step of the window, relative to the event.
        stop: step after the last one.
        conditions: columns that tell the conditions apart.
    """

    activity: Activity
    table: Table
    event: str
    at: np.ndarray
    start: int
    stop: int
    conditions: dict[str, np.ndarray]

    def aligned(self, trials: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Activity around the event, shape (trials, steps, units)."""
        return np.asarray(self.activity.align(self.at, start=self.start, stop=self.stop)[trials])

    @property
    def time(self) -> np.ndarray:
        """Time of each step from the event, ms."""
        return self.activity.dt * np.arange(self.start, self.stop)


def population(view: View, series: Series | None = None) -> Population:
    """Return the recorded activity of the first run, or of a series, around the stimulus.

    Raises:
        Unavailable: if there is none.
    """
    from neurogym.analysis import Activity
    from neurogym.analysis.trial_tables import select

    series = series or view.recorded
    key = f"population {series.label} {view.by}"
    if key not in view.memory:
        recording = series.recording
        values, offsets = recording.first("activity", min(MOST_TRIALS, len(recording)))
        n = len(offsets) - 1
        table = select(series.table, np.arange(n))
        activity = Activity(values, offsets, recording.dt)
        event = next((name for name in ("stimulus", "stim", "sample", "ready") if name in recording.events), "")
        at = recording.events[event][:n] / recording.dt if event else np.zeros(n)
        after = activity.lengths - at
        stop = max(2, int(np.nanquantile(after, 1 - REACHED)))
        start = -int(min(np.nanmin(at), max(2, stop // 4)))
        columns = {name: table[name] for name in _conditions(view, table)}
        view.memory[key] = Population(activity, table, event, at, start, stop, columns)
    return view.memory[key]


def _conditions(view: View, table: Table) -> list[str]:
    """Return the columns that split the trials: as requested, else side and strength, else the first condition."""
    if view.by:
        for name in view.by:
            if name not in table:
                raise Unavailable(f"the trials have no column {name}")
        return list(view.by)
    names = [name for name in view.facts.conditions if name in table and table[name].ndim == 1]
    few = [name for name in names if 1 < len(np.unique(table[name].astype(str))) <= MOST_CONDITIONS]
    if "ground_truth" in few and "coh" in few:
        return ["ground_truth", "coh"]
    if few:
        return few[:1] if few[0] != "ground_truth" or len(few) == 1 else ["ground_truth"]
    return ["choice"] if 1 < len(np.unique(table["choice"])) <= MOST_CONDITIONS else []


def to_response(found: Population) -> Population | None:
    """Return the activity around the response, or None if trials end with the response or contain no response."""
    table = found.table
    if not {"rt", "rt_from"} <= set(table):
        return None
    onset = np.zeros(len(found.activity))
    for period in np.unique(table["rt_from"].astype(str)):
        rows = table["rt_from"].astype(str) == period
        onset[rows] = table[f"onset_{period}"][rows] if f"onset_{period}" in table else 0.0
    at = (onset + table["rt"]) / found.activity.dt
    if np.isfinite(at).sum() < FEWEST:
        return None
    stop = 1 + int(np.nanmax(np.where(np.isfinite(at), found.activity.lengths - 1 - at, 0)))
    start = -min(int(np.nanquantile(at, 1 - REACHED)), found.stop - found.start)
    stop = min(stop, 1 - start // 4)
    return replace(found, event=RESPONSE, at=at, start=start, stop=stop) if stop - start > 1 else None
