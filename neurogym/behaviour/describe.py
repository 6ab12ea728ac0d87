"""Statistics of a table of behaviour: accuracy, bias, lapses, psychometric and chronometric curves, history weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neurogym.analysis.intervals import mean_curve, mean_interval, proportion_curve, rows_of
from neurogym.analysis.psychometric import fit_psychometric
from neurogym.analysis.results import Curve, Estimate, Result
from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models.base import Problem
from neurogym.behaviour.models.logistic import Logistic
from neurogym.behaviour.table import Behaviour

#: Previous trials whose weights are shown, most levels of a stimulus that stay apart, and bins of others.
HISTORY, LEVELS, BINS = 5, 13, 9
TOO_FEW = 50  #: trials below which no regression is fitted


@dataclass(frozen=True)
class SubjectDescription(Result):
    """Statistics of a single subject, or of all subjects together.

    Attributes:
        subject: name, or "all".
        sessions: number of sessions.
        trials: number of trials.
        misses: number of trials without a choice.
        accuracy: share of correct choices; None if unknown.
        rewards: mean reward of a choice; None if unknown.
        choices: share of each choice, by its word.
        bias: intercept of the regression on stimuli alone (logit for the second of two choices).
        lapse_low: lapses at the low end of the psychometric function; None without a stimulus.
        lapse_high: lapses at the high end.
        psychometric: share of second choices against the evidence.
        chronometric: mean reaction time (s) against the size of the evidence.
        history: weights of stimuli and of choices, outcomes and choices x outcomes of previous trials.
        evidence: meaning of the axis of the curves.
        separable: whether the history regression tells the choices apart without error, so that its weights are bounds.
    """

    subject: str
    sessions: int
    trials: int
    misses: int
    accuracy: Estimate | None
    rewards: Estimate | None
    choices: dict[str, Estimate]
    bias: Estimate | None = None
    lapse_low: Estimate | None = None
    lapse_high: Estimate | None = None
    psychometric: Curve | None = None
    chronometric: Curve | None = None
    history: dict[str, Estimate] | None = None
    evidence: str = ""
    separable: bool = False


def describe(table: Behaviour) -> list[SubjectDescription]:
    """Return the statistics of each subject and, of several subjects, of all together first."""
    each = [_describe(name, table.of(name)) for name in table.subjects]
    return each if len(each) == 1 else [_describe("all", table), *each]


def _describe(name: str, table: Behaviour) -> SubjectDescription:
    choice = table.join("choice")
    valid = choice >= 0
    groups = table.interval_groups(valid) if valid.any() else None

    def mean(values: FloatArray, bounded: bool) -> Estimate | None:
        known = np.isfinite(values[valid])
        if not known.any():
            return None
        return mean_interval(values[valid][known], None if groups is None else groups[known], bounded=bounded)

    correct, reward = table.join("correct"), table.join("reward")
    known = reward[np.isfinite(reward)]
    bounded = bool(known.size) and known.min() >= 0 and known.max() <= 1
    shares = {word: mean((choice == k).astype(float), True) for k, word in enumerate(table.choices)}
    found = SubjectDescription(
        name,
        len(table.sessions),
        len(choice),
        int((~valid).sum()),
        mean(correct, True),
        mean(reward, bounded),
        {word: share for word, share in shares.items() if share is not None},
    )
    if valid.sum() < TOO_FEW or len(np.unique(choice[valid])) < 2:
        return found
    return SubjectDescription(**{**vars(found), **_fitted(table, valid, groups)})


def _fitted(table: Behaviour, valid: np.ndarray, groups: IntArray | None) -> dict[str, object]:
    """Return the fields that come from regressions."""
    history = Logistic(HISTORY, past_stimuli=False).fit([Problem(table)])[0]
    out: dict[str, object] = {"history": history.parameters, "separable": history.details["separable"]}
    if len(table.choices) != 2:
        return out
    plain = Logistic(0).fit([Problem(table)])[0].parameters
    out["bias"] = plain["bias"]
    if not table.stimuli:
        return out
    stimuli, choice = np.nan_to_num(table.join("stimuli")), table.join("choice")
    if len(table.stimuli) == 1:
        evidence, words = stimuli[:, 0], table.stimuli[0]
    else:
        weights = np.array([plain[key].value for key in table.stimuli])
        evidence = stimuli @ weights
        words = " ".join(f"{w:+.2f} {key}" for w, key in zip(weights, table.stimuli, strict=True)) + " (logit)"
    levels, index = _levels(evidence[valid])
    out["evidence"] = words
    out["psychometric"] = proportion_curve(levels, index, choice[valid], groups)
    fit = fit_psychometric(levels[index], choice[valid], model="logistic", n_boot=0, max_lapse=0.45, groups=groups)
    out["lapse_low"], out["lapse_high"] = fit.guess, fit.lapse
    rt = table.join("rt")[valid]
    if np.isfinite(rt).any():
        size, at = _levels(np.abs(evidence[valid]))
        out["chronometric"] = mean_curve(
            size, at[np.isfinite(rt)], rt[np.isfinite(rt)], rows_of(groups, np.isfinite(rt))
        )
    return out


def _levels(values: FloatArray) -> tuple[FloatArray, np.ndarray]:
    """Return the levels of a stimulus and the level of each trial; continuous values go to bins of equal numbers."""
    levels, index = np.unique(values, return_inverse=True)
    if len(levels) <= LEVELS:
        return levels, index
    edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)))
    index = np.clip(np.searchsorted(edges, values, "right") - 1, 0, len(edges) - 2)
    index = np.unique(index, return_inverse=True)[1]
    return np.bincount(index, values) / np.bincount(index), index
