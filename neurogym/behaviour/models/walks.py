"""Weights that drift from trial to trial: Gaussian filter and smoother, and the variances of their steps.

P(choice = c) is proportional to exp(w_c . x) with w_0 = 0; the weights of the other choices drift. The posterior over
weights is followed by a Gaussian filter with moments of the logits by quadrature. Its log-likelihood, a scan over
trials that JAX differentiates, is maximised by the mean and the variances of the weights. The smoother of Rauch, Tung
and Striebel gives the most probable weights over trials. Needs JAX (extra ``fit``).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from neurogym.analysis.regression import log_chosen, log_softmax, with_reference
from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import UnfitError
from neurogym.behaviour.models.scan import filled, slopes_of
from neurogym.behaviour.models.search import curvature, inverse_curvature, minimise
from neurogym.behaviour.table import Behaviour

SMOOTHING_ROUNDS = 8  #: repetitions after which the smoothed weights are the most probable ones
SPREAD = 4 * np.log(2)  #: s.d. of the prior of the logarithm of the variance of a step: a factor of 4 in the s.d.
START_PRIOR = 0.1  #: sessions that the prior of the start counts for, which keeps a single one from a variance of zero
FLOOR, STILL = 1e-8, 1e-12  #: smallest variance of a step of the weights that is estimated, and that is fixed
LEAST = 1e-12  #: smallest variance of a logit
#: Points of quadrature over each of one logit, two logits, and so on; their product is the number of points.
NODES = (16, 8, 6, 4, 3)


@functools.cache
def quadrature(logits: int) -> tuple[FloatArray, FloatArray]:
    """Return points (points, logits) and weights of Gauss-Hermite quadrature over standard normal numbers."""
    rule = np.polynomial.hermite_e.hermegauss(NODES[logits - 1])
    points, weights = (np.stack(np.meshgrid(*[each] * logits), -1).reshape(-1, logits) for each in rule)
    return points, weights.prod(1) / weights.prod(1).sum()


@functools.partial(jax.tree_util.register_dataclass, data_fields=("mean", "start", "step"), meta_fields=())
@dataclass(frozen=True)
class Walk:
    """Distribution of drifting weights.

    Attributes:
        mean: of the weights of the choices but the first when a session begins, shape ((choices - 1) predictors,).
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

    @property
    def variances(self) -> tuple[float, float]:
        """Smallest and largest variance."""
        floor = STILL if self.low == self.high else FLOOR
        return max(self.low**2, floor), max(self.high**2, floor)

    def prior(self, mean: FloatArray, scale: FloatArray) -> Walk:
        """Return the prior of the weights of predictors with a scale, around weights that do not drift."""
        return Walk(mean, (0.5 / scale) ** 2, np.clip((0.02 / scale) ** 2, *self.variances))


def deviation(variance: float, error: float) -> Estimate:
    """Return a s.d. with an interval, from a variance and the standard error of its logarithm."""
    value, factor = float(np.sqrt(variance)), float(np.exp(0.98 * error))
    return Estimate(value, value / factor, value * factor, value * error / 2)


#: Steps whose s.d. is estimated.
ESTIMATED = WalkLimits()


class Belief(NamedTuple):
    """Gaussian belief about the weights.

    Attributes:
        mean: shape (sessions, weights).
        covariance: shape (sessions, weights, weights).
    """

    mean: Any
    covariance: Any


def begin(walk: Walk, n: int, xp: Any = np) -> Belief:
    """Return the belief before the first trial of ``n`` sessions; ``xp`` is NumPy or ``jax.numpy``."""
    return Belief(xp.tile(walk.mean, (n, 1)), xp.tile(xp.diag(walk.start), (n, 1, 1)))


def learn(belief: Belief, x: Any, choice: Any, count: Any = 1.0, xp: Any = np) -> tuple[Belief, Any]:
    """Return the belief after a choice, and the logarithm of the expected likelihood of the choice (sessions,).

    Mean and covariance of the logits given the choice are found by quadrature and determine those of the weights.

    Args:
        belief: before the choice.
        x: predictors, shape (sessions, predictors).
        choice: index, or -1 (a miss, from which nothing is learned), shape (sessions,).
        count: exponent of the likelihood of each choice, shape (sessions,).
        xp: NumPy or ``jax.numpy``.
    """
    logits, ways = logits_at_points(belief, x, xp)
    points, weights = quadrature(len(ways))
    p = xp.exp(xp.asarray(count)[..., None] * log_chosen(logits, choice[:, None], xp)) * weights
    total = p.sum(1)
    p = p / total[:, None]
    shift, squares = p @ points, points[:, :, None] * points[:, None]
    shrink = np.eye(len(ways)) - xp.einsum("sp,pjk->sjk", p, squares) + shift[:, :, None] * shift[:, None]
    mean, covariance = belief
    for j, way in enumerate(ways):
        change = sum(shrink[:, j, k, None] * other for k, other in enumerate(ways))
        mean, covariance = mean + way * shift[:, j, None], covariance - way[:, :, None] * change[:, None]
    return Belief(mean, covariance), xp.log(total)


