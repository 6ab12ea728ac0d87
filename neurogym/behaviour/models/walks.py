"""Weights that drift from trial to trial: Gaussian filter and smoother, and the variances of their steps.

The posterior over weights is followed by a Gaussian filter with exact moments of the logit. Its log-likelihood, a scan
over trials that JAX differentiates, is maximised by the mean and the variances of the weights. The smoother of Rauch,
Tung and Striebel gives the most probable weights over trials. Needs JAX (extra ``fit``).
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

from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.scan import filled
from neurogym.behaviour.models.search import curvature, inverse_curvature, minimise

SMOOTHING_ROUNDS = 8  #: repetitions after which the smoothed weights are the most probable ones
SPREAD = 4 * np.log(2)  #: s.d. of the prior of the logarithm of the variance of a step: a factor of 4 in the s.d.
START_PRIOR = 0.1  #: sessions that the prior of the start counts for, which keeps a single one from a variance of zero
FLOOR, STILL = 1e-8, 1e-12  #: smallest variance of a step of the weights that is estimated, and that is fixed
LEAST = 1e-12  #: smallest variance of a logit
#: Points and weights of Gauss-Hermite quadrature over a logit.
NODES, LOGIT_WEIGHTS = np.polynomial.hermite.hermgauss(16)
LOGIT_WEIGHTS = LOGIT_WEIGHTS / np.sqrt(np.pi)


@functools.partial(jax.tree_util.register_dataclass, data_fields=("mean", "start", "step"), meta_fields=())
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

    Mean and variance of the logit given the choice are found by quadrature and determine those of the weights.

    Args:
        belief: before the choice.
        x: predictors, shape (sessions, weights).
        choice: 0, 1 or -1 (a miss, from which nothing is learned), shape (sessions,).
        count: exponent of the likelihood of each choice, shape (sessions,).
        xp: NumPy or ``jax.numpy``.
    """
    px = xp.einsum("sij,sj->si", belief.covariance, x)
    variance = xp.maximum((px * x).sum(1), LEAST)
    away = xp.sqrt(2 * variance)[:, None] * NODES
    signed = xp.where(choice == 1, 1.0, -1.0)[:, None] * ((belief.mean * x).sum(1)[:, None] + away)
    p = xp.exp(-xp.where(choice < 0, 0.0, count)[:, None] * xp.logaddexp(0.0, -signed)) * LOGIT_WEIGHTS
    total = p.sum(1)
    p = p / total[:, None]
    shift = (p * away).sum(1)
    shrink = (variance - (p * (away - shift[:, None]) ** 2).sum(1)) / variance**2
    covariance = belief.covariance - shrink[:, None, None] * px[:, :, None] * px[:, None, :]
    return Belief(belief.mean + px * (shift / variance)[:, None], covariance), xp.log(total)


def probability(belief: Belief, x: FloatArray) -> FloatArray:
    """Return the probability of choice 1, uncertainty about the weights included, shape (sessions,)."""
    return np.asarray(np.exp(learn(belief, x, np.ones(len(x)))[1]))


def advance(belief: Belief, walk: Walk, x: FloatArray, choice: np.ndarray, count: Any = 1.0) -> Belief:
    """Return the belief before the next trial, after a choice and a step of the weights; see `learn`."""
    return diffuse(learn(belief, x, choice, count)[0], walk)


def diffuse(belief: Belief, walk: Walk, xp: Any = np) -> Belief:
    """Return the belief after a step of the weights."""
    return Belief(belief.mean, belief.covariance + xp.diag(walk.step))


class WalkTrials(NamedTuple):
    """Trials of drifting weights.

    Attributes:
        x: predictors, shape (sessions, trials, weights).
        choice: 0, 1 or -1, shape (sessions, trials).
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
        x: predictors, shape (sessions, trials, weights).
        choice: 0, 1 or -1, shape (sessions, trials).
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
        value, slope = _slopes(points, self._prior, self._limits.variances, self._trials)
        return np.asarray(value), np.asarray(slope)

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

    beliefs, logs = jax.lax.scan(step, begin(walk, len(trials.x), jnp), _by_trial(trials))[1]
    return beliefs, logs.sum()


@jax.jit
def _log_likelihood(walk: Walk, trials: WalkTrials) -> Array:
    return _filter(walk, trials)[1]


@jax.jit
def _smooth(walk: Walk, trials: WalkTrials) -> Belief:
    """Return the most probable weights, found by expanding the likelihood around those of the round before."""
    x, choice, count = _by_trial(trials)
    count = jnp.where(choice < 0, 0.0, count)

    def filtered(belief: Belief, trial: Any) -> tuple[Belief, Belief]:
        row, precision, target = trial
        px = jnp.einsum("sij,sj->si", belief.covariance, row)
        share = precision / (1 + precision * (px * row).sum(1))
        mean = belief.mean + px * (share * (target - (belief.mean * row).sum(1)))[:, None]
        learned = Belief(mean, belief.covariance - share[:, None, None] * px[:, :, None] * px[:, None, :])
        return diffuse(learned, walk, jnp), learned

    def back(after: Belief, belief: Belief) -> tuple[Belief, Belief]:
        gain = belief.covariance @ jnp.linalg.inv(belief.covariance + jnp.diag(walk.step))
        mean = belief.mean + jnp.einsum("sij,sj->si", gain, after.mean - belief.mean)
        change = after.covariance - belief.covariance - jnp.diag(walk.step)
        smoothed = Belief(mean, belief.covariance + gain @ change @ gain.swapaxes(1, 2))
        return smoothed, smoothed

    def again(_: int, smoothed: Belief) -> Belief:
        logit = jnp.einsum("tsk,tsk->ts", smoothed.mean, x)
        p = jnp.clip(jax.nn.sigmoid(logit), 1e-4, 1 - 1e-4)
        precision = p * (1 - p)
        rows = (x, count * precision, logit + (choice - p) / precision)
        last, beliefs = jax.lax.scan(filtered, begin(walk, x.shape[1], jnp), rows)
        return jax.lax.scan(back, last, beliefs, reverse=True)[1]

    most_probable: Belief = jax.lax.fori_loop(0, SMOOTHING_ROUNDS, again, _filter(walk, trials)[0])
    return most_probable


@jax.jit
def _slopes(points: Array, prior: Walk, variances: tuple[float, float], trials: WalkTrials) -> Any:
    each = jax.vmap(jax.value_and_grad(_loss), (0, None, None, None))
    return jax.vmap(each, (0, None, None, None))(points, prior, variances, trials)


def _by_trial(trials: WalkTrials) -> WalkTrials:
    return WalkTrials(*(each.swapaxes(0, 1) for each in trials))
