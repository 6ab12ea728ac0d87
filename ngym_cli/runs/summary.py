"""Summary of a trial table in a few numbers, used by TensorBoard, the live display, evaluations and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from neurogym.analysis.intervals import clusters, mean_interval
from neurogym.analysis.results import Estimate
from neurogym.analysis.trial_tables import groups
from ngym_cli.runs.records import ConditionRecord, Summary

#: Share of trials with a fixation break from which the share stands beside a performance.
NOTABLE_ABORTS = 0.05

#: Name of the column that numbers the rows while they are divided.
ROW = "__row__"


def summarise(table: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return the rates and means of a trial table.

    Returns:
        ``trials``; ``performance``; ``reward_per_trial``; ``abort_rate`` (trials with a fixation break, whether or not
        it ended the trial); ``miss_rate``; ``reaction_time`` (ms, trials with a response); ``trial_length`` (ms).
        Empty of trials, all but ``trials`` are nan.
    """
    n = len(table["trial"]) if "trial" in table else 0
    if n == 0:
        names = ("performance", "reward_per_trial", "abort_rate", "miss_rate", "reaction_time", "trial_length")
        return {"trials": 0, **dict.fromkeys(names, float("nan"))}
    rt = table["rt"][np.isfinite(table["rt"])]
    return {
        "trials": n,
        "performance": float(np.mean(table["performance"])),
        "reward_per_trial": float(np.mean(table["reward"])),
        "abort_rate": float(np.mean((table["aborts"] > 0) | (table["outcome"] == "abort"))),
        "miss_rate": float(np.mean(table["outcome"] == "miss")),
        "reaction_time": float(np.mean(rt)) if len(rt) else float("nan"),
        "trial_length": float(np.mean(table["length_ms"])),
    }


def choice_probabilities(table: Mapping[str, np.ndarray]) -> dict[int, float]:
    """Return the share of trials that ended with each discrete choice; empty for continuous actions."""
    choices = table.get("choice", np.zeros(0))
    if choices.ndim != 1 or not len(choices):
        return {}
    answered = choices[np.isfinite(choices)]
    if np.any(answered != np.round(answered)):
        return {}
    values, counts = np.unique(answered, return_counts=True)
    return {int(value): float(count / len(choices)) for value, count in zip(values, counts, strict=True)}


def by_condition(table: Mapping[str, np.ndarray], names: Sequence[str]) -> list[ConditionRecord]:
    """Return performance at each value of each condition, with an interval.

    Returns:
        Rows of ``condition``, ``value``, ``trials``, ``performance``, ``performance_ci``.
    """
    rows: list[ConditionRecord] = []
    linked = clusters(table)  # of all trials: a condition may hold in one session only
    numbered = {**table, ROW: np.arange(len(table["performance"]))}
    for name in names:
        for values, subset in groups(numbered, name):
            if values[name] is None or values[name] != values[name]:
                continue  # a condition that other tasks of the session have
            scores = subset["performance"]
            estimate = mean_interval(scores, None if linked is None else linked[subset[ROW]])
            rows.append(
                {
                    "condition": name,
                    "value": values[name],
                    "trials": len(scores),
                    "performance": float(np.mean(scores)),
                    "performance_ci": (estimate.low, estimate.high),
                }
            )
    return rows


def label(value: object) -> str:
    """Return the value of a condition as text."""
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def aborts_in_words(row: Mapping[str, Any]) -> str:
    """Return the share of trials with a fixation break, to stand beside a performance; empty up to `NOTABLE_ABORTS`.

    Such trials may count in the performance, so that a high performance alone does not show that fixation is kept.
    """
    rate = row.get("abort_rate") or 0.0
    return f"; fixation breaks in {rate:.0%} of trials" if rate > NOTABLE_ABORTS else ""


def performance_of(row: Summary | ConditionRecord | Mapping[str, Any]) -> Estimate:
    """Return the performance in a summary, or a row of a summary, with its 95 % interval if the record has one."""
    return Estimate(row["performance"], *(row.get("performance_ci") or ()))


def interval(table: Mapping[str, np.ndarray], column: str = "performance") -> tuple[float, float]:
    """Return the 95 % interval of the mean of a column, based on sessions where trials are linked.

    Args:
        table: the trials.
        column: ``performance`` or ``reward``.
    """
    estimate = mean_interval(table[column], clusters(table), bounded=column == "performance")
    return estimate.low, estimate.high


def scalars(table: Mapping[str, np.ndarray], conditions: Sequence[str]) -> dict[str, float]:
    """Return the TensorBoard scalars of a stretch of trials, tag to number; nan is left out.

    Args:
        table: the trials of the stretch.
        conditions: names from ``conditions.columns_of_performance``.
    """
    values = {f"behaviour/{name}": value for name, value in summarise(table).items()}
    if len(table["trial"]) and not np.any(np.nan_to_num(table["rt"])):
        del values["behaviour/reaction_time"]  # every answer is given in the first step that allows one
    for choice, share in choice_probabilities(table).items():
        values[f"choice/{choice}"] = share
    for row in by_condition(table, conditions) if len(table["trial"]) else []:
        values[f"performance_by_{row['condition']}/{label(row['value'])}"] = row["performance"]
    return {tag: value for tag, value in values.items() if np.isfinite(value)}
