"""Summary of a trial table in a few numbers, used by TensorBoard, the live display, evaluations and figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from neurogym.analysis.intervals import clusters, mean_interval
from neurogym.analysis.results import Estimate
from neurogym.analysis.trial_tables import groups
from ngym_cli.runs.records import ConditionRecord, Summary
from ngym_cli.runs.trial_table import DECISION_ONSET, FIRST_ACTION, FIXATION

#: Share of trials with a fixation break from which the share stands beside a performance.
NOTABLE_BREAKS = 0.05

#: Name of the column that numbers the rows while they are divided.
ROW = "__row__"


class FixationBreaks(NamedTuple):
    """Share of trials in which fixation was broken, and of trials with an action before the decision.

    Attributes:
        rate: share of trials in which an action other than fixation was taken in a period in which the task asks for
            fixation, whether or not that ended the trial; nan without trials.
        periods: these periods in words; empty where the task does not say.
        early: share of trials in which an action other than fixation was taken before the period from which answers
            count, in any period; nan where answers count from the beginning, no period asks for fixation, or the first
            action was not recorded.
        before: name of the period from which answers count; empty where trials differ.
    """

    rate: float
    periods: str
    early: float
    before: str

    def sentence(self) -> str:
        """Return the share of fixation breaks with the periods counted, then the share of early actions if known."""
        breaks = f"{self.rate:.2%} of trials" + (f" (in {self.periods})" if self.periods else "")
        return f"{breaks}; {self.early_in_words()}" if math.isfinite(self.early) else breaks

    def early_in_words(self) -> str:
        """Return the share of trials with an action before the decision."""
        return f"{self.early:.2%} act before {self.before or 'the decision'}"


def fixation_breaks(table: Mapping[str, np.ndarray]) -> FixationBreaks:
    """Return the share of trials with a fixation break, and with an action before the decision.

    Args:
        table: a trial table; those of earlier versions do not name periods and have no first actions.
    """
    if not len(table.get("trial", ())):
        return FixationBreaks(float("nan"), "", float("nan"), "")
    rate = float(np.mean((table["aborts"] > 0) | (table["outcome"] == "abort")))
    periods, before = (_only_word(table, name) for name in (FIXATION, "rt_from"))
    early = float("nan")
    if FIRST_ACTION in table and DECISION_ONSET in table:
        onset, first = table[DECISION_ONSET].astype(float), table[FIRST_ACTION].astype(float)
        waits = np.nan_to_num(onset) > 0
        if FIXATION in table:  # elsewhere no rule asks to wait, and every action counts
            waits &= table[FIXATION].astype(str) != ""
        if waits.any():
            early = float(np.mean(first[waits] < onset[waits]))
    return FixationBreaks(rate, periods, early, before)


def _only_word(table: Mapping[str, np.ndarray], name: str) -> str:
    """Return the word that all trials have in a column; empty if they differ or have none."""
    words = {str(word) for word in np.unique(table[name].astype(str)) if word != "None"} if name in table else set()
    return words.pop() if len(words) == 1 else ""


def breaks_of(result: Mapping[str, Any]) -> FixationBreaks | None:
    """Return the fixation breaks in a summary, also of an earlier version; None if it has none."""
    rate = result.get("fixation_break_rate", result.get("abort_rate"))
    if rate is None:
        return None
    early = result.get("early_action_rate")
    words = (str(result.get(name) or "") for name in ("fixation_periods", "decision_period"))
    periods, before = words
    return FixationBreaks(rate, periods, float("nan") if early is None else early, before)


def summarise(table: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return the rates and means of a trial table.

    Returns:
        ``trials``; ``performance``; ``reward_per_trial``; ``fixation_break_rate`` and ``early_action_rate`` (see
        `FixationBreaks`); ``miss_rate``; ``reaction_time`` (ms, trials with a response); ``trial_length`` (ms). Empty
        of trials, all but ``trials`` are nan.
    """
    n, breaks = len(table["trial"]) if "trial" in table else 0, fixation_breaks(table)
    broken = {"fixation_break_rate": breaks.rate, "early_action_rate": breaks.early}
    if n == 0:
        names = ("performance", "reward_per_trial", "miss_rate", "reaction_time", "trial_length")
        return {"trials": 0, **broken, **dict.fromkeys(names, float("nan"))}
    rt = table["rt"][np.isfinite(table["rt"])]
    return {
        "trials": n,
        "performance": float(np.mean(table["performance"])),
        "reward_per_trial": float(np.mean(table["reward"])),
        **broken,
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


def breaks_beside(row: Mapping[str, Any]) -> str:
    """Return the share of trials with a fixation break, to stand beside a performance; empty up to `NOTABLE_BREAKS`.

    Such trials may count in the performance, so that a high performance alone does not show that fixation is kept.
    """
    breaks = breaks_of(row)
    notable = breaks is not None and breaks.rate > NOTABLE_BREAKS
    return f"; fixation breaks in {breaks.rate:.0%} of trials" if breaks is not None and notable else ""


def perturbations_in_words(result: Mapping[str, Any]) -> str:
    """Return the perturbations of an evaluation, as in ``lesion, 32 units``; empty for an intact network."""
    words = []
    for each in result.get("perturbations") or ():
        units = len(each["units"] or ())
        amount = f" {each['sd']:g}" if each["kind"] == "noise" else ""
        amount += f" at {each['value']:g}" if each.get("value") is not None else ""
        when = f" during {each['period']}" if each.get("period") else ""
        rank = f" of highest {each['by']}" if each.get("by") else ""
        words.append(f"{each['kind']}{amount}, {units} unit{'s' if units != 1 else ''}{rank}{when}")
    return " and ".join(words)


def changed_in_words(result: Mapping[str, Any]) -> str:
    """Return what an evaluation changed: settings of the task, then units; empty if all is as in training."""
    words = []
    for key, value in (result.get("changes") or {}).items():
        pairs = value.items() if isinstance(value, Mapping) else [("", value)]
        words.append(f"{key} " + ", ".join(f"{name}={each}" if name else str(each) for name, each in pairs))
    return "; ".join(filter(None, [*words, perturbations_in_words(result)]))


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


#: Curves of the entries of `summarise`; performance and reward come first in the order of the alphabet.
TAGS = {
    **{name: f"behaviour/{name}" for name in ("performance", "reward_per_trial", "trials")},
    "trial_length": "behaviour/trial_length_ms",
    **{name: f"responses/{name}" for name in ("fixation_break_rate", "early_action_rate", "miss_rate")},
    "reaction_time": "responses/reaction_time_ms",
}


def action_names(labels: Mapping[str, Any]) -> dict[int, str]:
    """Return the name of each discrete action.

    >>> action_names({"fixation": 0, "choice": [1, 2]})
    {0: 'fixation', 1: 'choice_1', 2: 'choice_2'}
    """
    names = {}
    for name, indices in labels.items():
        if np.ndim(indices):
            names.update({int(index): f"{name}_{k}" for k, index in enumerate(indices, start=1)})
        else:
            names[int(indices)] = name
    return names


def scalars(
    table: Mapping[str, np.ndarray], conditions: Sequence[str], actions: Mapping[int, str] | None = None
) -> dict[str, float]:
    """Return the TensorBoard scalars of a stretch of trials, tag to number; nan is left out.

    Args:
        table: the trials of the stretch.
        conditions: names from ``conditions.columns_of_performance``.
        actions: names from ``action_names``.
    """
    values = {TAGS[name]: value for name, value in summarise(table).items()}
    if len(table["trial"]) and not np.any(np.nan_to_num(table["rt"])):
        del values[TAGS["reaction_time"]]  # every answer is given in the first step that allows one
    for choice, share in choice_probabilities(table).items():
        name = (actions or {}).get(choice, str(choice))
        values[f"responses/choice_{name.removeprefix('choice_')}"] = share
    for row in by_condition(table, conditions) if len(table["trial"]) else []:
        values[f"performance_by_{row['condition']}/{label(row['value'])}"] = row["performance"]
    return {tag: value for tag, value in values.items() if np.isfinite(value)}


#: Most stretches of training trials of a learning curve, and fewest trials of each.
CURVE_POINTS, FEWEST_TRIALS = 50, 50


def learning_curve(table: Mapping[str, np.ndarray], evaluations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row per stretch of training trials, then a row per evaluation along training.

    Args:
        table: trials of training.
        evaluations: entries of the record of a run.
    """
    rows = []
    n = len(table.get("trial", ()))
    for part in np.array_split(np.arange(n), max(1, min(CURVE_POINTS, n // FEWEST_TRIALS))) if n else ():
        stretch = {name: column[part] for name, column in table.items()}
        result, (low, high) = summarise(stretch), interval(stretch)
        row = {"step": int(stretch["step"].max()), "source": "training", "trials": result["trials"]}
        row |= {"performance": result["performance"], "performance_low": low, "performance_high": high}
        rows.append(row | {name: result[name] for name in ("reward_per_trial", "fixation_break_rate")})
    for each in evaluations:
        low, high = each["performance_ci"]
        row = {"step": each["step"], "source": "evaluation", "trials": each["trials"]}
        rows.append(row | {"performance": each["performance"], "performance_low": low, "performance_high": high})
    return rows
