"""Weights that drift from trial to trial: Gaussian filter and smoother, and the variances of their steps.

The posterior over weights is followed by a Gaussian filter with exact moments of the logit. The smoother of Rauch, Tung
and Striebel gives the weights over trials, and the slopes with which the variances maximise the marginal likelihood.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray

#: Iterations of the search for the variances, and the change of their logarithms at which it ends.
ITERATIONS, TOLERANCE = 50, 0.05
SMOOTHING_ROUNDS = 4  #: repetitions after which the smoothed weights are the most probable ones
SPREAD = 4 * np.log(2)  #: s.d. of the prior of the logarithm of the variance of a step: a factor of 4 in the s.d.
STEP = 0.3  #: of differences of slopes in the logarithm of a variance
FLOOR, STILL = 1e-8, 1e-12  #: smallest variance of a step of the weights that is estimated, and that is fixed
#: Points and weights of Gauss-Hermite quadrature over a logit.
NODES, LOGIT_WEIGHTS = np.polynomial.hermite.hermgauss(16)
LOGIT_WEIGHTS = LOGIT_WEIGHTS / np.sqrt(np.pi)


@dataclass(frozen=True)
class Walk:
    """Distribution of drifting weights.

    Attributes:
        mean: of the weights when a session begins, shape (weights,).
        start: variance of the weights when a session begins, shape (weights,).
        step: variance of the change from trial to trial, shape (weights,).
    """

    mean: FloatArray
    start: FloatArray
    step: FloatArray


@dataclass(frozen=True)
class WalkLimits:
    """Limits of the s.d. of the change of a weight from trial to trial.

    Attributes:
        low: smallest s.d.
        high: largest s.d.; the same as `low` to fix it.
    """

    low: float = 0.0
    high: float = np.inf

    @classmethod
    def of(cls, sigma: float, sigma_max: float) -> WalkLimits:
        """Return the limits for a fixed s.d. (negative to estimate it) and a largest one (0 for none)."""
        if sigma >= 0:
            return cls(sigma, sigma)
        return cls(0.0, sigma_max or np.inf)

    def marks(self, variances: Mapping[str, float]) -> dict[str, str]:
        """Return a mark for each s.d. at its upper bound, by name."""
        if self.low == self.high:
            return dict.fromkeys(variances, "fixed")
        bound = f"at its bound {self.high:g}"
        return {name: bound for name, each in variances.items() if each >= (1 - 1e-3) * self.high**2}

    def clipped(self, variance: FloatArray) -> FloatArray:
        """Return variances within the limits."""
        floor = STILL if self.low == self.high else FLOOR
        return np.clip(variance, max(self.low**2, floor), max(self.high**2, floor))


def deviation(variance: float, error: float) -> Estimate:
    """Return a s.d. with an interval, from a variance and the standard error of its logarithm."""
    value, factor = float(np.sqrt(variance)), float(np.exp(0.98 * error))
    return Estimate(value, value / factor, value * factor, value * error / 2)


@dataclass(frozen=True)
class Belief:
    """Gaussian belief about the weights.

    Attributes:
        mean: shape (sessions, weights).
        covariance: shape (sessions, weights, weights).
    """

    mean: FloatArray
    covariance: FloatArray


def begin(walk: Walk, n: int) -> Belief:
    """Return the belief before the first trial of ``n`` sessions."""
    return Belief(np.tile(walk.mean, (n, 1)), np.tile(np.diag(walk.start), (n, 1, 1)))


def _logits(belief: Belief, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the belief about the logit: mean, variance, covariance with the weights, and points of a quadrature."""
    px = np.einsum("sij,sj->si", belief.covariance, x)
    variance, logit = (px * x).sum(1), (belief.mean * x).sum(1)
    return logit, variance, px, logit[:, None] + np.sqrt(2 * variance)[:, None] * NODES


def probability(belief: Belief, x: FloatArray) -> FloatArray:
    """Return the probability of choice 1, uncertainty about the weights included, shape (sessions,)."""
    return np.asarray(expit(_logits(belief, x)[3]) @ LOGIT_WEIGHTS)


def learn(belief: Belief, x: FloatArray, choice: np.ndarray, count: FloatArray | None = None) -> Belief:
    """Return the belief after a choice (-1: a miss, from which nothing is learned).

    Mean and variance of the logit given the choice are found by quadrature and determine those of the weights.

    Args:
        belief: before the choice.
        x: predictors, shape (sessions, weights).
        choice: shape (sessions,).
        count: exponent of the likelihood of each choice, shape (sessions,); None for 1.
    """
    logit, variance, px, points = _logits(belief, x)
    p = expit(np.where(choice == 1, 1.0, -1.0)[:, None] * points)
    p = (p if count is None else p ** count[:, None]) * LOGIT_WEIGHTS
    p /= p.sum(1, keepdims=True)
    mean = (p * points).sum(1)
    after = (p * (points - mean[:, None]) ** 2).sum(1)
    valid = choice >= 0
    floor_variance = np.maximum(variance, 1e-12)
    gain = np.where(valid, (mean - logit) / floor_variance, 0.0)
    shrink = np.where(valid, (variance - after) / floor_variance**2, 0.0)
    return Belief(
        belief.mean + px * gain[:, None], belief.covariance - shrink[:, None, None] * px[:, :, None] * px[:, None, :]
    )


