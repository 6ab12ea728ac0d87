"""Interval reproduction: bias, variability and Weber fraction, and the Bayesian observer that regresses to the mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.intervals import count_groups, mean_curve, resampled, rows_of
from neurogym.analysis.results import Curve, Estimate, Result, UndeterminedError
from neurogym.array_types import FloatArray


@dataclass(frozen=True)
class IntervalReproduction(Result):
    """Precision and bias of interval reproduction (Jazayeri & Shadlen 2010, 10.1038/nn.2590).

    Attributes:
        bias: mean of produced minus target interval, ms.
        slope: of produced against target interval; 1 is veridical, below 1 is a regression to the mean.
        weber_fraction: standard deviation of the produced interval over its mean, around the linear fit.
        variability: root mean squared deviation from the linear fit, ms.
        rmse: root mean squared error, ms.
        produced: mean produced interval (ms) at each target, with t intervals; many targets are put into ten bins.
    """

    bias: Estimate
    slope: Estimate
    weber_fraction: Estimate
    variability: Estimate
    rmse: Estimate
    produced: Curve


def interval_reproduction(
    target: ArrayLike,
    produced: ArrayLike,
    *,
    n_boot: int = 1000,
    level: float = 0.95,
    seed: int | None = 0,
    groups: ArrayLike | None = None,
) -> IntervalReproduction:
    """Analyse produced against target intervals.

    The line is fitted with weights 1 / target^2, as scalar variability asks for.

    Args:
        target: interval to be produced, ms, shape (trials,) (gain included).
        produced: produced interval, ms, shape (trials,); ``nan`` where there was none.
        n_boot: bootstrap draws; 0 for no intervals.
        level: coverage of the intervals.
        seed: seed of the bootstrap.
        groups: session or block of each trial where trials are linked, shape (trials,).

    Raises:
        ValueError: fewer than four produced intervals or a single target.
    """
    x, y = np.asarray(target, float), np.asarray(produced, float)
    valid = np.isfinite(x) & np.isfinite(y)
    x, y = x[valid], y[valid]
    linked = rows_of(groups, valid)
    if len(x) < 4 or np.ptp(x) == 0:
        raise UndeterminedError(f"interval reproduction needs four trials and two targets, got {len(x)} trials")

    def statistics(rows: np.ndarray | slice) -> FloatArray:
        return _statistics(x[rows], y[rows])

    values = statistics(slice(None))
    draws = resampled(statistics, len(x), linked, n_boot, seed).reshape(n_boot, len(values))
    levels = np.unique(x)
    edges = levels if len(levels) <= 12 else np.quantile(x, np.arange(10) / 10)
    index = np.searchsorted(edges, x, side="right") - 1
    names = ("bias", "slope", "weber_fraction", "variability", "rmse")
    estimates = {
        name: Estimate.percentile(value, draw, level, len(x) if linked is None else count_groups(linked))
        for name, value, draw in zip(names, values, draws.T, strict=True)
    }
    targets = [x[index == i].mean() for i in range(len(edges))]
    return IntervalReproduction(**estimates, produced=mean_curve(targets, index, y, linked, level))


def _statistics(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return bias, slope, Weber fraction, variability and root mean squared error."""
    w = 1 / x**2
    mean_x, mean_y = np.average(x, weights=w), np.average(y, weights=w)
    spread = np.sum(w * (x - mean_x) ** 2)
    slope = np.sum(w * (x - mean_x) * (y - mean_y)) / spread if spread > 0 else np.nan
    fitted = mean_y + slope * (x - mean_x)
    freedom = len(x) - 2
    residual = y - fitted
    weber = np.sqrt(np.sum((residual / fitted) ** 2) / freedom)
    variability = np.sqrt(np.sum(residual**2) / freedom)
    return np.array([np.mean(y - x), slope, weber, variability, np.sqrt(np.mean((y - x) ** 2))])


def bayes_least_squares(
    measured: ArrayLike, intervals: ArrayLike, weber: float, weights: ArrayLike | None = None
) -> FloatArray:
    """Return the mean of the posterior over intervals, the estimate with the least squared error.

    Measurements are Gaussian around the interval with a standard deviation in proportion to it (Jazayeri & Shadlen
    2010, Temporal context calibrates interval timing, 10.1038/nn.2590).

    Args:
        measured: measurements, ms, shape (n,).
        intervals: those that occur, ms, shape (m,).
        weber: standard deviation of a measurement over the interval.
        weights: how often each interval occurs, shape (m,); all alike by default.

    Returns:
        Estimates, ms, shape (n,).

    Raises:
        ValueError: if an interval, ``weber`` or the sum of weights is not positive.
    """
    t = np.asarray(intervals, float)
    p = np.ones(len(t)) if weights is None else np.asarray(weights, float)
    if weber <= 0 or len(t) == 0 or t.min() <= 0 or p.min() < 0 or p.sum() <= 0:
        raise ValueError(f"intervals, weights and weber must be positive, got weber {weber} and intervals {t}")
    z = (np.asarray(measured, float)[:, None] - t) / (weber * t)
    with np.errstate(divide="ignore"):
        log = np.log(p / t) - z**2 / 2
    posterior = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(posterior @ t / posterior.sum(axis=1))


def bayesian_reproduction(
    intervals: ArrayLike, weber: float, weights: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of what `bayes_least_squares` estimates for each interval.

    Args:
        intervals: those that occur, ms, shape (m,).
        weber: standard deviation of a measurement over the interval.
        weights: how often each interval occurs, shape (m,); all alike by default.
    """
    t = np.asarray(intervals, float)
    places, share = np.polynomial.hermite_e.hermegauss(61)
    share = share / share.sum()
    measured = t[:, None] * (1 + weber * places)
    estimate = bayes_least_squares(measured.ravel(), t, weber, weights).reshape(measured.shape)
    mean = estimate @ share
    return mean, np.sqrt((estimate - mean[:, None]) ** 2 @ share)
