"""Chronometric function and the prediction of diffusion to a bound.

Palmer, Huk & Shadlen 2005, The effect of stimulus strength on the speed and accuracy of a perceptual decision,
10.1167/5.5.1: evidence drifts at a rate proportional to the stimulus strength, one pair of symmetric bounds explains
accuracy and mean reaction time together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit

from neurogym.analysis.intervals import count_groups, mean_curve, proportion_curve, resampled_sums, rows_of
from neurogym.analysis.results import Curve, Estimate, Result, UndeterminedError
from neurogym.array_types import FloatArray

PARAMETERS = ("sensitivity", "bound", "residual_time")


@dataclass(frozen=True)
class ChronometricFit(Result):
    """The proportional-rate diffusion model fitted to reaction times and choices.

    Attributes:
        sensitivity: drift per unit of strength k, in 1 / (strength sqrt(s)).
        bound: normalised bound A, in sqrt(s).
        residual_time: mean time outside the decision t_R, ms.
        log_likelihood: at the estimates.
        n: number of trials.
        reaction_time: mean reaction time (ms) at each strength, with its interval.
        accuracy: proportion correct at each strength, with its interval.
        draws: bootstrap draws of the three parameters, shape (n_boot, 3), in the order of ``PARAMETERS``.
    """

    sensitivity: Estimate
    bound: Estimate
    residual_time: Estimate
    log_likelihood: float
    n: int
    reaction_time: Curve
    accuracy: Curve
    draws: FloatArray = field(repr=False, compare=False, metadata={"draws": True})

    def predict(self, strength: ArrayLike) -> FloatArray:
        """Return the predicted mean reaction time in ms."""
        return mean_reaction_time(strength, self.sensitivity.value, self.bound.value, self.residual_time.value)

    def predict_accuracy(self, strength: ArrayLike) -> FloatArray:
        """Return the predicted proportion correct."""
        return expit(2 * self.bound.value * self.sensitivity.value * np.abs(np.asarray(strength, float)))


def mean_reaction_time(strength: ArrayLike, sensitivity: float, bound: float, residual_time: float) -> FloatArray:
    """Return the mean reaction time (ms) of the diffusion model, ``A / (k x) tanh(A k x) + t_R``."""
    drift = sensitivity * np.abs(np.asarray(strength, float))
    z = bound * drift
    ratio = np.divide(np.tanh(z), z, out=np.ones_like(z), where=z > 1e-6)
    return 1000 * bound**2 * ratio + residual_time


def decision_variance(strength: ArrayLike, sensitivity: float, bound: float) -> FloatArray:
    """Return the variance of the decision time (ms^2) that the diffusion model predicts."""
    drift = np.maximum(sensitivity * np.abs(np.asarray(strength, float)), 1e-3 / bound)
    z = np.minimum(bound * drift, 300)
    small = 2 / 3 * bound**4 * np.ones_like(z)
    return 1e6 * np.where(z < 0.05, small, bound * (np.tanh(z) - z / np.cosh(z) ** 2) / drift**3)


def fit_chronometric(
    strength: ArrayLike,
    rt: ArrayLike,
    correct: ArrayLike,
    *,
    n_boot: int = 400,
    level: float = 0.95,
    seed: int | None = 0,
    groups: ArrayLike | None = None,
) -> ChronometricFit:
    """Fit the proportional-rate diffusion model to choices and mean reaction times.

    The likelihood is binomial in the choices and Gaussian in the mean reaction time of each strength. Its standard
    error is the one that the model predicts (after a first fit with that of the data, which would favour strengths
    whose mean happens to be short), with the same variance outside the decision at all strengths. Intervals come from
    redrawing choices and means at every strength.

    Args:
        strength: stimulus strength of each trial, shape (trials,); its sign is ignored.
        rt: reaction times in ms, shape (trials,); trials without one (``nan``) are left out.
        correct: 0 or 1, shape (trials,).
        n_boot: bootstrap draws.
        level: coverage of the intervals.
        seed: seed of the bootstrap.
        groups: session or block of each trial where trials are linked, shape (trials,): intervals come from resampled
            groups.

    Raises:
        ValueError: fewer than two strengths with at least two reaction times each, or reaction times that do not fall
            with strength, which does not identify the parameters.
    """
    x, t, c = np.abs(np.asarray(strength, float)), np.asarray(rt, float), np.asarray(correct, float)
    timed = np.isfinite(t)
    levels, index = np.unique(x[timed], return_inverse=True)
    n = np.bincount(index).astype(float) if timed.any() else np.empty(0)
    if len(levels) < 2 or n.min() < 2:
        raise UndeterminedError(
            "a chronometric function needs two strengths or more with at least two reaction times each"
        )
    k = np.bincount(index, weights=c[timed]).astype(float)
    mean = np.bincount(index, weights=t[timed]) / n
    variance = np.maximum(np.bincount(index, weights=(t[timed] - mean[index]) ** 2) / (n - 1), 1.0)
    se = np.sqrt(variance / n)

    if mean[0] - mean[-1] <= 2 * np.hypot(se[0], se[-1]):
        times = f"{mean[0]:.0f} ms at strength {levels[0]:g}, {mean[-1]:.0f} ms at {levels[-1]:g}"
        raise UndeterminedError(
            f"reaction times do not fall with stimulus strength ({times}): no diffusion to a bound to fit"
        )
    summary = _Summary(levels, n, k, mean, se)
    best = summary.start()
    for _ in range(2):
        best = summary.fit(best)
        predicted = decision_variance(levels, *np.exp(best[:2]))
        outside = max(float(np.average(variance - predicted, weights=n / variance**2)), 1.0)
        summary = replace(summary, se=np.sqrt((predicted + outside) / n))
    best = summary.fit(best)
    linked = rows_of(groups, timed)
    samples = _samples(summary, (index, t[timed], c[timed]), linked, n_boot, seed)
    fits = [np.exp(sample.fit(best)) for sample in samples]
    draws = np.array(fits).reshape(n_boot, 3)
    observations = count_groups(linked)
    estimates = [Estimate.percentile(v, d, level, observations) for v, d in zip(np.exp(best), draws.T, strict=True)]
    return ChronometricFit(
        sensitivity=estimates[0],
        bound=estimates[1],
        residual_time=estimates[2],
        log_likelihood=-summary.loss(best),
        n=int(n.sum()),
        reaction_time=mean_curve(levels, index, t[timed], linked, level),
        accuracy=proportion_curve(levels, index, c[timed], linked, level),
        draws=draws,
    )


@dataclass(frozen=True)
class _Summary:
    """Choices and reaction times at each strength, all of shape (strengths,).

    Attributes:
        x: strength.
        n: trials.
        k: correct trials.
        mean: mean reaction time (ms).
        se: standard error of the mean (ms).
    """

    x: FloatArray
    n: FloatArray
    k: FloatArray
    mean: FloatArray
    se: FloatArray

    def start(self) -> FloatArray:
        """Return a start in log units: the bound from the spread of the means, the drift from the middle strength."""
        bound = np.sqrt(max(float(np.ptp(self.mean)), 50.0) / 1000)
        residual = max(float(self.mean.min()) - 100, 50.0)
        return np.log([1 / (bound * max(float(np.median(self.x)), 1e-9)), bound, residual])

    def loss(self, theta: FloatArray) -> float:
        """Negative log likelihood of parameters in log units."""
        sensitivity, bound, residual = np.exp(theta)
        z = 2 * bound * sensitivity * self.x
        choices = self.k @ log_expit(z) + (self.n - self.k) @ log_expit(-z)
        expected = mean_reaction_time(self.x, sensitivity, bound, residual)
        times = -0.5 * np.sum(((self.mean - expected) / self.se) ** 2)
        return -float(choices + times)

    def fit(self, start: FloatArray) -> FloatArray:
        """Return the most likely parameters in log units."""
        from scipy.optimize import minimize  # takes as much memory as NumPy, and few need it

        bounds = [(s - 8, s + 8) for s in start[:2]] + [(np.log(1e-3), np.log(float(self.mean.max())))]
        return np.asarray(minimize(self.loss, start, method="L-BFGS-B", bounds=bounds).x)


def _samples(
    summary: _Summary,
    trials: tuple[np.ndarray, FloatArray, FloatArray],
    linked: np.ndarray | None,
    n_boot: int,
    seed: int | None,
) -> Iterator[_Summary]:
    """Resample trials: parametric, or by resampling groups.

    Args:
        summary: what was found.
        trials: strength (its index), reaction time and correctness of each trial.
        linked: group of each trial; None: independent trials.
        n_boot: bootstrap draws.
        seed: seed of the bootstrap.
    """
    rng = np.random.default_rng(seed)
    n, k, mean, se = summary.n, summary.k, summary.mean, summary.se
    if linked is None:
        counts, means = rng.binomial(n.astype(int), k / n, (n_boot, len(n))), rng.normal(mean, se, (n_boot, len(n)))
        yield from (replace(summary, k=ki.astype(float), mean=mi) for ki, mi in zip(counts, means, strict=True))
        return
    index, rt, correct = trials
    for drawn, hits, times in resampled_sums(linked, index, len(n), (np.ones(len(index)), correct, rt), n_boot, rng):
        n_drawn = np.maximum(drawn, 1e-9)
        means = np.where(drawn > 0, times / n_drawn, mean)
        yield replace(summary, n=n_drawn, k=hits, mean=means, se=se * np.sqrt(n / n_drawn))
