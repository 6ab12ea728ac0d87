"""Credible intervals of a few parameters by adaptive importance sampling.

The curvature at the maximum is too narrow where the posterior is skewed, curved or has several modes, as that of most
learners. Points are drawn from a mixture of Student distributions at the maxima that searches found, weighted by
posterior and proposal, and drawn again from a distribution with their weighted mean and covariance; all rounds count
(adaptive multiple importance sampling; Cornuet et al. 2012, 10.1111/j.1467-9469.2011.00756.x).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from neurogym.array_types import FloatArray

#: Points of the first two rounds, which later double up to the most, and most rounds.
POINTS, MOST, ROUNDS = 400, 3200, 9
#: Degrees of freedom of proposals, and factor on the s.d. of the first.
FREEDOM, WIDER = 5.0, 1.4
#: Difference of the log-posterior from the best below which a maximum counts, and fewest effective points.
LOWER, EFFECTIVE = 8.0, 40.0
#: Effective points, and two largest changes of an end in widths of the interval, with which no further round is drawn.
ENOUGH, STEADY = 400.0, 0.08


class Credible(NamedTuple):
    """Marginal posterior of each parameter, in the scale of the search.

    Attributes:
        ends: 2.5 % and 97.5 % quantiles, shape (2, parameters).
        sd: standard deviations, shape (parameters,).
        effective: number of independent points to which the weighted points are equal.
    """

    ends: FloatArray
    sd: FloatArray
    effective: float

    @property
    def valid(self) -> bool:
        """Whether the points determine the intervals."""
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
    loss: Callable[[FloatArray], FloatArray], maxima: FloatArray, values: FloatArray, covariance: FloatArray, seed: int
) -> Credible:
    """Return credible intervals of the parameters of a function.

    Args:
        loss: negative log-posteriors (points,) at points (points, parameters).
        maxima: points where searches ended, shape (searches, parameters).
        values: losses there, shape (searches,).
        covariance: inverse curvature at the best of them, shape (parameters, parameters).
        seed: random seed.
    """
    rng, proposals, counts = np.random.default_rng([seed, 17]), list[_Proposal](), list[int]()
    proposal = _Proposal.of(maxima[values <= values.min() + LOWER], WIDER**2 * covariance)
    points, posterior = np.zeros((0, maxima.shape[1])), np.zeros(0)
    ends, changes = np.full((2, maxima.shape[1]), np.nan), list[float]()
    for number in range(ROUNDS):
        proposals.append(proposal)
        counts.append(min(POINTS * 2 ** max(number - 1, 0), MOST))
        drawn = proposal.draw(rng, counts[-1])
        points = np.concatenate([points, drawn])
        posterior = np.append(posterior, -np.nan_to_num(loss(drawn), nan=np.inf, posinf=np.inf))
        each = [q.log_density(points) + np.log(n) for q, n in zip(proposals, counts, strict=True)]
        weights = _normalised(posterior - logsumexp(each, axis=0))
        mean = weights @ points
        centred = points - mean
        spread = (weights[:, None] * centred).T @ centred
        proposal = _Proposal.of(mean[None], 1.1 * spread + 0.01 * covariance)
        before, ends = ends, np.quantile(points, (0.025, 0.975), axis=0, weights=weights, method="inverted_cdf")
        sd, effective = np.sqrt(weights @ centred**2), float(1 / (weights**2).sum())
        changes.append(float((np.abs(ends - before) / np.maximum(ends[1] - ends[0], 1e-12)).max()))
        if effective >= ENOUGH and len(changes) > 2 and max(changes[-2:]) < STEADY:  # the first is not a number
            break
    return Credible(ends, sd, effective)


def _normalised(logs: FloatArray) -> FloatArray:
    """Return weights that add up to 1; the largest are cut (Ionides 2008, 10.1198/106186008X320456)."""
    weights = np.exp(logs - logs.max())
    weights = np.minimum(weights, weights.mean() * np.sqrt(len(weights)))
    return np.asarray(weights / weights.sum())
