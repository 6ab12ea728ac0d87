"""Credible intervals of a few parameters by adaptive importance sampling.

The curvature at the maximum is too narrow where the posterior is skewed, curved or has several modes, as that of most
learners. Points are drawn from a mixture of Student distributions at the maxima that searches found, weighted by
posterior and proposal, and drawn again from a distribution with their weighted mean and covariance; all rounds count
(adaptive multiple importance sampling; Cornuet et al. 2012, 10.1111/j.1467-9469.2011.00756.x).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.search import Loss

#: Points of the first two rounds, which later double up to the most, and most rounds.
POINTS, MOST, ROUNDS = 400, 3200, 9
#: Degrees of freedom of proposals, and factor on the s.d. of the first.
FREEDOM, WIDER = 5.0, 1.4
#: Difference of the log-posterior from the best below which a maximum counts, and fewest effective points.
LOWER, EFFECTIVE = 8.0, 40.0
#: Effective points, and two largest changes of an end in widths of the interval, with which no further round is drawn.
ENOUGH, STEADY = 400.0, 0.08


@dataclass
class Credible:
    """Marginal posterior of each parameter, in the scale of the search.

    Attributes:
        low: 2.5 % quantile, shape (functions, parameters).
        high: 97.5 % quantile, shape (functions, parameters).
        sd: standard deviation, shape (functions, parameters).
        effective: number of independent points to which the weighted points are equal, shape (functions,).
    """

    low: FloatArray
    high: FloatArray
    sd: FloatArray
    effective: FloatArray

    @property
    def valid(self) -> np.ndarray:
        """Whether the points determine the intervals, shape (functions,)."""
        return self.effective >= EFFECTIVE


@dataclass
class _Proposal:
    """Student distribution around one or several centres with a common covariance."""

    centres: FloatArray
    root: FloatArray

    @classmethod
    def of(cls, centres: FloatArray, covariance: FloatArray) -> _Proposal:
        values, vectors = np.linalg.eigh(covariance)
        return cls(centres, vectors * np.sqrt(np.maximum(values, 1e-10)))

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        d = self.centres.shape[1]
        scale = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, (n, 1)))
        return self.centres[np.arange(n) % len(self.centres)] + scale * rng.standard_normal((n, d)) @ self.root.T

    def log_density(self, x: FloatArray) -> FloatArray:
        d = x.shape[1]
        white = np.linalg.solve(self.root, (x[:, None] - self.centres).reshape(-1, d).T).T
        distance = (white**2).sum(1).reshape(len(x), -1)
        constant = gammaln((FREEDOM + d) / 2) - gammaln(FREEDOM / 2) - d / 2 * np.log(FREEDOM * np.pi)
        each = constant - np.linalg.slogdet(self.root)[1] - (FREEDOM + d) / 2 * np.log1p(distance / FREEDOM)
        return np.asarray(logsumexp(each, axis=1) - np.log(len(self.centres)))


def credible(
    loss: Loss, maxima: FloatArray, values: FloatArray, covariance: FloatArray, seeds: Sequence[int]
) -> Credible:
    """Return credible intervals of the parameters of several functions.

    Args:
        loss: negative log-posteriors, see `neurogym.behaviour.models.search.Loss`.
        maxima: points where searches ended, shape (functions, searches, parameters).
        values: losses there, shape (functions, searches).
        covariance: inverse curvatures at the best of them, shape (functions, parameters, parameters).
        seeds: seed of each function.
    """
    close = values <= values.min(1, keepdims=True) + LOWER
    samples = [_Samples(maxima[k, close[k]], covariance[k], seed) for k, seed in enumerate(seeds)]
    for number in range(ROUNDS):
        active = np.array([k for k, each in enumerate(samples) if not each.steady], int)
        if not len(active):
            break
        drawn = np.stack([samples[k].draw(min(POINTS * 2 ** max(number - 1, 0), MOST)) for k in active])
        found = -np.nan_to_num(loss(active, drawn), nan=np.inf, posinf=np.inf)
        for k, points, posterior in zip(active, drawn, found, strict=True):
            samples[k].add(points, posterior)
    ends = np.stack([each.ends for each in samples])
    sd, effective = np.stack([each.sd for each in samples]), np.array([each.effective for each in samples])
    return Credible(ends[:, 0], ends[:, 1], sd, effective)


class _Samples:
    """Weighted points of one function, and the distributions that these were drawn from.

    Args:
        centres: maxima, shape (maxima, parameters).
        covariance: inverse curvature at the best of these.
        seed: random seed.
    """

    def __init__(self, centres: FloatArray, covariance: FloatArray, seed: int):
        d = centres.shape[1]
        self.rng, self.covariance = np.random.default_rng([seed, 17]), covariance
        self.proposals, self.counts = [_Proposal.of(centres, WIDER**2 * covariance)], list[int]()
        self.points, self.posterior = np.zeros((0, d)), np.zeros(0)
        self.ends, self.sd = np.full((2, d), np.nan), np.full(d, np.nan)
        self.effective, self.change, self.steady = 0.0, np.inf, False

    def draw(self, n: int) -> FloatArray:
        """Return points of the latest distribution."""
        return self.proposals[-1].draw(self.rng, n)

    def add(self, points: FloatArray, posterior: FloatArray) -> None:
        """Weight further points with all others, and add a distribution with the weighted mean and covariance."""
        self.counts.append(len(points))
        self.points, self.posterior = np.concatenate([self.points, points]), np.append(self.posterior, posterior)
        each = [q.log_density(self.points) + np.log(n) for q, n in zip(self.proposals, self.counts, strict=True)]
        weights = _normalised(self.posterior - logsumexp(each, axis=0))
        mean = weights @ self.points
        centred = self.points - mean
        spread = (weights[:, None] * centred).T @ centred
        self.proposals.append(_Proposal.of(mean[None], 1.1 * spread + 0.01 * self.covariance))
        order = self.points.argsort(0)
        ranked, reached = np.take_along_axis(self.points, order, 0), np.cumsum(weights[order], 0)
        before, self.ends = self.ends, np.stack([_quantile(ranked, reached, q) for q in (0.025, 0.975)])
        self.sd, self.effective = np.sqrt(weights @ centred**2), float(1 / (weights**2).sum())
        last, width = self.change, np.maximum(self.ends[1] - self.ends[0], 1e-12)
        self.change = float((np.abs(self.ends - before) / width).max())  # nan after the first round
        self.steady = bool(self.effective >= ENOUGH and self.change < STEADY and last < STEADY)


def _normalised(logs: FloatArray) -> FloatArray:
    """Return weights that add up to 1; the largest are cut (Ionides 2008, 10.1198/106186008X320456)."""
    weights = np.exp(logs - logs.max())
    weights = np.minimum(weights, weights.mean() * np.sqrt(len(weights)))
    return np.asarray(weights / weights.sum())


def _quantile(points: FloatArray, reached: FloatArray, q: float) -> FloatArray:
    """Return a quantile of each column of points in order, given the weight up to each."""
    index = np.minimum((reached < q).sum(0), len(points) - 1)
    return np.asarray(points[index, np.arange(points.shape[1])])
