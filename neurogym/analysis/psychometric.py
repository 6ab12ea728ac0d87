"""The psychometric function: threshold, slope and two lapses by bounded maximum likelihood.

Wichmann & Hill 2001, The psychometric function I and II, 10.3758/BF03194544 and 10.3758/BF03194545.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtr, ndtri, xlogy

from neurogym.analysis.intervals import proportion_curve, resampled_sums
from neurogym.analysis.results import Curve, Estimate, FloatArray, Result, normal_quantile

ModelName = Literal["logistic", "probit", "weibull"]
PARAMETERS = ("threshold", "slope", "guess", "lapse")


@dataclass(frozen=True)
class Shape:
    """A sigmoid of ``z = slope * (u - location)``; Weibull is this on the logarithm of the strength."""

    cdf: Callable[[FloatArray], FloatArray]
    pdf: Callable[[FloatArray], FloatArray]
    inverse: Callable[[ArrayLike], FloatArray]
    logarithmic: bool = False


def _gumbel_cdf(z: FloatArray) -> FloatArray:
    return -np.expm1(-np.exp(np.clip(z, -700, 6)))


def _gumbel_pdf(z: FloatArray) -> FloatArray:
    z = np.clip(z, -700, 6)
    return np.exp(z - np.exp(z))


SHAPES: dict[str, Shape] = {
    "logistic": Shape(expit, lambda z: expit(z) * expit(-z), logit),
    "probit": Shape(ndtr, lambda z: np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi), ndtri),
    "weibull": Shape(_gumbel_cdf, _gumbel_pdf, lambda p: np.log(-np.log1p(-np.asarray(p))), logarithmic=True),
}


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

    def predict(self, strength: ArrayLike) -> FloatArray:
        """Return the fitted probability of the response at each strength."""
        fitted = (self.threshold, self.slope, self.guess, self.lapse)
        return psychometric_function(strength, self.model, *(parameter.value for parameter in fitted))

    def band(self, strength: ArrayLike, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the pointwise bootstrap interval of the function at each strength."""
        curves = [psychometric_function(strength, self.model, *draw) for draw in self.draws]
        low, high = np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    def strength_at(self, probability: float) -> float:
        """Return the strength at which the fitted probability is reached; ``nan`` outside the asymptotes."""
        shape = SHAPES[self.model]
        scaled = (probability - self.guess.value) / (1 - self.guess.value - self.lapse.value)
        if not 0 < scaled < 1:
            return float("nan")
        z = float(shape.inverse(scaled)) / self.slope.value
        return float(self.threshold.value * np.exp(z)) if shape.logarithmic else float(self.threshold.value + z)


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

    Threshold and slope get bootstrap intervals. The asymptotes get profile-likelihood intervals, because an estimate
    on its bound (no lapse seen) hides from the bootstrap how far the truth may lie from it.

    Args:
        strength: stimulus strength of each trial, shape (trials,): signed (response: chose the second alternative) or,
            for ``weibull``, at least 0 (response: correct).
        response: 0 or 1, shape (trials,).
        model: the sigmoid, see `PsychometricFit`.
        guess: lower asymptote if it is known (0.5 for the accuracy in a two-alternative task); ``None`` fits it.
        lapse: upper lapse if it is known; ``None`` fits it.
        max_lapse: bound of a fitted asymptote.
        n_boot: draws of the parametric bootstrap; 0 for no goodness of fit and no intervals of threshold and slope.
        level: coverage of the intervals.
        seed: seed of the bootstrap.
        groups: session or block of each trial where trials are linked, shape (trials,): points, threshold and slope get
            their intervals from resampled groups, and goodness of fit is not reported.
        profile: whether to look for the intervals of the asymptotes, which takes most of the time without a bootstrap.

    Raises:
        ValueError: unknown model, no trials, a single strength, responses other than 0 and 1, or negative strengths
            for ``weibull``.
    """
    if model not in SHAPES:
        raise ValueError(f"unknown psychometric model {model!r}; known are {', '.join(SHAPES)}")
    x, n, k = _aggregate(strength, response)
    if SHAPES[model].logarithmic and x[0] < 0:
        raise ValueError(f"a weibull function needs strengths of at least 0, got {x[0]}")
    problem = _Problem(x, n, SHAPES[model], guess, lapse, max_lapse)
    best = problem.fit(k)
    p = problem.probability(best)[0]
    deviance = _deviance(k, n, p)
    draws, deviances = np.empty((n_boot, 4)), np.full(n_boot, np.nan)
    for i, (trials, sample) in enumerate(_samples(x, n, p, strength, response, groups, n_boot, seed)):
        redrawn = problem if groups is None else _Problem(x, trials, SHAPES[model], guess, lapse, max_lapse)
        draw = redrawn.fit(sample, best)
        draws[i] = redrawn.natural(draw)
        if groups is None:
            deviances[i] = _deviance(sample, n, problem.probability(draw)[0])
    estimates = {
        name: Estimate.percentile(value, draws[:, i], level)
        for i, (name, value) in enumerate(zip(PARAMETERS, problem.natural(best), strict=True))
    }
    for i, known in ((2, guess), (3, lapse)):
        sought = known is None and profile
        estimates[PARAMETERS[i]] = problem.profile(i, best, k, level) if sought else Estimate.fixed(best[i])
    return PsychometricFit(
        model,
        **estimates,
        deviance=deviance,
        deviance_p=float((1 + np.sum(deviances >= deviance)) / (1 + n_boot)) if n_boot and groups is None else np.nan,
        log_likelihood=-problem.loss(best, k)[0],
        n=int(n.sum()),
        data=proportion_curve(x, np.searchsorted(x, np.asarray(strength, float)), response, groups, level),
        draws=draws,
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
        raise ValueError(f"a psychometric function needs at least two strengths, got {levels.tolist()}")
    return levels, np.bincount(index).astype(float), np.bincount(index, weights=y).astype(float)


def _deviance(k: FloatArray, n: FloatArray, p: FloatArray) -> float:
    saturated = xlogy(k, k / n) + xlogy(n - k, 1 - k / n)
    return float(2 * np.sum(saturated - xlogy(k, p) - xlogy(n - k, 1 - p)))


class _Problem:
    """Likelihood of binomial data in (location, log slope, guess, lapse), with gradient and bounds."""

    def __init__(
        self, x: FloatArray, n: FloatArray, shape: Shape, guess: float | None, lapse: float | None, max_lapse: float
    ) -> None:
        with np.errstate(divide="ignore"):
            self.u = np.log(x) if shape.logarithmic else x
        self.n, self.shape = n, shape
        # A strength of zero has no logarithm: it is at the lower asymptote whatever the parameters.
        finite = self.u[np.isfinite(self.u)]
        self.span = max(float(np.ptp(finite)), 1e-9)
        self.low, self.high = float(finite.min()), float(finite.max())
        self.bounds: list[tuple[float, float]] = [
            (self.low - self.span, self.high + self.span),
            (float(np.log(0.01 / self.span)), float(np.log(1000 / self.span))),
            (0.0, max_lapse) if guess is None else (guess, guess),
            (0.0, max_lapse) if lapse is None else (lapse, lapse),
        ]

    def starts(self) -> list[np.ndarray]:
        asymptotes = [low if low == high else 0.02 for low, high in self.bounds[2:]]
        return [
            np.array([self.low + place * self.span, np.log(steepness / self.span), *asymptotes])
            for place, steepness in ((0.5, 6.0), (0.25, 12.0), (0.75, 3.0))
        ]

    def natural(self, theta: np.ndarray) -> FloatArray:
        location = np.exp(theta[0]) if self.shape.logarithmic else theta[0]
        return np.array([location, np.exp(theta[1]), theta[2], theta[3]])

    def probability(self, theta: np.ndarray) -> tuple[FloatArray, FloatArray, FloatArray]:
        z = np.exp(theta[1]) * (self.u - theta[0])
        f = self.shape.cdf(z)
        return np.clip(theta[2] + (1 - theta[2] - theta[3]) * f, 1e-9, 1 - 1e-9), f, z

    def loss(self, theta: np.ndarray, k: FloatArray) -> tuple[float, FloatArray]:
        p, f, z = self.probability(theta)
        dp = k / p - (self.n - k) / (1 - p)
        with np.errstate(invalid="ignore"):
            density = np.where(np.isfinite(z), (1 - theta[2] - theta[3]) * self.shape.pdf(z), 0.0)
        dz = dp * density
        along_slope = dz * np.where(np.isfinite(z), z, 0)
        gradient = np.array([-np.exp(theta[1]) * dz.sum(), along_slope.sum(), dp @ (1 - f), -(dp @ f)])
        return -float(k @ np.log(p) + (self.n - k) @ np.log1p(-p)), -gradient

    def fit(self, k: FloatArray, start: np.ndarray | None = None) -> np.ndarray:
        from scipy.optimize import minimize  # takes as much memory as NumPy, and few need it

        starts = self.starts() if start is None else [start]
        fits = [minimize(self.loss, s, (k,), jac=True, method="L-BFGS-B", bounds=self.bounds) for s in starts]
        return np.asarray(min(fits, key=lambda fit: float(fit.fun)).x)

    def profile(self, index: int, best: np.ndarray, k: FloatArray, level: float) -> Estimate:
        """Return the estimate of an asymptote with the profile-likelihood interval."""
        from scipy.optimize import brentq

        free, least = self.bounds[index], self.loss(best, k)[0]
        reach = normal_quantile(level) ** 2 / 2

        def excess(value: float) -> float:
            self.bounds[index] = (value, value)
            start = best.copy()
            start[index] = value
            return self.loss(self.fit(k, start), k)[0] - least - reach

        value = float(best[index])
        low = brentq(excess, free[0], value, xtol=1e-4) if value > free[0] and excess(free[0]) > 0 else free[0]
        high = brentq(excess, value, free[1], xtol=1e-4) if value < free[1] and excess(free[1]) > 0 else free[1]
        self.bounds[index] = free
        return Estimate(value, low, high, (high - low) / (2 * normal_quantile(level)))
