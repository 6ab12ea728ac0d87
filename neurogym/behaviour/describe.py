"""Statistics of a table of behaviour: accuracy, bias, psychometric numbers, history, learning, stages, confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from neurogym.analysis.evidence import psychophysical_kernel
from neurogym.analysis.intervals import mean_interval
from neurogym.analysis.regression import fit_weights
from neurogym.analysis.results import Curve, Estimate
from neurogym.array_types import FloatArray
from neurogym.behaviour import psychometrics, sequences
from neurogym.behaviour.metacognition import ConfidenceNumbers, confidence_numbers
from neurogym.behaviour.models.base import Problem
from neurogym.behaviour.models.logistic import Features, Logistic
from neurogym.behaviour.table import Behaviour

HISTORY = 5  #: previous trials whose weights are estimated for two choices; a single one for more
MANY = 12  #: subjects above which parameters of each get no interval and weights a prior of fixed width
LARGE = 20_000  #: trials above which history weights come from a sample of sessions with this many trials
WIDE = 10.0  #: s.d. of the prior of weights of one of many subjects
KERNEL = 6  #: parts of the stimulus whose pulses get a weight
ENOUGH = 5  #: subjects from which numbers of all are means over subjects
GROUP = "all"  #: name of all subjects together


@dataclass(frozen=True, kw_only=True)
class SubjectDescription(psychometrics.PsychometricNumbers):
    """Statistics of a single subject, or of all subjects together, with psychometric numbers if there is a stimulus.

    Of five or more subjects together, numbers are means over subjects with intervals over subjects, and curves are
    pooled; of fewer, which do not show how subjects vary, all is pooled over trials.

    Attributes:
        subject: name, or "all".
        sessions: number of sessions.
        trials: number of trials, missed ones among them.
        misses: number of trials without a choice.
        accuracy: share of correct choices; None if unknown.
        rewards: mean reward of a choice; None if the table has no rewards.
        choices: share of each choice, by its word.
        reaction_time: mean reaction time (s); None without reaction times.
        bias: intercept of the regression on stimuli alone (logit for the second of two choices).
        history: weights of stimuli and of choices, outcomes and choices x outcomes of previous trials.
        evidence: meaning of the axis of the curves.
        conditions: psychometric numbers by a condition.
        learning: accuracy by session.
        stay: probability of the same choice after wins and losses.
        two_step: transitions and stay probabilities of a two-step task.
        confidence: calibration and metacognitive sensitivity.
        kernel: weight of a pulse (logit) by its time from the beginning of the stimulus (ms).
        history_trials: number of trials that history weights come from, if these are a sample of sessions; else None.
        separable: whether the history regression tells the choices apart without error, so that its weights are bounds.
    """

    subject: str
    sessions: int
    misses: int
    accuracy: Estimate | None
    rewards: Estimate | None
    choices: dict[str, Estimate]
    reaction_time: Estimate | None = None
    bias: Estimate | None = None
    history: dict[str, Estimate] | None = None
    evidence: str = ""
    conditions: tuple[psychometrics.ConditionNumbers, ...] = field(default_factory=tuple)
    learning: Curve | None = None
    stay: sequences.StayNumbers | None = None
    two_step: sequences.TwoStepNumbers | None = None
    confidence: ConfidenceNumbers | None = None
    kernel: Curve | None = None
    history_trials: int | None = None
    separable: bool = False


LAPSES = ("lapse_low", "lapse_high")
#: Numbers of a description whose means over subjects describe a group, and those that are shares.
SUMMARY_COLUMNS = ("accuracy", "rewards", "reaction_time", "bias", "pse", "threshold", "slope", *LAPSES)
SHARES = ("accuracy", *LAPSES)


def describe(table: Behaviour, by: str | None = None) -> list[SubjectDescription]:
    """Return the statistics of each subject and, of several subjects, of all together first.

    Args:
        table: the table.
        by: further column of the table to split psychometric functions by.

    Raises:
        ValueError: if the column has too many values.
    """
    many = len(table.subjects) > MANY
    each = [
        describe_pooled(member, name, None if many else by, fast=many) for name, member in table.by_subject().items()
    ]
    return each if len(each) == 1 else [_group(table, each, by, many), *each]


def describe_pooled(
    table: Behaviour, name: str = GROUP, by: str | None = None, fast: bool = False, history: bool = True
) -> SubjectDescription:
    """Return the statistics of a table as of one subject.

    Args:
        table: the table.
        name: of the subject.
        by: further column to split psychometric functions by.
        fast: leave out intervals of psychometric parameters and the choice of a prior.
        history: whether weights of previous trials are estimated.
    """
    choice = table.join("choice")
    valid = choice >= 0
    groups = table.interval_groups(valid) if valid.any() else None

    def mean(values: FloatArray, bounded: bool) -> Estimate | None:
        present = np.isfinite(values[valid])
        if not present.any():
            return None
        return mean_interval(values[valid][present], None if groups is None else groups[present], bounded=bounded)

    reward = table.join("reward")
    present = reward[np.isfinite(reward) & valid]
    bounded = bool(present.size) and present.min() >= 0 and present.max() <= 1
    rewarded = not table.roles or bool({"reward", "gain"} & set(table.roles))
    shares = {word: mean((choice == k).astype(float), True) for k, word in enumerate(table.choices)}
    description = SubjectDescription(
        subject=name,
        sessions=len(table.sessions),
        trials=len(choice),
        misses=int((~valid).sum()),
        accuracy=mean(table.join("correct"), True),
        rewards=mean(reward, bounded) if rewarded else None,
        choices={word: share for word, share in shares.items() if share is not None},
        reaction_time=mean(table.join("rt"), False),
        learning=sequences.learning_curve(table),
        stay=None if table.stimuli else sequences.stay_numbers(table),
        two_step=sequences.two_step_numbers(table),
        confidence=confidence_numbers(table),
    )
    if valid.sum() < psychometrics.TOO_FEW or len(np.unique(choice[valid])) < 2:
        return description
    large = len(choice) > LARGE
    weights: dict[str, Any] = {}
    if history:
        lags = HISTORY if len(table.choices) == 2 else 1
        part = _sampled(table) if large else table
        weights = {"history": _reached(part, _quick_weights(part, lags))} if fast or large else _history(part, lags)
        weights["history_trials"] = part.n_trials if large else None
    return replace(description, **weights, **_fitted(table, by, fast, large))


def _sampled(table: Behaviour) -> Behaviour:
    """Return sessions at equal distances with `LARGE` trials or fewer, or the beginning of a session that is longer."""
    longest = max(map(len, table.sessions))
    n = max(1, LARGE // longest)
    picked = [table.sessions[k] for k in np.unique(np.linspace(0, len(table.sessions) - 1, n).astype(int))]
    return table.only([each.part(each.name, slice(0, LARGE)) for each in picked])


def _fitted(table: Behaviour, by: str | None, fast: bool, large: bool) -> dict[str, Any]:
    """Return the fields that come from regressions."""
    if len(table.choices) != 2:
        return {}
    plain = _quick_weights(table, 0) if fast or large else dict(Logistic(0).fit([Problem(table)])[0].parameters)
    out: dict[str, Any] = {"kernel": _kernel(table), "bias": plain["bias"]}
    if not table.stimuli:
        return out
    evidence, out["evidence"] = evidence_of(table, plain)
    numbers = psychometrics.psychometric_numbers(table, evidence, intervals=not fast)
    out |= {name: value for name, value in vars(numbers).items() if name != "trials"}
    if by is not None:
        out["conditions"] = psychometrics.by_condition(table, evidence, by)
    return out


def _kernel(table: Behaviour) -> Curve | None:
    """Return the weight of a pulse in each part of the stimulus, or None without times of pulses."""
    pulses, choice = table.join("pulses"), table.join("choice")
    valid = choice >= 0
    end = float(np.nanquantile(table.join("duration")[valid], 0.9)) if np.isfinite(pulses).any() else 0.0
    if end <= 0:
        return None
    part = np.where(pulses < end, np.nan_to_num(pulses) / end * KERNEL, -1).astype(int)
    counts = (part[..., None] == np.arange(KERNEL)).sum(2)[valid]
    width, groups = 1000 * end / KERNEL, table.interval_groups(valid)
    try:
        return psychophysical_kernel(
            counts[:, 1] - counts[:, 0], choice[valid], dt=width, start=width / 2, groups=groups
        ).weights
    except ValueError:  # as with a part in which no trial has pulses
        return None


def evidence_of(table: Behaviour, weights: Mapping[str, Estimate]) -> tuple[FloatArray, str]:
    """Return the evidence of each trial for the second choice, and its meaning.

    Args:
        table: the table; several stimuli are added with their weights.
        weights: of the stimuli.
    """
    stimuli = np.where(table.join("choice")[:, None] < 0, np.nan_to_num(table.join("stimuli")), table.join("stimuli"))
    if len(table.stimuli) == 1:
        return stimuli[:, 0], table.stimuli[0]
    values = np.array([weights[key].value for key in table.stimuli])
    words = " ".join(f"{w:+.2f} {key}" for w, key in zip(values, table.stimuli, strict=True))
    return stimuli @ values, f"{words} (logit)"


def _history(table: Behaviour, lags: int) -> dict[str, Any]:
    """Return the weights of previous trials; those of lags that no session reaches are left out."""
    fit = Logistic(lags, past_stimuli=False).fit([Problem(table)])[0]
    return {"history": _reached(table, fit.parameters), "separable": fit.details["separable"]}


def _reached(table: Behaviour, weights: Mapping[str, Estimate]) -> dict[str, Estimate]:
    longest = max(len(each) for each in table.sessions)
    return {name: value for name, value in weights.items() if _lag(name) < longest}


def _quick_weights(table: Behaviour, history: int) -> dict[str, Estimate]:
    """Return the weights of a logistic regression with a wide prior, for one of many subjects."""
    features, n = Features.of(table, history, past_stimuli=False, plain_outcomes=True), len(table.choices)
    choice = table.join("choice")
    rows = np.concatenate([features.matrix(each) for each in table.sessions])[choice >= 0]
    weights, information = fit_weights(rows, choice[choice >= 0], n, np.full(rows.shape[1], WIDE))
    errors = np.sqrt(np.diag(np.linalg.inv(information))).reshape(n - 1, -1)
    return dict(zip(features.weight_names, map(Estimate.normal, weights[1:].ravel(), errors.ravel()), strict=True))


def _lag(name: str) -> int:
    number = name.partition(", ")[2].partition(" back")[0]
    return int(number) if number.isdecimal() else 0


def _group(table: Behaviour, each: Sequence[SubjectDescription], by: str | None, many: bool) -> SubjectDescription:
    """Return the statistics of all subjects: means over subjects, and curves of all trials."""
    pooled = describe_pooled(table, GROUP, by, fast=many, history=len(each) < ENOUGH)
    if len(each) < ENOUGH:
        return pooled
    changes: dict[str, Any] = {
        name: _mean([getattr(member, name) for member in each], bounded=name in SHARES) for name in SUMMARY_COLUMNS
    }
    words = {word: _mean([member.choices.get(word) for member in each], bounded=True) for word in table.choices}
    changes["choices"] = {word: share for word, share in words.items() if share is not None}
    names = [name for member in each for name in member.history or {}]
    history = {name: _mean([(member.history or {}).get(name) for member in each]) for name in dict.fromkeys(names)}
    changes["history"] = {name: weight for name, weight in history.items() if weight is not None} or None
    sampled = [member.history_trials for member in each if member.history_trials is not None]
    changes["history_trials"] = sum(sampled) if sampled else None
    return replace(pooled, **changes)


def _mean(values: Sequence[Estimate | None], bounded: bool = False) -> Estimate | None:
    """Return the mean over subjects that have a number, with the interval over these."""
    present = [value.value for value in values if value is not None and np.isfinite(value.value)]
    if present and np.ptp(present) == 0:  # subjects that do not differ say nothing about others
        return Estimate(present[0], np.nan, np.nan, np.nan)
    mean = Estimate.mean(present) if present else None
    if mean is None or not bounded:
        return mean
    return replace(mean, low=max(mean.low, 0.0), high=min(mean.high, 1.0))
