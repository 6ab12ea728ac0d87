"""Continuous reports, as of remembered colours or directions: errors, bias, precision, and guesses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import ive

from neurogym.analysis.intervals import count_groups, resampled, rows_of
from neurogym.analysis.results import Estimate, Result, UndeterminedError
from neurogym.array_types import FloatArray

#: Fewest reports from which a distribution of errors is described.
FEWEST = 10

#: Share of guesses and logarithm of the concentration: bounds, and starts of the search.
BOUNDS, STARTS = ((1e-6, 1.0), (-2.0, 15.0)), ((0.1, 3.0), (0.6, 2.0))


@dataclass(frozen=True)
class ContinuousReports(Result):
    """Errors of continuous reports, in the unit of the reports.

    Attributes:
        errors: report minus target of each trial, shape (trials,); on a ring from -half to half its circumference.
        bias: mean error; on a ring the circular mean.
        spread: standard deviation of the errors; on a ring the circular one.
        guess_rate: share of reports that are uniform on the ring; None without a ring.
        precision: standard deviation of the other reports (of the von Mises distribution); None without a ring.
    """

    errors: FloatArray
    bias: Estimate
    spread: Estimate
    guess_rate: Estimate | None = None
    precision: Estimate | None = None


def continuous_reports(
    report: ArrayLike,
    target: ArrayLike,
    *,
    ring: float | None = None,
    n_boot: int = 200,
    level: float = 0.95,
    seed: int | None = 0,
    groups: ArrayLike | None = None,
) -> ContinuousReports:
    """Describe the errors of continuous reports; on a ring by a mixture of memory and guesses (Zhang & Luck 2008).

    Args:
        report: report of each trial, shape (trials,); ``nan`` where there was none.
        target: correct report of each trial, in the same unit, shape (trials,).
        ring: circumference of the ring that reports lie on, such as 360 for degrees; None for a line.
        n_boot: bootstrap draws; 0 for no intervals.
        level: coverage of the intervals.
        seed: seed of the bootstrap.
        groups: session or block of each trial where trials are linked, shape (trials,).

    Raises:
        ValueError: if there are fewer than ten reports.

    Source: Zhang & Luck 2008 (10.1038/nature06860).
    """
    difference = np.asarray(report, float) - np.asarray(target, float)
    valid = np.isfinite(difference)
    errors, linked = difference[valid], rows_of(groups, valid)
    if len(errors) < FEWEST:
        raise UndeterminedError(f"errors of reports need {FEWEST} trials, got {len(errors)}")
    if ring is not None:
        errors = (errors + ring / 2) % ring - ring / 2

    def statistics(rows: np.ndarray | slice) -> FloatArray:
        return _on_ring(errors[rows], ring) if ring is not None else np.array([errors[rows].mean(), errors[rows].std()])

    values = statistics(slice(None))
    draws = resampled(statistics, len(errors), linked, n_boot, seed).reshape(n_boot, len(values))
    n = len(errors) if linked is None else count_groups(linked)
    estimates = [Estimate.percentile(value, draw, level, n) for value, draw in zip(values, draws.T, strict=True)]
    return ContinuousReports(errors, *estimates)


def _on_ring(errors: np.ndarray, ring: float) -> FloatArray:
    """Return circular mean and standard deviation, share of guesses, and standard deviation without these."""
    angle, unit = 2 * np.pi * errors / ring, ring / (2 * np.pi)
    mean, cosine = np.exp(1j * angle).mean(), np.cos(angle)

    def surprise(at: np.ndarray) -> float:
        guesses, kappa = at[0], np.exp(at[1])
        return -float(np.log((1 - guesses) * np.exp(kappa * (cosine - 1)) / ive(0, kappa) + guesses).mean())

    found = [minimize(surprise, start, method="L-BFGS-B", bounds=BOUNDS) for start in STARTS]
    guesses, log_kappa = min(found, key=lambda each: each.fun).x
    length = float(np.divide(*ive([1, 0], np.exp(log_kappa))))
    return np.array([np.angle(mean) * unit, _deviation(abs(mean)) * unit, guesses, _deviation(length) * unit])


def _deviation(length: float) -> float:
    """Return the circular standard deviation (rad) for a mean resultant length."""
    return float(np.sqrt(2 * abs(np.log(np.clip(length, 1e-12, 1.0)))))
