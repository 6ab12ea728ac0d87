"""Measures that a claim can name without a function of its own; each takes a `ngym_cli.papers.paper_runs.PaperRun`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ngym_cli.papers.paper_runs import PaperRun


def performance(run: PaperRun) -> float:
    """Return the performance in the part's first evaluation."""
    return float(run.summary()["performance"])


def reward_per_trial(run: PaperRun) -> float:
    """Return the summed reward of a trial, on average."""
    return float(run.summary()["reward_per_trial"])


def share_of_ceiling(run: PaperRun) -> float:
    """Return the performance over that of the ideal observer.

    Raises:
        ValueError: if the ceiling is not known.
    """
    found = run.summary()
    if not found.get("ceiling"):
        raise ValueError(f"the ceiling is not known: {found.get('no_ceiling')}")
    return float(found["performance"]) / float(found["ceiling"])


def performance_by_task(run: PaperRun) -> dict[str, float]:
    """Return the performance in each of several tasks.

    Raises:
        ValueError: if there is only one.
    """
    found = {str(r["value"]): float(r["performance"]) for r in run.summary()["conditions"] if r["condition"] == "task"}
    if not found:
        raise ValueError("the run is of one task")
    return found


def lowest_task(run: PaperRun) -> float:
    """Return the performance in the task where it is lowest."""
    return min(performance_by_task(run).values())


def abort_rate(run: PaperRun) -> float:
    """Return the share of trials in which fixation was broken."""
    return float(run.summary()["abort_rate"])


def training_trials(run: PaperRun) -> float:
    """Return the number of trials of training."""
    return float(run.manifest["trials"])


def trials_to_criterion(run: PaperRun) -> float:
    """Return after how many trials of training the criterion of ``until`` held.

    Raises:
        ValueError: if it never did, or the configuration has none.
    """
    until = run.manifest.get("until") or {}
    if until.get("trials") is None:
        raise ValueError("the criterion was not held before the end of training")
    return float(until["trials"])


#: All of them, by name.
MEASURES: dict[str, Callable[[PaperRun], float | dict[str, float]]] = {
    each.__name__: each
    for each in (
        performance, reward_per_trial, share_of_ceiling, performance_by_task, lowest_task, abort_rate,
        training_trials, trials_to_criterion,
    )
}  # fmt: skip
