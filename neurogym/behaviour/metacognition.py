"""Confidence: calibration, and metacognitive sensitivity by signal detection theory.

Maniscalco & Lau 2012, A signal detection theoretic approach for estimating metacognitive sensitivity from confidence
ratings, 10.1016/j.concog.2011.09.021.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from neurogym.analysis.intervals import proportion_curve
from neurogym.analysis.results import Curve, Estimate, Result
from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.psychometrics import levels_of
from neurogym.behaviour.table import Behaviour

MOST_RATINGS, BINS = 8, 4  #: most ratings that are not binned, and bins of finer scales
FEWEST_JUDGEMENTS = 100  #: trials below which meta-d' is not estimated


@dataclass(frozen=True)
class ConfidenceNumbers(Result):
    """Confidence of a subject.

    Attributes:
        calibration: share of correct choices against the confidence.
        d_prime: sensitivity of the choices; None with too few trials, other than two choices, or unknown truth.
        meta_d_prime: sensitivity that an ideal observer with the subject's confidence would have.
        m_ratio: meta_d_prime / d_prime.
    """

    calibration: Curve
    d_prime: Estimate | None = None
    meta_d_prime: Estimate | None = None
    m_ratio: Estimate | None = None


def confidence_numbers(table: Behaviour) -> ConfidenceNumbers | None:
    """Return the numbers of confidence judgements, or None without these."""
    confidence, correct = table.join("confidence"), table.join("correct")
    choice, truth = table.join("choice"), table.join("truth")
    rows = np.isfinite(confidence) & np.isfinite(correct) & (choice >= 0)
    if rows.sum() < 2 or len(np.unique(confidence[rows])) < 2:
        return None
    levels, rating = levels_of(confidence[rows], MOST_RATINGS, BINS)
    calibration = proportion_curve(levels, rating, correct[rows], table.interval_groups(rows))
    judged = truth[rows] >= 0
    if judged.sum() < FEWEST_JUDGEMENTS or len(table.choices) != 2 or len(np.unique(truth[rows][judged])) < 2:
        return ConfidenceNumbers(calibration)
    d, meta, ratio = meta_d_prime(truth[rows][judged], choice[rows][judged], rating[judged], len(levels))
    return ConfidenceNumbers(calibration, d, meta, ratio)


def meta_d_prime(
    truth: IntArray, choice: IntArray, rating: IntArray, n_ratings: int
) -> tuple[Estimate, Estimate, Estimate]:
    """Return d', meta-d' and their ratio, by maximum likelihood.

    Args:
        truth: correct choice, 0 or 1, shape (trials,).
        choice: choice, 0 or 1, shape (trials,).
        rating: confidence, 0 (lowest) to ``n_ratings - 1``, shape (trials,).
        n_ratings: number of ratings.
    """
    from scipy.optimize import minimize

    counts = np.zeros((2, 2, n_ratings))
    np.add.at(counts, (truth, choice, rating), 1)
    padded = counts + 1 / (2 * n_ratings)
    hits, false = (padded[k, 1].sum() / padded[k].sum() for k in (1, 0))
    d = float(ndtri(hits) - ndtri(false))
    bias = float(-0.5 * (ndtri(hits) + ndtri(false)))
    errors = [h * (1 - h) / padded[k].sum() / _density(ndtri(h)) ** 2 for k, h in ((1, hits), (0, false))]
    d_error = float(np.sqrt(sum(errors)))
    relative = bias / d if abs(d) > 1e-6 else 0.0

    def loss(theta: FloatArray) -> float:
        p = _ratings_given_choice(theta, relative, n_ratings)
        return -float(np.sum(padded * np.log(np.clip(p, 1e-12, None))))

    start = np.concatenate([[max(d, 0.1)], np.full(2 * (n_ratings - 1), np.log(1.5 / n_ratings))])
    best = minimize(loss, start, method="L-BFGS-B", bounds=[(-5, 8)] + [(-6, 3)] * (len(start) - 1))
    meta, error = float(best.x[0]), _error(loss, best.x)
    ratio = meta / d if abs(d) > 1e-6 else np.nan
    ratio_error = abs(ratio) * np.hypot(error / max(abs(meta), 1e-9), d_error / max(abs(d), 1e-9))
    return Estimate.normal(d, d_error), Estimate.normal(meta, error), Estimate.normal(ratio, ratio_error)


def _density(z: float) -> float:
    return float(np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi))


def _ratings_given_choice(theta: FloatArray, relative: float, n_ratings: int) -> FloatArray:
    """Return the probability of each rating given truth and choice, shape (truths, choices, ratings)."""
    meta = theta[0]
    middle = relative * meta
    steps = np.exp(theta[1:]).reshape(2, n_ratings - 1)
    p = np.empty((2, 2, n_ratings))
    for stimulus in (0, 1):
        mean = meta / 2 if stimulus else -meta / 2
        for chosen in (0, 1):
            sign = 1 if chosen else -1
            edges = np.concatenate([[middle], middle + sign * np.cumsum(steps[chosen]), [sign * np.inf]])
            mass = np.abs(np.diff(ndtr(edges - mean)))
            p[stimulus, chosen] = mass / max(mass.sum(), 1e-12)
    return p


def _error(loss: object, best: FloatArray) -> float:
    """Return the standard error of the first parameter, from the curvature of the profile of the likelihood."""
    from scipy.optimize import minimize

    assert callable(loss)
    step = 0.1

    def profiled(value: float) -> float:
        rest = minimize(
            lambda free: loss(np.append(value, free)), best[1:], method="L-BFGS-B", bounds=[(-6, 3)] * (len(best) - 1)
        )
        return float(rest.fun)

    curvature = (profiled(best[0] + step) - 2 * loss(best) + profiled(best[0] - step)) / step**2
    return float(1 / np.sqrt(curvature)) if curvature > 0 else np.nan