def logits_at_points(belief: Belief, x: Any, xp: Any = np) -> tuple[Any, list[Any]]:
    """Return logits at the points of `quadrature`, and the change of the weights along each of its axes.

    The changes are those of one s.d.; the second does not change the first logit, the third neither of both, as in a
    Cholesky decomposition of the covariance of the logits.

    Returns:
        Logits of the choices but the first, shape (sessions, points, choices - 1), and changes (sessions, weights).
    """
    along = logits_of(belief.covariance, x[:, None])
    ways, slopes = list[Any](), list[Any]()
    for k in range(along.shape[-1]):
        way = along[..., k] - sum(each * slope[:, k, None] for each, slope in zip(ways, slopes, strict=True))
        slope = logits_of(way, x)
        sd = xp.sqrt(xp.maximum(slope[:, k], LEAST))[:, None]
        ways.append(way / sd)
        slopes.append(slope / sd)
    points = quadrature(len(ways))[0]
    away = sum(points[:, k, None] * slope[:, None] for k, slope in enumerate(slopes))
    return logits_of(belief.mean, x)[:, None] + away, ways


def logits_of(weights: Any, x: Any) -> Any:
    """Return logits (..., choices - 1) given weights (..., weights) and predictors (..., predictors)."""
    return (weights.reshape(*weights.shape[:-1], -1, x.shape[-1]) * x[..., None, :]).sum(-1)


def probabilities(belief: Belief, x: FloatArray) -> FloatArray:
    """Return the probability of each choice, uncertainty about the weights included, shape (sessions, choices)."""
    logits, ways = logits_at_points(belief, x)
    p = np.exp(log_softmax(with_reference(logits)))
    return np.einsum("spc,p->sc", p, quadrature(len(ways))[1])


def advance(belief: Belief, walk: Walk, x: FloatArray, choice: np.ndarray, count: Any = 1.0) -> Belief:
    """Return the belief before the next trial, after a choice and a step of the weights; see `learn`."""
    return diffuse(learn(belief, x, choice, count)[0], walk)


def diffuse(belief: Belief, walk: Walk, xp: Any = np) -> Belief:
    """Return the belief after a step of the weights."""
    return Belief(belief.mean, belief.covariance + xp.diag(walk.step))


def require_few_choices(table: Behaviour, model: str) -> None:
    """Refuse tables with more choices than a quadrature over their logits takes.

    Raises:
        UnfitError: if there are more.
    """
    most = 1 + len(NODES)
    if len(table.choices) > most:
        raise UnfitError(f"{model} needs at most {most} choices; the table has {len(table.choices)}")


class WalkTrials(NamedTuple):
    """Trials of drifting weights.

    Attributes:
        x: predictors, shape (sessions, trials, predictors).
        choice: index or -1, shape (sessions, trials).
        count: exponent of the likelihood of each choice, shape (sessions, trials).
    """

    x: Any
    choice: Any
    count: Any


