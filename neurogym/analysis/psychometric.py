"""The psychometric function: threshold, slope and two lapses by bounded maximum likelihood.

Wichmann & Hill 2001, The psychometric function I and II, 10.3758/BF03194544 and 10.3758/BF03194545.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from neurogym.analysis.intervals import proportion_curve, resampled_sums
from neurogym.analysis.psychometric_likelihood import SHAPES, Likelihood
from neurogym.analysis.results import Curve, Estimate, Result, UndeterminedError
from neurogym.array_types import FloatArray

ModelName = Literal["logistic", "probit", "weibull"]
PARAMETERS = ("threshold", "slope", "guess", "lapse")


@dataclass(frozen=True)
class PsychometricFit(Result):
    """A fitted psychometric function ``guess + (1 - guess - lapse) F(strength; threshold, slope)``.

    Attributes:
        model: ``logistic``: F = 1 / (1 + exp(-slope (x - threshold))); ``probit``: F = Phi(slope (x - threshold)), so
            sigma = 1 / slope; ``weibull``: F = 1 - exp(-(x / threshold)^slope).
        threshold: strength at which F is 0.5 (``weibull``: 1 - 1/e, 81.6 % correct with a guess rate of one half). For
            signed strengths this is the bias, the point of subjective equality.
        slope: see ``model``; per unit of strength (``weibull``: no unit).
        guess: lower asymptote.
        lapse: distance of the upper asymptote from one.
        deviance: twice the log-likelihood that the saturated model has above this one.
        deviance_p: probability of a deviance at least as large if the fitted function were true (parametric bootstrap).
        log_likelihood: of the data, without the binomial coefficients.
        n: number of trials.
        data: proportion of responses at each strength, with Wilson intervals.
        draws: bootstrap draws of the four parameters, shape (n_boot, 4), in the order of ``PARAMETERS``.
        parameters: of the largest likelihood, finite also where the data do not determine them, shape (4,).
    """

    model: str
    threshold: Estimate
    slope: Estimate
    guess: Estimate
    lapse: Estimate
    deviance: float
    deviance_p: float
    log_likelihood: float
    n: int
    data: Curve
    draws: FloatArray = field(repr=False, compare=False, metadata={"draws": True})
    parameters: FloatArray = field(repr=False, compare=False, metadata={"draws": True})

    def predict(self, strength: ArrayLike) -> FloatArray:
        """Return the fitted probability of the response at each strength."""
        return psychometric_function(strength, self.model, *self.parameters)

    def band(self, strength: ArrayLike, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the pointwise bootstrap interval of the function at each strength."""
        curves = [psychometric_function(strength, self.model, *draw) for draw in self.draws]
        low, high = np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    def strength_at(self, probability: float) -> float:
        """Return the strength at which the fitted probability is reached; ``nan`` outside the asymptotes."""
        shape = SHAPES[self.model]
        threshold, slope, guess, lapse = self.parameters
        scaled = (probability - guess) / (1 - guess - lapse)
        if not 0 < scaled < 1:
            return float("nan")
        z = float(shape.inverse(scaled)) / slope
        return float(threshold * np.exp(z)) if shape.logarithmic else float(threshold + z)


