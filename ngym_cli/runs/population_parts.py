"""Trials of recordings cut into periods, and what tells the trials apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neurogym.dynamics import PopulationTrials
from ngym_cli.errors import check_known
from ngym_cli.runs import summary

#: Key of the whole trials among the parts of trials.
WHOLE_TRIALS = ""


class Binning(NamedTuple):
    """Steps in which trials are read, and neurons that are read.

    Attributes:
        dt: ms; steps of a file are averaged. Spikes are counted, without smoothing.
        area: area of the neurons; empty for all.
        unit_filter: conditions on the columns of the units, as in ``quality = good and snr > 2``; empty for all.
    """

    dt: float
    area: str = ""
    unit_filter: str = ""


def steps_in(dt: float, recorded: np.ndarray | None) -> int:
    """Return the number of recorded steps in a step of a task."""
    if recorded is None or np.size(recorded) != 1:
        raise ValueError(f"its time step is not known; add dt (ms) to the file, of which {dt:g} ms is a multiple")
    number = dt / float(np.ravel(recorded)[0])
    if not np.isfinite(number) or number < 1 - 1e-6 or abs(number - round(number)) > 1e-6:
        raise ValueError(f"the task's step of {dt:g} ms is not a multiple of the recording's {np.ravel(recorded)[0]:g}")
    return round(number)


def averaged(rows: np.ndarray, steps: int) -> np.ndarray:
    """Return the mean of every so many steps; an incomplete rest is left out."""
    return rows[: len(rows) // steps * steps].reshape(-1, steps, *rows.shape[1:]).mean(1) if steps > 1 else rows


def condition_names(columns: Mapping[str, np.ndarray], by: Sequence[str], n: int) -> np.ndarray:
    """Return the condition of each trial in words, shape (trials,).

    Args:
        columns: columns of the trials.
        by: names of the columns that tell conditions apart; none for a single condition.
        n: number of trials.
    """
    labels = [[f"{name} {as_word(value)}" for value in columns[name]] for name in by]
    return np.array([", ".join(words) for words in zip(*labels, strict=True)] if labels else ["all trials"] * n)


def as_word(value: str | bytes | float) -> str:
    """Return a value in the words that runs use, whatever type the file has."""
    value = value.decode() if isinstance(value, bytes) else value
    try:
        return summary.label(float(value))
    except (TypeError, ValueError):
        return str(value)


def require(path: Path, columns: Mapping[str, object], by: Sequence[str]) -> None:
    """Refuse names of columns that the trials of a file do not have."""
    for name in by:
        check_known(f"column of the trials in {path.name}", name, columns)


def long_trials(
    path: Path,
    period: str,
    rows: list[np.ndarray],
    names: np.ndarray,
    trial: np.ndarray,
    inputs: list[np.ndarray] | None = None,
) -> dict[str, PopulationTrials]:
    """Return a population of the trials that have two steps or more, by the name of the part."""
    long = np.array([len(row) > 1 for row in rows], bool)
    if period != WHOLE_TRIALS and not long.any():
        return {}
    trials = [row for row, keep in zip(rows, long, strict=True) if keep]
    long_inputs = None if inputs is None else [row for row, keep in zip(inputs, long, strict=True) if keep]
    return {period: PopulationTrials(path.stem, trials, names[long], long_inputs, trial[long])}
