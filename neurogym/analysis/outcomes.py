"""Accuracy, aborted and missed trials, and reaction times by condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neurogym.analysis.intervals import clusters, mean_interval
from neurogym.analysis.results import Condition, Estimate, Result, UndeterminedError
from neurogym.analysis.trial_tables import (
    TrialData,
    as_table,
    groups,
    is_correct,
    n_trials,
    numbers,
    require,
    responded,
)


def d_prime(hits: float, signals: float, alarms: float, noises: float) -> float:
    """Return d', with half a trial added to each count to keep the result finite (Hautus 1995, 10.3758/BF03203619).

    >>> round(d_prime(84, 100, 16, 100), 1)
    2.0
    """
    from scipy.special import ndtri

    return float(ndtri((hits + 0.5) / (signals + 1)) - ndtri((alarms + 0.5) / (noises + 1)))


@dataclass(frozen=True)
class Rates(Result):
    """Outcomes of the trials of a condition.

    Attributes:
        condition: value of each grouping column.
        n: number of trials.
        accuracy: correct among the answered trials.
        correct: correct among all trials.
        abort: aborted among all trials.
        miss: trials without an answer, among all trials.
    """

    condition: Condition
    n: int
    accuracy: Estimate
    correct: Estimate
    abort: Estimate
    miss: Estimate


@dataclass(frozen=True)
class ReactionTimes(Result):
    """Reaction times in a condition, in ms.

    Attributes:
        condition: value of each grouping column.
        n: trials that have a reaction time.
        mean: arithmetic mean with its t interval.
        sd: standard deviation.
        quantiles: at 10, 30, 50, 70 and 90 %.
    """

    condition: Condition
    n: int
    mean: Estimate
    sd: float
    quantiles: tuple[float, ...]


def rates(data: TrialData, by: Sequence[str] | str = (), *, level: float = 0.95) -> tuple[Rates, ...]:
    """Return how trials ended, for every combination of conditions, with intervals (see `intervals.mean_interval`).

    Args:
        data: trial table with ``outcome`` (correct, error, abort, miss).
        by: columns whose values make the conditions; none for all trials together.
        level: coverage of the intervals.
    """
    rows = []
    for condition, trials in groups(require(data, "outcome"), by):
        outcome, linked, correct = trials["outcome"].astype(str), clusters(trials), is_correct(trials)
        rows.append(
            Rates(
                condition,
                n_trials(trials),
                accuracy=mean_interval(correct, linked, level, among=responded(trials)),
                correct=mean_interval(correct, linked, level),
                abort=mean_interval(outcome == "abort", linked, level),
                miss=mean_interval(outcome == "miss", linked, level),
            )
        )
    return tuple(rows)


def reaction_times(data: TrialData, by: Sequence[str] | str = (), *, level: float = 0.95) -> tuple[ReactionTimes, ...]:
    """Return the reaction times of answered trials, for every combination of conditions.

    Args:
        data: trial table with ``outcome`` and ``rt`` (ms, ``nan`` without response).
        by: columns whose values make the conditions; none for all trials together.
        level: coverage of the interval of the mean.
    """
    results = []
    for condition, trials in groups(require(data, "outcome", "rt"), by):
        rt, linked = numbers(trials["rt"]), clusters(trials)
        rows = responded(trials) & np.isfinite(rt)
        rt = rt[rows]
        if rt.size:
            mean = Estimate.mean(rt, level) if linked is None else mean_interval(rt, linked[rows], level, bounded=False)
            quantiles = tuple(np.quantile(rt, [0.1, 0.3, 0.5, 0.7, 0.9]).tolist())
            sd = float(rt.std(ddof=1)) if rt.size > 1 else float("nan")
            results.append(ReactionTimes(condition, rt.size, mean, sd, quantiles))
    return tuple(results)


def by_task(table: TrialData) -> dict[str, float]:
    """Return the performance in each of several tasks.

    Args:
        table: trials with columns ``task`` and ``performance``.

    Raises:
        UndeterminedError: if the trials are of one task.
    """
    trials = as_table(table)
    if "task" not in trials:
        raise UndeterminedError("the trials are of one task")
    tasks, performance = np.asarray(trials["task"]).astype(str), np.asarray(trials["performance"], float)
    return {str(task): float(performance[tasks == task].mean()) for task in np.unique(tasks)}