class WalkPosterior:
    """Posterior of the distribution of drifting weights, and of the weights.

    The mean and the variances of the first weights have a prior that counts as a tenth of a session, variances of steps
    a wide log-normal one, which keeps them from falling to zero.

    Args:
        x: predictors, shape (sessions, trials, predictors).
        choice: index or -1, shape (sessions, trials).
        prior: means of the priors.
        limits: of the s.d. of a step.
        count: exponent of the likelihood of each choice, shape (sessions, trials); None for 1.
    """

    def __init__(
        self,
        x: FloatArray,
        choice: np.ndarray,
        prior: Walk,
        limits: WalkLimits = ESTIMATED,
        count: FloatArray | None = None,
    ):
        self._prior, self._limits, self._shape = prior, limits, choice.shape
        counts = np.ones(choice.shape) if count is None else count
        self._trials = jax.device_put(WalkTrials(filled(x, 2), filled(choice, 2, -1), filled(counts, 2)))

    def maximum(self, first: Walk | None = None) -> tuple[Walk, float]:
        """Return the best distribution, searched from ``first`` or the prior, and the log-likelihood of all choices."""
        points = minimise(self._slopes, self._point(first or self._prior)[None, None])[0]
        walk = _walk_of(points[0, 0], self._prior, self._limits.variances)
        return Walk(*map(np.asarray, vars(walk).values())), float(_log_likelihood(walk, self._trials))

    def spread(self, walk: Walk) -> FloatArray:
        """Return standard errors of the logarithms of start and step variances, shape (2 * weights,)."""
        d = len(walk.mean)
        curved = curvature(self._slopes, self._point(walk)[None])[0][d:, d:]
        return np.sqrt(np.diag(inverse_curvature(curved, np.array(SPREAD))))

    def smoothed(self, walk: Walk) -> Belief:
        """Return the weights of all trials given all choices of a session, with a leading axis for the trial."""
        sessions, trials = self._shape
        return Belief(*(np.asarray(each)[:trials, :sessions] for each in _smooth(walk, self._trials)))

    def _slopes(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        return _slopes(points, self._prior, self._limits.variances, self._trials)

    def _point(self, walk: Walk) -> FloatArray:
        away = (walk.mean - self._prior.mean) / np.sqrt(self._prior.start)
        return np.concatenate([away, np.log(walk.start), np.log(walk.step)])


def _walk_of(point: Any, prior: Walk, variances: tuple[float, float]) -> Walk:
    """Return the distribution at a point of the search: standardised mean, and logarithms of variances."""
    mean, start, step = jnp.split(point, 3)
    start, step = jnp.maximum(jnp.exp(start), FLOOR), jnp.clip(jnp.exp(step), *variances)
    return Walk(prior.mean + jnp.sqrt(prior.start) * mean, start, step)  # type: ignore[arg-type]


def _loss(point: Array, prior: Walk, variances: tuple[float, float], trials: WalkTrials) -> Array:
    walk, steps = _walk_of(point, prior, variances), point[2 * len(prior.mean) :]
    first = ((walk.mean - prior.mean) ** 2 + prior.start) / walk.start + jnp.log(walk.start)
    distance = ((steps - jnp.log(prior.step)) / SPREAD) ** 2
    return 0.5 * (START_PRIOR * first + distance).sum() - _filter(walk, trials)[1]


def _filter(walk: Walk, trials: WalkTrials) -> tuple[Belief, Array]:
    """Return the beliefs after each choice (trials, sessions, ...), and the log-likelihood of all choices."""

    def step(belief: Belief, trial: WalkTrials) -> tuple[Belief, tuple[Belief, Array]]:
        learned, log = learn(belief, *trial, xp=jnp)
        return diffuse(learned, walk, jnp), (learned, log)

    # Steps that are computed again take less time than their numbers that are kept for the gradient.
    beliefs, logs = jax.lax.scan(jax.checkpoint(step), begin(walk, len(trials.x), jnp), _by_trial(trials))[1]
    return beliefs, logs.sum()


@jax.jit
def _log_likelihood(walk: Walk, trials: WalkTrials) -> Array:
    return _filter(walk, trials)[1]


@jax.jit
def _smooth(walk: Walk, trials: WalkTrials) -> Belief:
    """Return the most probable weights, found by expanding the likelihood around those of the round before."""
    x, choice, count = _by_trial(trials)
    free = len(walk.mean) // x.shape[-1]
    count = jnp.where(choice < 0, 0.0, count)[..., None]
    chosen = jax.nn.one_hot(choice, free + 1)[..., 1:]

    def filtered(belief: Belief, trial: Any) -> tuple[Belief, Belief]:
        row, precision, target = trial
        px = logits_of(belief.covariance, row[:, None])
        noise = jnp.eye(free) + precision @ logits_of(px.swapaxes(1, 2), row[:, None])
        surprise = target - (precision @ logits_of(belief.mean, row)[..., None])[..., 0]
        shares = jnp.linalg.solve(noise, jnp.concatenate([precision, surprise[..., None]], -1))
        mean = belief.mean + (px @ shares[..., -1:])[..., 0]
        learned = Belief(mean, belief.covariance - px @ shares[..., :-1] @ px.swapaxes(1, 2))
        return diffuse(learned, walk, jnp), learned

    def back(after: Belief, belief: Belief) -> tuple[Belief, Belief]:
        gain = belief.covariance @ jnp.linalg.inv(belief.covariance + jnp.diag(walk.step))
        mean = belief.mean + jnp.einsum("sij,sj->si", gain, after.mean - belief.mean)
        change = after.covariance - belief.covariance - jnp.diag(walk.step)
        smoothed = Belief(mean, belief.covariance + gain @ change @ gain.swapaxes(1, 2))
        return smoothed, smoothed

    def again(_: int, smoothed: Belief) -> Belief:
        logits = logits_of(smoothed.mean, x)
        p = jnp.clip(jax.nn.softmax(jnp.pad(logits, ((0, 0), (0, 0), (1, 0))))[..., 1:], 1e-4, 1 - 1e-4)
        precision = count[..., None] * (p[..., None] * jnp.eye(free) - p[..., None] * p[..., None, :])
        rows = (x, precision, count * (chosen - p) + (precision @ logits[..., None])[..., 0])
        last, beliefs = jax.lax.scan(filtered, begin(walk, x.shape[1], jnp), rows)
        return jax.lax.scan(back, last, beliefs, reverse=True)[1]

    most_probable: Belief = jax.lax.fori_loop(0, SMOOTHING_ROUNDS, again, _filter(walk, trials)[0])
    return most_probable


_slopes = slopes_of(_loss, 3)


def _by_trial(trials: WalkTrials) -> WalkTrials:
    return WalkTrials(*(each.swapaxes(0, 1) for each in trials))