def learn_around(
    belief: Belief, x: FloatArray, choice: np.ndarray, logit: FloatArray, count: FloatArray | None = None
) -> Belief:
    """Return the belief after a choice whose likelihood is expanded around a logit, shape (sessions,)."""
    px = np.einsum("sij,sj->si", belief.covariance, x)
    p = np.clip(expit(logit), 1e-4, 1 - 1e-4)
    precision = np.where(choice >= 0, p * (1 - p) if count is None else count * p * (1 - p), 0.0)
    surprise = logit + (choice - p) / (p * (1 - p)) - (belief.mean * x).sum(1)
    share = precision / (1 + precision * (px * x).sum(1))
    mean = belief.mean + px * (share * surprise)[:, None]
    return Belief(mean, belief.covariance - share[:, None, None] * px[:, :, None] * px[:, None, :])


def _log_evidence(belief: Belief, x: FloatArray, choice: np.ndarray, count: FloatArray | None) -> FloatArray:
    """Return the logarithm of the expected likelihood, to the power of ``count``, of a choice, shape (sessions,)."""
    if count is None:
        p = probability(belief, x)
        return np.asarray(np.log(np.where(choice == 1, p, 1 - p)))
    likelihood = expit(np.where(choice == 1, 1.0, -1.0)[:, None] * _logits(belief, x)[3]) ** count[:, None]
    return np.asarray(np.log(likelihood @ LOGIT_WEIGHTS))


def diffuse(belief: Belief, walk: Walk) -> Belief:
    """Return the belief after a step of the weights."""
    return Belief(belief.mean, belief.covariance + np.diag(walk.step))


#: Steps whose s.d. is estimated.
ESTIMATED = WalkLimits()


@dataclass(frozen=True)
class Smoothed:
    """Posterior of the weights in all trials given all choices of a session.

    Attributes:
        mean: shape (trials, sessions, weights).
        covariance: shape (trials, sessions, weights, weights).
        steps: expected squares of the steps, summed over trials, shape (sessions, weights).
        log_likelihood: of all choices.
    """

    mean: FloatArray
    covariance: FloatArray
    steps: FloatArray
    log_likelihood: float


def smooth(
    walk: Walk,
    x: FloatArray,
    choice: np.ndarray,
    around: FloatArray | None = None,
    counts: FloatArray | None = None,
) -> Smoothed:
    """Return the weights of all trials.

    Args:
        walk: distribution of the weights.
        x: predictors, shape (sessions, trials, weights).
        choice: 0, 1 or -1, shape (sessions, trials).
        around: logits around which the likelihood of the choices is expanded, shape (sessions, trials); None for the
            mode of each belief. Repeated with the smoothed logits, the weights become the most probable ones.
        counts: exponent of the likelihood of each choice, shape (sessions, trials); None for 1.
    """
    sessions, trials, _ = x.shape
    belief, filtered, score = begin(walk, sessions), [], 0.0
    for t in range(trials):
        valid = choice[:, t] >= 0
        count = None if counts is None else counts[:, t]
        score += float(_log_evidence(belief, x[:, t], choice[:, t], count)[valid].sum())
        if around is None:
            filtered.append(learn(belief, x[:, t], choice[:, t], count))
        else:
            filtered.append(learn_around(belief, x[:, t], choice[:, t], around[:, t], count))
        belief = diffuse(filtered[-1], walk)
    mean = np.stack([each.mean for each in filtered])
    covariance = np.stack([each.covariance for each in filtered])
    steps = np.zeros_like(mean[0])
    lengths = (np.arange(trials)[None] * (choice >= 0)).max(1)  # steps after the last choice are not counted
    ahead = np.linalg.inv(covariance + np.diag(walk.step))
    for t in range(trials - 2, -1, -1):
        gain = covariance[t] @ ahead[t]
        after = covariance[t + 1]
        new_mean = mean[t] + np.einsum("sij,sj->si", gain, mean[t + 1] - mean[t])
        new = covariance[t] + gain @ (after - covariance[t] - np.diag(walk.step)) @ gain.transpose(0, 2, 1)
        cross = np.einsum("sij,sji->si", gain, after)  # diagonal of the covariance of neighbours
        square = (mean[t + 1] - new_mean) ** 2 + np.diagonal(after, 0, 1, 2) + np.diagonal(new, 0, 1, 2) - 2 * cross
        steps += np.where((t < lengths)[:, None], square, 0.0)
        mean[t], covariance[t] = new_mean, new
    return Smoothed(mean, covariance, steps, score)


