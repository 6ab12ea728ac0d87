"""Weighting of evidence: over time (psychophysical kernel), by context, and by modality (cue combination)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.intervals import rows_of
from neurogym.analysis.psychometric import PsychometricFit, fit_psychometric
from neurogym.analysis.regression import ChoiceRegression, ratio_estimate, regress_choice
from neurogym.analysis.results import Curve, Estimate, Result, UndeterminedError


@dataclass(frozen=True)
class PsychophysicalKernel(Result):
    """Weight of the stimulus on the choice at each time.

    Attributes:
        weights: log odds per unit of stimulus against time (ms).
        bias: intercept, log odds.
        primacy: (early - late) / (early + late) weight of the two halves: 1 only early, -1 only late, 0 flat;
            nan where the sum of both may be zero.
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
    by_context: dict[float | str, ChoiceRegression]


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
    times = start + dt * np.arange(s.shape[1])
    return PsychophysicalKernel(
        Curve.estimates(times, [fit.weights[name] for name in names], fit.n),
        fit.weights["bias"],
        ratio_estimate(early - late, early + late, level),
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
    by_context = {}
    for c in contexts:
        trials = relevant == c
        within = {name: column[trials] for name, column in columns.items()}
        by_context[c] = regress_choice(within, y[trials], level=level, groups=rows_of(groups, trials))
    return ContextUse(
        fit.weights["relevant"],
        fit.weights["irrelevant"],
        ratio_estimate(a - b, a + b, level),
        by_context,
    )


@dataclass(frozen=True)
class CueCombination(Result):
    """Observed and optimal precision of the combined cue.

    Attributes:
        sigma: psychophysical sigma of each modality and of the combination, in units of strength.
        optimal_sigma: sqrt(s1^2 s2^2 / (s1^2 + s2^2)) from the two single cues.
        ratio: observed over optimal sigma of the combination; 1 is optimal, larger is worse.
        optimal_weight: share of the first cue that minimises the variance, s2^2 / (s1^2 + s2^2).
        fits: the psychometric functions behind them.
    """

    sigma: dict[str, Estimate]
    optimal_sigma: Estimate
    ratio: Estimate
    optimal_weight: Estimate
    fits: dict[str, PsychometricFit]


@dataclass(frozen=True)
class CueWeights(Result):
    """Weights of two cues that are present on every trial.

    Attributes:
        first: log odds per unit of strength of the first cue.
        second: log odds per unit of strength of the second cue.
        share: first / (first + second); 0.5 is optimal for cues that are equally noisy.
    """

    first: Estimate
    second: Estimate
    share: Estimate


def cue_combination(
    strength: ArrayLike,
    choice: ArrayLike,
    modality: ArrayLike,
    *,
    combined: str = "both",
    lapse: float | None = None,
    n_boot: int = 400,
    level: float = 0.95,
    seed: int | None = 0,
    groups: ArrayLike | None = None,
) -> CueCombination:
    """Compare the sigma of the combined cue with the optimum predicted by the single cues.

    Ernst & Banks 2002, 10.1038/415429a; Raposo, Kaufman & Churchland 2014, 10.1038/nn.3865.

    Args:
        strength: signed strength, shape (trials,), positive for the second alternative.
        choice: 0 or 1, shape (trials,).
        modality: name of the modality of each trial, shape (trials,): two single ones and ``combined``.
        combined: name of the trials with both.
        lapse: both lapses if they are known; ``None`` fits them.
        n_boot: bootstrap draws.
        level: coverage of the intervals.
        seed: seed of the bootstrap.
        groups: session or block of each trial where trials are linked, shape (trials,); see `fit_psychometric`.

    Raises:
        ValueError: there are not two single modalities and the combination.
    """
    x, y, kind = np.asarray(strength, float), np.asarray(choice, float), np.asarray(modality).astype(str)
    names = np.unique(kind).tolist()
    if len(names) != 3 or combined not in names:
        raise UndeterminedError(f"cue combination needs two single modalities and {combined!r}, got {names}")
    singles = [name for name in names if name != combined]
    streams = np.random.SeedSequence(seed).generate_state(3)
    fits = {}
    for name, stream in zip([*singles, combined], streams, strict=True):
        rows = kind == name
        cue_groups = rows_of(groups, rows)
        fits[name] = fit_psychometric(
            x[rows], y[rows], guess=lapse, lapse=lapse, n_boot=n_boot, level=level, seed=int(stream), groups=cue_groups
        )
    sigma = {name: _reciprocal(fit.slope) for name, fit in fits.items()}
    first, second = singles
    with np.errstate(divide="ignore", invalid="ignore"):  # perfect choices have no sigma
        s1, s2, both = np.array([sigma[name].value for name in (first, second, combined)])
        share = s2**2 / (s1**2 + s2**2)  # of the first cue; the derivative of log optimal by log s1, too
        optimal = np.sqrt(s1**2 * share)
        return CueCombination(
            sigma,
            _power(optimal, sigma, {first: share, second: 1 - share}),
            _power(both / optimal, sigma, {combined: 1.0, first: -share, second: share - 1}),
            _as_share(_power(s2**2 / s1**2, sigma, {first: -2.0, second: 2.0})),
            fits,
        )


def _reciprocal(slope: Estimate) -> Estimate:
    """Return 1 / slope."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value, low, high = 1 / np.array([slope.value, slope.high, slope.low])
        se = np.float64(slope.se) * value**2
    return Estimate(float(value), float(low), float(high), float(se))


def _power(value: float, sigma: Mapping[str, Estimate], exponents: Mapping[str, float]) -> Estimate:
    """Return a product of powers of independent sigmas, with an interval from theirs on a logarithmic scale.

    Zou & Donner 2008, 10.1002/sim.3095; the distances of the sigmas' ends need not be symmetric.

    Args:
        value: the product.
        sigma: factors by name.
        exponents: of the factors that count.
    """
    factors = [sigma[name] for name in exponents]
    values, low, high, se = (
        np.array([getattr(each, key) for each in factors]) for key in ("value", "low", "high", "se")
    )
    powers = np.array(list(exponents.values()))
    ends = np.log([low / values, high / values]) * powers
    below, above = np.hypot.reduce(np.where(powers > 0, ends, ends[::-1]), axis=1)
    spread = value * np.hypot.reduce(powers * se / values)
    return Estimate(float(value), float(value * np.exp(-below)), float(value * np.exp(above)), float(spread))


def _as_share(odds: Estimate) -> Estimate:
    """Return odds / (1 + odds)."""
    low, high = (1 - 1 / (1 + end) for end in (odds.low, odds.high))  # 1 for infinite odds
    value = 1 - 1 / (1 + odds.value)
    return Estimate(value, low, high, odds.se * (1 - value) ** 2)


def cue_weights(
    first: ArrayLike,
    second: ArrayLike,
    choice: ArrayLike,
    *,
    level: float = 0.95,
    groups: ArrayLike | None = None,
) -> CueWeights:
    """Regress the choice on two cues that vary independently.

    Args:
        first: signed strength of the first cue, shape (trials,).
        second: signed strength of the second cue, shape (trials,).
        choice: 0 or 1, shape (trials,).
        level: coverage of the intervals.
        groups: session or block of each trial where trials are linked, shape (trials,); see `regress_choice`.
    """
    fit = regress_choice({"first": first, "second": second}, choice, level=level, groups=groups)
    a, b, draws = fit.weights["first"], fit.weights["second"], fit.draws()
    weight = np.r_[a.value, draws["first"]]
    return CueWeights(a, b, ratio_estimate(weight, weight + np.r_[b.value, draws["second"]], level))
