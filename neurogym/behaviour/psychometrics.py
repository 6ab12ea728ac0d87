"""Psychometric and chronometric numbers of a table: against the evidence, and by a condition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neurogym.analysis.intervals import mean_curve, proportion_curve
from neurogym.analysis.psychometric import fit_psychometric
from neurogym.analysis.results import Curve, Estimate, Result, normal_quantile
from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour import entries
from neurogym.behaviour.table import Behaviour

LEVELS, BINS = 13, 9  #: most levels of a stimulus that are not binned, and bins of others
TOO_FEW = 50  #: trials below which no function is fitted
MAX_LAPSE = 0.45
MOST_CONDITIONS = 12


@dataclass(frozen=True)
class PsychometricNumbers(Result):
    """Psychometric function of the second choice against the evidence, and what depends on the evidence.

    Attributes:
        trials: number of answered trials.
        pse: evidence at which both choices are equally frequent but for lapses.
        threshold: distance from there to 75 % of the range between the lapses.
        slope: of the logistic function, logit per unit of evidence.
        lapse_low: lapses at the low end.
        lapse_high: lapses at the high end.
        psychometric: share of second choices against the evidence.
        accuracy_by_level: share of correct choices against the size of the evidence; None if unknown.
        chronometric: mean reaction time (s) against the size of the evidence; None without reaction times.
    """

    trials: int
    pse: Estimate | None = None
    threshold: Estimate | None = None
    slope: Estimate | None = None
    lapse_low: Estimate | None = None
    lapse_high: Estimate | None = None
    psychometric: Curve | None = None
    accuracy_by_level: Curve | None = None
    chronometric: Curve | None = None


@dataclass(frozen=True)
class ConditionNumbers(Result):
    """Psychometric numbers of the trials of a condition.

    Attributes:
        condition: name of the column.
        value: value of the column in these trials.
        numbers: psychometric numbers.
        shift: PSE minus that of the first condition, with an interval from both; None for the first.
    """

    condition: str
    value: str
    numbers: PsychometricNumbers
    shift: Estimate | None = None


def psychometric_numbers(
    table: Behaviour, evidence: FloatArray, among: np.ndarray | None = None, intervals: bool = True
) -> PsychometricNumbers:
    """Return the psychometric numbers of a table with two choices.

    Args:
        table: the table.
        evidence: of each trial, shape (trials,).
        among: mask of the trials that count; None for all.
        intervals: whether the parameters get intervals, which takes most of the time.
    """
    choice = table.join("choice")
    rows = (choice >= 0) & np.isfinite(evidence) & (True if among is None else among)
    if rows.sum() < TOO_FEW or len(np.unique(choice[rows])) < 2:
        return PsychometricNumbers(int(rows.sum()))
    groups = table.interval_groups(rows)
    x, index = levels_of(evidence[rows])
    chosen = choice[rows]
    curve = proportion_curve(x, index, chosen, groups)
    results: dict[str, Curve | Estimate] = {**_by_size(table, evidence, rows, groups), "psychometric": curve}
    if len(x) >= 3:
        fit = fit_psychometric(
            x[index], chosen, model="logistic", n_boot=0, max_lapse=MAX_LAPSE, groups=groups, profile=intervals
        )
        results |= {"pse": fit.threshold, "slope": fit.slope, "lapse_low": fit.guess, "lapse_high": fit.lapse}
        results["threshold"] = _three_quarters(fit.slope)
    return PsychometricNumbers(int(rows.sum()), **results)  # type: ignore[arg-type]


def _three_quarters(slope: Estimate) -> Estimate:
    """Return the distance from the middle of a logistic function to 75 % of its range."""
    with np.errstate(divide="ignore"):
        value, low, high = (np.log(3) / np.array([slope.value, slope.high, slope.low])).tolist()
    return Estimate(value, low, high, (high - low) / (2 * normal_quantile(0.95)))


def _by_size(table: Behaviour, evidence: FloatArray, rows: np.ndarray, groups: IntArray | None) -> dict[str, Curve]:
    results: dict[str, Curve] = {}
    size, index = levels_of(np.abs(evidence[rows]))
    correct, rt = table.join("correct")[rows], table.join("rt")[rows]
    for name, values, curve in (("accuracy_by_level", correct, proportion_curve), ("chronometric", rt, mean_curve)):
        measured = np.isfinite(values)
        if measured.any():
            group = None if groups is None else groups[measured]
            results[name] = curve(size, index[measured], values[measured], group)
    return results


def by_condition(table: Behaviour, evidence: FloatArray, condition: str) -> tuple[ConditionNumbers, ...]:
    """Return psychometric numbers for each value of a further column, and the shifts between them.

    Args:
        table: the table.
        evidence: of each trial.
        condition: name of the column.

    Raises:
        ValueError: if the column has more than twelve values.
    """
    names, index = entries.levels(entries.of_values(table.condition(condition)))
    if len(names) > MOST_CONDITIONS:
        raise ValueError(
            f"column {condition!r} has {len(names)} values, expected at most {MOST_CONDITIONS} to split by"
        )
    results: list[ConditionNumbers] = []
    for k, name in enumerate(names):
        numbers = psychometric_numbers(table, evidence, index == k)
        first = results[0].numbers.pse if results else None
        results.append(ConditionNumbers(condition, name, numbers, _difference(numbers.pse, first)))
    return tuple(results)


def _difference(a: Estimate | None, b: Estimate | None) -> Estimate | None:
    if a is None or b is None:
        return None
    return Estimate.normal(a.value - b.value, float(np.hypot(a.se, b.se)))


def levels_of(values: FloatArray, most: int = LEVELS, bins: int = BINS) -> tuple[FloatArray, IntArray]:
    """Return the levels of a number and the level of each trial; more levels go to bins of equal numbers of trials.

    Args:
        values: shape (trials,).
        most: number of levels that are not binned.
        bins: number of bins.
    """
    levels, index = np.unique(values, return_inverse=True)
    if len(levels) <= most:
        return levels, index
    edges = np.unique(np.quantile(values, np.linspace(0, 1, bins + 1)))
    index = np.clip(np.searchsorted(edges, values, "right") - 1, 0, len(edges) - 2)
    index = np.unique(index, return_inverse=True)[1]
    return np.bincount(index, values) / np.bincount(index), index