def fit_walk(
    x: FloatArray,
    choice: np.ndarray,
    first: Walk,
    iterations: int = ITERATIONS,
    counts: FloatArray | None = None,
    prior: Walk | None = None,
    limits: WalkLimits = ESTIMATED,
) -> tuple[Walk, Smoothed]:
    """Fit the distribution of drifting weights to sessions; further arguments as in `smooth`.

    Variances follow the sign of the slope of the marginal likelihood in their logarithm (resilient propagation), which
    the smoother gives by Fisher's identity; expectation-maximisation alone needs thousands of iterations for them. A
    weak prior on the logarithm of the steps' variances, around those of the prior, keeps them from falling to zero.

    Args:
        x: predictors.
        choice: choices.
        first: where the search starts.
        iterations: of the search.
        counts: exponents of the likelihoods.
        prior: means of the priors; None for ``first``.
        limits: of the s.d. of a step.
    """
    prior = first if prior is None else prior
    walk, smoothed = first, smooth(first, x, choice, counts=counts)
    best = (smoothed.log_likelihood, walk, smoothed)
    count = steps_of(choice)
    size, before = np.full(2 * x.shape[2], 0.5), np.zeros(2 * x.shape[2])
    for _ in range(iterations):
        mean, slope = _slope(walk, smoothed, prior, count)
        turned = slope * before < 0
        size = np.clip(np.where(turned, 0.5 * size, np.where(before == 0, size, 1.2 * size)), 1e-3, 1.5)
        change = np.where(turned, 0.0, np.sign(slope) * size)
        before = np.where(turned, 0.0, slope)
        start, step = np.maximum(np.exp(np.log(np.r_[walk.start, walk.step]) + change), FLOOR).reshape(2, -1)
        walk = Walk(mean, start, limits.clipped(step))
        smoothed = smooth(walk, x, choice, counts=counts)
        value = smoothed.log_likelihood - 0.5 * float((np.log(walk.step / prior.step) ** 2).sum()) / SPREAD**2
        if value > best[0]:
            best = value, walk, smoothed
        if size.max() < TOLERANCE:
            break
    _, walk, smoothed = best
    score = smoothed.log_likelihood
    for _ in range(SMOOTHING_ROUNDS):
        smoothed = smooth(walk, x, choice, np.einsum("tsk,stk->st", smoothed.mean, x), counts)
    return walk, replace(smoothed, log_likelihood=score)


def steps_of(choice: np.ndarray) -> int:
    """Return the number of steps of the weights between the first and the last choice of all sessions."""
    return int((np.arange(choice.shape[1])[None] * (choice >= 0)).max(1).sum())


def _slope(walk: Walk, smoothed: Smoothed, prior: Walk, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the best mean of the first weights, and the slope of the log-posterior in the logarithms of variances.

    Args:
        walk: distribution of the weights.
        smoothed: weights given the choices.
        prior: of the distribution.
        count: number of steps.
    """
    w, v = smoothed.mean[0], np.diagonal(smoothed.covariance[0], 0, 1, 2)
    # a tenth of a session's worth of prior at the start keeps a single session from a variance of zero
    mean = (w.sum(0) + 0.1 * prior.mean) / (len(w) + 0.1)
    square = ((w - mean) ** 2 + v).sum(0) + 0.1 * prior.start
    slope = 0.5 * np.r_[square / walk.start - len(w) - 0.1, smoothed.steps.sum(0) / walk.step - count]
    slope[len(mean) :] -= np.log(walk.step / prior.step) / SPREAD**2
    return mean, slope


def spread_of_variances(
    walk: Walk, x: FloatArray, choice: np.ndarray, prior: Walk, counts: FloatArray | None = None
) -> FloatArray:
    """Return standard errors of the logarithms of start and step variances, shape (2 * weights,).

    The curvature of the log-posterior is that of differences of its slope. A direction in which it does not fall has
    the s.d. of the prior of a step.

    Args:
        walk: distribution of the weights with the largest posterior probability.
        x: predictors, shape (sessions, trials, weights).
        choice: 0, 1 or -1, shape (sessions, trials).
        prior: of the distribution.
        counts: exponent of the likelihood of each choice, shape (sessions, trials); None for 1.
    """
    logs, k, count = np.log(np.r_[walk.start, walk.step]), len(walk.mean), steps_of(choice)
    curvature = np.zeros((2 * k, 2 * k))
    for j in range(2 * k):
        slopes = []
        for sign in (1, -1):
            start, step = np.exp(logs + sign * STEP * (np.arange(2 * k) == j)).reshape(2, -1)
            moved = Walk(walk.mean, start, step)
            slopes.append(_slope(moved, smooth(moved, x, choice, counts=counts), prior, count)[1])
        curvature[j] = (slopes[1] - slopes[0]) / (2 * STEP)
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    covariance = (vectors / np.maximum(values, 1 / SPREAD**2)) @ vectors.T
    return np.asarray(np.sqrt(np.diag(covariance)))
