"""Measures of the library: numbers of a paper's run, by the name after ``measure =``."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import TYPE_CHECKING

from neurogym.analysis.outcomes import by_task
from neurogym.analysis.results import UndeterminedError
from ngym_cli.runs.summary import fixation_breaks

if TYPE_CHECKING:
    from ngym_cli.papers.paper_runs import PaperRun


def _required_number(value: float | None, noun: str) -> float:
    """Return a number of a record.

    Raises:
        UndeterminedError: if the record does not have the number.
    """
    if value is None:
        raise UndeterminedError(f"{noun} is not known")
    return float(value)


def performance(run: PaperRun) -> float:
    """Return the performance in the part's first evaluation."""
    return float(run.summary()["performance"])


def reward_per_trial(run: PaperRun) -> float:
    """Return the summed reward of a trial, on average."""
    return _required_number(run.summary()["reward_per_trial"], "the reward per trial")


def share_of_ceiling(run: PaperRun) -> float:
    """Return the performance over that of the ideal observer.

    Raises:
        UndeterminedError: if the ceiling is not known.
    """
    summary = run.summary()
    ceiling = summary.get("ceiling")
    if not ceiling:
        raise UndeterminedError(f"the ceiling is not known: {summary.get('no_ceiling')}")
    return float(summary["performance"]) / ceiling


def performance_by_task(run: PaperRun) -> dict[str, float]:
    """Return the performance in each of several tasks."""
    return by_task(run.trials())


def mean_performance(run: PaperRun) -> float:
    """Return the mean over tasks of the performance in each."""
    return fmean(performance_by_task(run).values())


def lowest_task(run: PaperRun) -> float:
    """Return the performance in the task with the lowest performance."""
    return min(performance_by_task(run).values())


def fixation_break_rate(run: PaperRun) -> float:
    """Return the share of trials in which fixation was broken."""
    return fixation_breaks(run.trials()).rate


def training_trials(run: PaperRun) -> float:
    """Return the number of trials of training."""
    return _required_number(run.manifest["trials"], "the number of trials")


def trials_to_criterion(run: PaperRun) -> float:
    """Return the number of training trials until the criterion of ``until`` was met.

    Raises:
        UndeterminedError: if it never did, or the configuration has none.
    """
    until = run.manifest.get("until") or {}
    if until.get("trials") is None:
        raise UndeterminedError("the criterion was not held before the end of training")
    return float(until["trials"])


#: All measures of the library, by name.
MEASURES: dict[str, Callable[[PaperRun], float | dict[str, float]]] = {
    each.__name__: each
    for each in (
        performance,
        reward_per_trial,
        share_of_ceiling,
        performance_by_task,
        mean_performance,
        lowest_task,
        fixation_break_rate,
        training_trials,
        trials_to_criterion,
    )
}