def psychometric_function(
    strength: ArrayLike, model: str, threshold: float, slope: float, guess: float = 0.0, lapse: float = 0.0
) -> FloatArray:
    """Return the probability of the response at each strength."""
    shape, x = SHAPES[model], np.asarray(strength, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = slope * ((np.log(x) - np.log(threshold)) if shape.logarithmic else (x - threshold))
    return guess + (1 - guess - lapse) * shape.cdf(z)


def fit_psychometric(
    strength: ArrayLike,
    response: ArrayLike,
    *,
    model: ModelName = "probit",
    guess: float | None = None,
    lapse: float | None = None,
    max_lapse: float = 0.25,
    n_boot: int = 400,
    level: float = 0.95,
    seed: int | None = 0,
    groups: ArrayLike | None = None,
    profile: bool = True,
) -> PsychometricFit:
    """Fit a psychometric function to single trials.

    All parameters get profile-likelihood intervals. Where the data do not bound a parameter, its interval is one-sided:
    perfect choices have a slope above a value, choices of one side alone a threshold below or above a value. Where
    neither side is bounded, the estimate is nan.

    Args:
        strength: stimulus strength of each trial, shape (trials,): signed (response: chose the second alternative) or,
            for ``weibull``, at least 0 (response: correct).
        response: 0 or 1, shape (trials,).
        model: the sigmoid, see `PsychometricFit`.
        guess: lower asymptote if it is known (0.5 for the accuracy in a two-alternative task); ``None`` fits it.
        lapse: upper lapse if it is known; ``None`` fits it.
        max_lapse: bound of a fitted asymptote.
        n_boot: draws of the parametric bootstrap, for goodness of fit and the band of the curve; 0 for neither.
        level: coverage of the intervals.
        seed: seed of the bootstrap.
        groups: session or block of each trial where trials are linked, shape (trials,): all intervals come from the
            spread between groups, and goodness of fit is not reported.
        profile: whether to look for intervals of the parameters, which takes most of the time without a bootstrap.

    Raises:
        ValueError: unknown model, no trials, a single strength, responses other than 0 and 1, or negative strengths
            for ``weibull``.
    """
    if model not in SHAPES:
        raise ValueError(f"unknown psychometric model {model!r}; known are {', '.join(SHAPES)}")
    x, n, k = _aggregate(strength, response)
    if SHAPES[model].logarithmic and x[0] < 0:
        raise ValueError(f"a weibull function needs strengths of at least 0, got {x[0]}")
    likelihood = Likelihood(x, n, SHAPES[model], guess, lapse, max_lapse)
    best = likelihood.fit(k)
    p = likelihood.probability(best)[0]
    deviance = _deviance(k, n, p)
    draws, deviances = np.empty((n_boot, 4)), np.full(n_boot, np.nan)
    for i, (trials, sample) in enumerate(_samples(x, n, p, strength, response, groups, n_boot, seed)):
        redrawn = likelihood if groups is None else Likelihood(x, trials, SHAPES[model], guess, lapse, max_lapse)
        draw = redrawn.fit(sample, best)
        draws[i] = redrawn.natural(draw)
        if groups is None:
            deviances[i] = _deviance(sample, n, likelihood.probability(draw)[0])
    index, parameters = np.searchsorted(x, np.asarray(strength, float)), likelihood.natural(best)
    reach = likelihood.reach(best, index, np.asarray(response, float), groups, level)
    estimates = {}
    for i, (name, fixed) in enumerate(zip(PARAMETERS, (None, None, guess, lapse), strict=True)):
        if fixed is not None:
            estimates[name] = Estimate.fixed(fixed)
        elif profile:
            estimates[name] = likelihood.profile(i, best, k, float(reach[i]), level)
        else:
            estimates[name] = Estimate(float(parameters[i]))
    return PsychometricFit(
        model,
        **estimates,
        deviance=deviance,
        deviance_p=float((1 + np.sum(deviances >= deviance)) / (1 + n_boot)) if n_boot and groups is None else np.nan,
        log_likelihood=-likelihood.loss(best, k)[0],
        n=int(n.sum()),
        data=proportion_curve(x, index, response, groups, level),
        draws=draws,
        parameters=parameters,
    )


def _samples(
    x: FloatArray,
    n: FloatArray,
    p: FloatArray,
    strength: ArrayLike,
    response: ArrayLike,
    groups: ArrayLike | None,
    n_boot: int,
    seed: int | None,
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Trials and responses at each strength, drawn from the fitted function or, where trials are linked, of groups."""
    rng = np.random.default_rng(seed)
    if groups is None:
        yield from ((n, sample) for sample in rng.binomial(n.astype(int), p, size=(n_boot, len(n))))
        return
    index = np.searchsorted(x, np.asarray(strength, float))
    for trials, hits in resampled_sums(groups, index, len(x), (np.ones(len(index)), response), n_boot, rng):
        yield np.maximum(trials, 1e-9), hits


def _aggregate(strength: ArrayLike, response: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return distinct strengths, trials and positive responses at each."""
    x, y = np.asarray(strength, float), np.asarray(response, float)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"strength and response must be equally long vectors, got shapes {x.shape} and {y.shape}")
    if not np.isin(y, (0, 1)).all():
        raise ValueError(f"responses must be 0 or 1, got {np.unique(y)[:5].tolist()}")
    if not np.isfinite(x).all():
        raise ValueError("strengths must be finite")
    levels, index = np.unique(x, return_inverse=True)
    if len(levels) < 2:
        raise UndeterminedError(f"a psychometric function needs at least two strengths, got {levels.tolist()}")
    return levels, np.bincount(index).astype(float), np.bincount(index, weights=y).astype(float)


def _deviance(k: FloatArray, n: FloatArray, p: FloatArray) -> float:
    saturated = xlogy(k, k / n) + xlogy(n - k, 1 - k / n)
    return float(2 * np.sum(saturated - xlogy(k, p) - xlogy(n - k, 1 - p)))
