"""Maxima of posteriors with curvature and credible intervals: many fits of a model, all searches at once.

Parameters are searched in an unbounded scale (logit of rates, logarithm of positive numbers) with a Gaussian prior
each; intervals are credible intervals (see `neurogym.behaviour.models.credible`), or where these are not asked for or
uncertain, those of the curvature.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.agent_policy import AgentPolicy, gathered
from neurogym.behaviour.models.base import Fitted, Problem, UnfitError
from neurogym.behaviour.models.credible import credible
from neurogym.behaviour.models.marks import CONVERGED, fit_at
from neurogym.behaviour.models.one_trial import OneTrial
from neurogym.behaviour.models.scan import POINTS, padded_arrays, rounded, scan_of
from neurogym.behaviour.models.search import curvature, inverse_curvature, minimise

#: Random points of the prior that are tried for each fit, and the best of them from which the search starts.
DRAWS, STARTS = 48, 3


class _Posterior:
    """Negative log-posteriors of several problems, in units of the parameters.

    Args:
        agent: the model.
        problems: data and settings of each fit.
    """

    def __init__(self, agent: OneTrial, problems: Sequence[Problem]):
        self.parameters = [agent.parameters(each.table) for each in problems]
        self.n = len(problems[0].table.choices)
        self._scan, self._most = scan_of(agent, self.parameters[0], self.n), POINTS
        self._data = padded_arrays(gathered([each.table for each in problems]))
        self._on_device = self._scan.put(self._data)
        mean, sd, self.unit = (
            np.array([[getattr(p, name) for p in each] for each in self.parameters]) for name in ("mean", "sd", "unit")
        )
        for k, each in enumerate(problems):
            if each.prior is not None:
                mean[k], sd[k] = each.prior
        self.mean, self.sd = mean / self.unit, sd / self.unit
        self._size = rounded(len(problems))

    def slopes(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return values (problems, points) and gradients at points (problems, points, parameters)."""
        count = len(x)
        points = np.pad(x * self.unit[:, None], ((0, self._size - count), (0, 0), (0, 0)))
        value, slope = (np.asarray(each)[:count] for each in self._scan.slopes(points, self._on_device))
        z = (x - self.mean[:, None]) / self.sd[:, None]
        return 0.5 * (z**2).sum(-1) - value, z / self.sd[:, None] - slope * self.unit[:, None]

    def values(self, rows: np.ndarray, x: FloatArray) -> FloatArray:
        """Return values (rows, points) of some problems at points (rows, points, parameters)."""
        return np.stack([self._values(int(k), points) for k, points in zip(rows, x, strict=True)])

    def _values(self, k: int, x: FloatArray) -> FloatArray:
        data = {name: each[k] for name, each in self._data.items()}
        pieces = [x[start : start + self._most] for start in range(0, len(x), self._most)]
        scores = [np.asarray(self._scan.values(piece * self.unit[k], data)) for piece in pieces]
        prior = 0.5 * (((x - self.mean[k]) / self.sd[k]) ** 2).sum(1)
        return np.asarray(prior - np.concatenate(scores))

    def log_likelihood(self, x: FloatArray, value: FloatArray) -> FloatArray:
        """Return log-likelihoods (problems,) at points (problems, parameters) whose values are known."""
        return np.asarray(0.5 * (((x - self.mean) / self.sd) ** 2).sum(1) - value)


def fit_together(agent: OneTrial, problems: Sequence[Problem]) -> list[Fitted]:
    """Return maximum a posteriori fits of a learner to the tables of several problems."""
    posterior = _Posterior(agent, problems)
    starts = _starts(posterior, problems)
    if not np.isfinite(posterior.slopes(starts)[0]).all():
        raise UnfitError(f"{agent.name}: the log-likelihood is not a finite number; expected finite logits")
    points, values, slopes = minimise(posterior.slopes, starts, covariance=_expected(posterior, problems))
    rows, best = np.arange(len(problems)), values.argmin(1)
    x, slope = points[rows, best], slopes[rows, best]
    curved = curvature(posterior.slopes, x, starts.shape[1])
    covariance = np.stack([inverse_curvature(each, posterior.sd[k]) for k, each in enumerate(curved)])
    remaining = 0.5 * np.einsum("fi,fij,fj->f", slope, covariance, slope)
    score = posterior.log_likelihood(x, values[rows, best])
    intervals: dict[int, tuple[FloatArray, FloatArray]] = {}
    exact = np.flatnonzero([each.intervals for each in problems])
    if len(exact):
        found = credible(
            lambda which, tried: posterior.values(exact[which], tried),
            *(points[exact], values[exact], covariance[exact], [problems[int(k)].seed for k in exact]),
        )
        for j in np.flatnonzero(found.valid):
            unit = posterior.unit[exact[j]]
            intervals[int(exact[j])] = found.sd[j] * unit, np.stack([found.low[j], found.high[j]]) * unit
    fits = []
    for k, (problem, parameters) in enumerate(zip(problems, posterior.parameters, strict=True)):
        unit = posterior.unit[k]
        point, spread = x[k] * unit, covariance[k] * np.outer(unit, unit)
        policy = AgentPolicy(agent, parameters, point, posterior.n)
        sd = np.array([p.sd for p in parameters]) if problem.prior is None else None
        converged = bool(remaining[k] < CONVERGED)
        fits.append(
            fit_at(agent.name, policy, float(score[k]), parameters, point, spread, intervals.get(k), sd, converged)
        )
    return fits


def _expected(posterior: _Posterior, problems: Sequence[Problem]) -> FloatArray | None:
    """Return the covariances of earlier fits of all problems, or None."""
    known = [each.covariance for each in problems if each.covariance is not None]
    unit = posterior.unit[:, None] * posterior.unit[..., None]
    return np.stack(known) / unit if len(known) == len(problems) else None


def _starts(posterior: _Posterior, problems: Sequence[Problem]) -> FloatArray:
    """Return points from which searches begin (problems, starts, parameters): earlier fits, or the best draws."""
    known = [each.start for each in problems if each.start is not None]
    if len(known) == len(problems):
        return np.stack(known)[:, None] / posterior.unit[:, None]
    d = posterior.mean.shape[1]
    draws = [0.8 * np.random.default_rng(each.seed).standard_normal((DRAWS - 1, d)) for each in problems]
    points = posterior.mean[:, None] + posterior.sd[:, None] * np.pad(np.stack(draws), ((0, 0), (1, 0), (0, 0)))
    order = posterior.values(np.arange(len(points)), points).argsort(1)[:, :STARTS]
    return np.asarray(np.take_along_axis(points, order[..., None], 1))
