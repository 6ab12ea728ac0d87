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

#: Points of a round, most rounds, degrees of freedom of proposals, and factor on the s.d. of the first.
POINTS, ROUNDS, FREEDOM, WIDER = 400, 6, 5.0, 1.4
#: Difference of the log-posterior from the best below which a maximum counts, and fewest effective points.
LOWER, EFFECTIVE = 8.0, 40.0
ENOUGH = 400.0  #: effective points after which no further round is drawn


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
    count, _, d = maxima.shape
    every = np.arange(count)
    generators = [np.random.default_rng([seed, 17]) for seed in seeds]
    close = values <= values.min(1, keepdims=True) + LOWER
    proposals = [[_Proposal.of(maxima[k, close[k]], WIDER**2 * covariance[k])] for k in every]
    points, posterior = np.zeros((count, 0, d)), np.zeros((count, 0))
    weights = [np.zeros(0)] * count
    for _ in range(ROUNDS):
        drawn = np.stack([proposals[k][-1].draw(generators[k], POINTS) for k in every])
        points = np.concatenate([points, drawn], 1)
        found = -np.nan_to_num(loss(every, drawn), nan=np.inf, posinf=np.inf)
        posterior = np.concatenate([posterior, found], 1)
        for k in every:
            density = logsumexp([proposal.log_density(points[k]) for proposal in proposals[k]], axis=0)
            weights[k] = _normalised(posterior[k] - density)
            mean = weights[k] @ points[k]
            centred = points[k] - mean
            spread = (weights[k][:, None] * centred).T @ centred
            proposals[k].append(_Proposal.of(mean[None], 1.1 * spread + 0.01 * covariance[k]))
        if min(1 / (each**2).sum() for each in weights) >= ENOUGH:
            break
    w, order = np.stack(weights), points.argsort(1)
    sorted_points = np.take_along_axis(points, order, 1)
    reached = np.cumsum(np.take_along_axis(w[..., None], order, 1), 1)
    mean = np.einsum("kp,kpd->kd", w, points)
    sd = np.sqrt(np.einsum("kp,kpd->kd", w, (points - mean[:, None]) ** 2))
    ends = [_quantile(sorted_points, reached, q) for q in (0.025, 0.975)]
    return Credible(ends[0], ends[1], sd, 1 / (w**2).sum(1))


def _normalised(logs: FloatArray) -> FloatArray:
    """Return weights that add up to 1; the largest are cut (Ionides 2008, 10.1198/106186008X320456)."""
    weights = np.exp(logs - logs.max())
    weights = np.minimum(weights, weights.mean() * np.sqrt(len(weights)))
    return np.asarray(weights / weights.sum())


def _quantile(points: FloatArray, reached: FloatArray, q: float) -> FloatArray:
    index = np.minimum((reached < q).sum(1), points.shape[1] - 1)
    return np.asarray(np.take_along_axis(points, index[:, None], 1)[:, 0])
