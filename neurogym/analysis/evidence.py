"""Weighting of evidence: over time (psychophysical kernel) and by context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.intervals import rows_of
from neurogym.analysis.regression import ChoiceRegression, ratio_interval, regress_choice
from neurogym.analysis.results import Curve, Estimate, Result


@dataclass(frozen=True)
class PsychophysicalKernel(Result):
    """Weight of the stimulus on the choice at each time.

    Attributes:
        weights: log odds per unit of stimulus against time (ms).
        bias: intercept, log odds.
        primacy: (early - late) / (early + late) weight of the two halves: 1 only early, -1 only late, 0 flat.
    """

    weights: Curve
    bias: Estimate
    primacy: Estimate


@dataclass(frozen=True)
class ContextUse(Result):
    """Weight of the evidence relevant in a context compared with the weight of irrelevant evidence.

    Attributes:
        relevant: slope of the relevant evidence over all contexts, log odds per unit.
        irrelevant: slope of the irrelevant evidence.
        selectivity: (relevant - irrelevant) / (relevant + irrelevant): 1 if the context is used fully, 0 if both
            sources weigh the same.
        by_context: regression on ``relevant`` and ``irrelevant`` evidence in each context.
    """

    relevant: Estimate
    irrelevant: Estimate
    selectivity: Estimate
    by_context: dict[Any, ChoiceRegression]


def psychophysical_kernel(
    stimulus: ArrayLike,
    choice: ArrayLike,
    *,
    dt: float = 1.0,
    start: float = 0.0,
    level: float = 0.95,
    groups: ArrayLike | None = None,
) -> PsychophysicalKernel:
    """Regress the choice on the stimulus at each time (logistic regression).

    Ahumada 2002, Classification image weights and internal noise level estimation, 10.1167/2.1.8; Nienborg & Cumming
    2009, 10.1038/nature07821.

    Args:
        stimulus: signed evidence, shape (trials, steps), positive for the second alternative.
        choice: 0 or 1, shape (trials,).
        dt: length of a step, ms.
        start: time of the first step, ms.
        level: coverage of the intervals.
        groups: session or block of each trial where trials are linked, shape (trials,); see `regress_choice`.
    """
    s = np.asarray(stimulus, float)
    if s.ndim != 2 or s.shape[1] < 2:
        raise ValueError(f"a kernel needs a stimulus of shape (trials, steps >= 2), got {s.shape}")
    names = [str(step) for step in range(s.shape[1])]
    fit = regress_choice(dict(zip(names, s.T, strict=True)), choice, level=level, groups=groups)
    half = s.shape[1] // 2
    draws = fit.draws()
    weights = np.stack([np.r_[fit.weights[name].value, draws[name]] for name in names])
    early, late = weights[:half].mean(axis=0), weights[-half:].mean(axis=0)
    primacy = (early - late) / (early + late)
    times = start + dt * np.arange(s.shape[1])
    return PsychophysicalKernel(
        Curve.estimates(times, [fit.weights[name] for name in names], fit.n),
        fit.weights["bias"],
        ratio_interval(primacy[0], primacy[1:], level),
    )


def context_use(
    evidence: ArrayLike,
    choice: ArrayLike,
    context: ArrayLike,
    *,
    level: float = 0.95,
    groups: ArrayLike | None = None,
) -> ContextUse:
    """Return the weights of relevant and irrelevant evidence (Mante et al. 2013, 10.1038/nature12742).

    Args:
        evidence: signed strength of the two sources, shape (trials, 2), positive for the second alternative.
        choice: 0 or 1, shape (trials,).
        context: which source is relevant, 0 or 1, shape (trials,).
        level: coverage of the intervals.
        groups: session or block of each trial where trials are linked, shape (trials,); see `regress_choice`.
    """
    x, y, relevant = np.asarray(evidence, float), np.asarray(choice, float), np.asarray(context).astype(int)
    if x.shape != (len(y), 2) or not np.isin(relevant, (0, 1)).all():
        raise ValueError(f"context use needs evidence of shape (trials, 2) and contexts 0 or 1, got shape {x.shape}")
    rows = np.arange(len(y))
    columns = {"relevant": x[rows, relevant], "irrelevant": x[rows, 1 - relevant]}
    contexts = np.unique(relevant).tolist()
    pooled = dict(columns)
    if len(contexts) == 2:
        pooled["context"] = relevant - 0.5
    fit = regress_choice(pooled, y, level=level, groups=groups)
    draws = fit.draws()
    a, b = (np.r_[fit.weights[name].value, draws[name]] for name in ("relevant", "irrelevant"))
    selectivity = (a - b) / (a + b)
    by_context = {}
    for c in contexts:
        trials = relevant == c
        within = {name: column[trials] for name, column in columns.items()}
        by_context[c] = regress_choice(within, y[trials], level=level, groups=rows_of(groups, trials))
    return ContextUse(
        fit.weights["relevant"],
        fit.weights["irrelevant"],
        ratio_interval(selectivity[0], selectivity[1:], level),
        by_context,
    )
