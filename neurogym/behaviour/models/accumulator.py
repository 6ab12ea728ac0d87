"""Accumulation of pulses to sticky bounds (Brunton, Botvinick & Brody 2013, 10.1126/science.1233912).

The accumulator a of a trial begins at time 0 from N(0, sigma_i^2) and follows

    da = lambda a dt + sigma_a dW + sum over pulses of side * C * eta,   eta ~ N(1, sigma_s^2),

with side -1 for pulses of the first choice and 1 for those of the second, until a reaches B or -B, where it stays.
C is 1 at first; each pulse multiplies it by phi, and between pulses dC/dt = (1 - C) / tau_phi. Pulses at the same time
have the same C. At the end of the stimulus the second choice is taken if a > bias; a share ``lapse`` of the choices is
random. Times are in s, a is in pulses, sigma_a in pulses / sqrt(s), lambda in 1 / s.

Without a bound, a is Gaussian with a mean and a variance in closed form. With a bound, its density is followed on a
grid through bins of 10 ms that end with the stimulus. In each, the Fourier transform of the density takes the exact
change by leak, noise and pulses, so that a grid adds no spread; then what lies beyond a bound is taken out. A bound
that noise reaches within a bin counts as closer by 0.5826 sigma_a sqrt(dt) (Broadie, Glasserman & Kou 1997,
10.1111/1467-9965.00035).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.stats import norm

from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models.base import (
    Fitted,
    OneByOne,
    Policy,
    Problem,
    UnfitError,
    log_likelihoods,
    require_two,
)
from neurogym.behaviour.models.evidence import rounded
from neurogym.behaviour.models.marks import fit_at
from neurogym.behaviour.models.parameters import ModelParameter, Prior, positive, prior_of, real, unit, with_priors
from neurogym.behaviour.models.scan import natural
from neurogym.behaviour.models.search import curvature, inverse_curvature, maximum, minimise, posterior_slopes
from neurogym.behaviour.table import Behaviour, Session
from neurogym.messages.options import option

#: Length of a bin (s), cells between the bounds, and cells of the grid, which has as many on either side: what leaps
#: over a bound shall not come in at the other end.
BIN, CELLS, GRID = 0.01, 32, 96
#: Distance (s.d. of the noise of a bin) by which bounds are closer where they are watched at the ends of bins only.
CLOSER = 0.5826
#: S.d. of the accumulator without a bound beyond which a bound changes nothing.
BEYOND = 5.0
#: Trials that are computed together.
TOGETHER = 512
#: Bounds (pulses) from which searches may start.
START_BOUNDS = (4.0, 8.0, 16.0)
PARAMETERS = (
    real(3.0, "lambda"),
    positive(1.0, 1.0, "sigma_a"),
    positive(0.5, 1.0, "sigma_s"),
    positive(0.5, 1.0, "sigma_i"),
    positive(10.0, 0.8, "B"),
    positive(0.7, 1.0, "phi"),
    positive(0.1, 1.0, "tau_phi"),
    real(2.0, "bias"),
    unit(-3.0, 1.5, name="lapse"),
)
NAMES = tuple(each.name for each in PARAMETERS)
#: Values of parameters that a model is without.
WITHOUT = {"B": np.inf, "phi": 1.0, "tau_phi": 1.0}


def pulse_arrays(sessions: Sequence[Session], rows: IntArray) -> dict[str, np.ndarray]:
    """Return pulses of some trials as arrays, in the order of time and filled up to few shapes.

    Args:
        sessions: with pulses.
        rows: numbers of the trials, in the order of the sessions.

    Returns:
        For each trial the time ``left`` from the beginning to the end of the first bin, the duration, and the number of
        the ``first`` bin; for each pulse its side (0: none), the time ``gap`` since the pulse before, the time until
        the ``end`` of the stimulus, and its bin (trials, pulses); the number of bins as the length of ``bins``.
    """
    pulses = np.concatenate([each.pulses for each in sessions])[rows]
    duration = np.concatenate([each.duration for each in sessions])[rows]
    times = np.nan_to_num(pulses.reshape(len(rows), -1), nan=np.inf)
    order = np.argsort(times, axis=1, kind="stable")
    side = np.repeat([-1.0, 1.0], pulses.shape[2])[order]
    times = np.take_along_axis(times, order, 1)
    present = times <= duration[:, None] + 1e-9
    times = np.where(present, times, duration[:, None])
    end = np.maximum(duration[:, None] - times, 0.0)
    count = np.maximum(np.ceil(duration / BIN - 1e-9).astype(int), 1)
    n = 8 * -(-int(count.max(initial=1)) // 8)
    arrays = {
        "left": duration - (count - 1) * BIN,
        "duration": duration,
        "first": n - count,
        "side": np.where(present, side, 0.0),
        "gap": np.diff(times, axis=1, prepend=-np.inf),
        "end": end,
        "bin": n - 1 - np.minimum((end / BIN + 1e-9).astype(int), count[:, None] - 1),
    }
    most, width = int(present.sum(1).max(initial=1)), rounded(len(rows)) - len(rows)
    for name, each in arrays.items():
        kept = each[:, :most] if each.ndim > 1 else each
        columns = [(0, rounded(most) - kept.shape[1])] if each.ndim > 1 else []
        arrays[name] = np.pad(kept, [(0, width), *columns])
    return {**arrays, "bins": np.zeros(n)}


def _growth(x: Array) -> Array:
    """Return (e^x - 1) / x."""
    small = jnp.abs(x) < 1e-5
    return jnp.where(small, 1 + x / 2, jnp.expm1(x) / jnp.where(small, 1.0, x))


def _sizes(p: Any, arrays: Mapping[str, Array]) -> Array:
    """Return the size C of each pulse, shape (trials, pulses)."""

    def step(state: tuple[Array, Array], gap: Array) -> tuple[tuple[Array, Array], Array]:
        before, after = state
        together = gap <= 0
        size = jnp.where(together, before, 1 + (after - 1) * jnp.exp(-jnp.minimum(gap, 1e6) / p["tau_phi"]))
        return (size, p["phi"] * jnp.where(together, after, size)), size

    gaps = arrays["gap"].T
    return jax.lax.scan(step, (jnp.ones(gaps.shape[1]),) * 2, gaps)[1].T


def _unbounded(p: Any, arrays: Mapping[str, Array], size: Array) -> Array:
    """Return the probability that the accumulator ends above the criterion, without a bound."""
    kept, total = jnp.exp(p["lambda"] * arrays["end"]), p["lambda"] * arrays["duration"]
    mean = (arrays["side"] * size * kept).sum(1)
    pulses = (jnp.abs(arrays["side"]) * (size * kept) ** 2).sum(1)
    noise = p["sigma_i"] ** 2 * jnp.exp(2 * total) + p["sigma_a"] ** 2 * arrays["duration"] * _growth(2 * total)
    return norm.cdf((mean - p["bias"]) / jnp.sqrt(noise + p["sigma_s"] ** 2 * pulses))


def _powers(angle: Array, n: int) -> Array:
    """Return e^(i j angle) for j from 0 to n - 1, shape (trials, n), by products: sines of all would take longer."""
    factor = jnp.exp(1j * angle)[:, None]
    powers = jnp.ones_like(factor)
    while powers.shape[1] < n:
        powers, factor = jnp.concatenate([powers, factor * powers], 1), factor**2
    return powers[:, :n]


def _reach(rate: Array, mean: Array, noise: Array) -> Array:
    """Return the distance from 0 that an accumulator without a bound hardly exceeds, shape (trials,)."""
    growth = jnp.exp(rate * BIN)

    def step(state: tuple[Array, Array], bin: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
        state = growth * state[0] + bin[0], growth**2 * state[1] + bin[1]
        return state, jnp.abs(state[0]) + BEYOND * jnp.sqrt(state[1] + 1e-6)

    zero = jnp.zeros(len(mean))
    return jax.lax.scan(step, (zero, zero), (mean.T, noise.T))[1].max(0)


def _bounded(p: Any, arrays: Mapping[str, Array], size: Array) -> Array:
    """Return the probability that the accumulator ends above the criterion or at the upper bound."""
    rate, n, first = p["lambda"], len(arrays["bins"]), arrays["first"][:, None]
    kept = size * jnp.exp(rate * (arrays["end"] - BIN * (n - 1 - arrays["bin"])))  # at the end of the bin
    rows, empty = jnp.arange(len(size))[:, None], jnp.zeros((len(size), n))
    mean = empty.at[rows, arrays["bin"]].add(arrays["side"] * kept)
    pulses = empty.at[rows, arrays["bin"]].add(jnp.abs(arrays["side"]) * kept**2)
    length = jnp.where(jnp.arange(n) == first, arrays["left"][:, None], BIN)
    noise = p["sigma_s"] ** 2 * pulses + p["sigma_a"] ** 2 * length * _growth(2 * rate * length)
    noise += jnp.where(jnp.arange(n) == first, p["sigma_i"] ** 2 * jnp.exp(2 * rate * length), 0.0)
    noise = jnp.where(jnp.arange(n) < first, 0.0, noise)

    bound = p["B"] - CLOSER * p["sigma_a"] * jnp.sqrt(BIN)
    edge = jnp.minimum(jnp.maximum(bound, 0.25 * p["B"]), _reach(rate, mean, noise))[:, None]
    mean, noise = mean / edge, noise / edge**2
    width = 2 / CELLS
    y = width * (jnp.arange(GRID) + 0.5) - GRID / CELLS
    inside = y[CELLS:-CELLS]
    k = 2 * jnp.pi / (GRID * width) * jnp.arange(GRID // 2 + 1)
    angle = jnp.exp(rate * BIN) * inside[:, None] * k - y[0] * k
    transform = jnp.concatenate([jnp.cos(angle), -jnp.sin(angle)], 1)

    total = jnp.maximum(jnp.cumsum(noise, 1), width**2)  # never narrower than a cell
    noise = jnp.diff(total, axis=1, prepend=0.0)
    start = jnp.take_along_axis(mean, first, 1)
    sd = jnp.sqrt(jnp.take_along_axis(total, first, 1))
    density, above = width * norm.pdf(inside, start, sd), norm.sf(1.0, start, sd)[:, 0]

    @jax.checkpoint
    def step(state: tuple[Array, Array], bin: tuple[Array, Array, Array]) -> tuple[tuple[Array, Array], None]:
        (density, above), (number, mean, noise) = state, bin
        both = density @ transform
        spectrum = both[:, : len(k)] + 1j * both[:, len(k) :]
        spectrum *= _powers(-k[1] * mean, len(k)) * jnp.exp(-0.5 * k**2 * noise[:, None])
        new = jnp.fft.irfft(spectrum, GRID, axis=1)
        runs = number > first
        over = jnp.where(runs[:, 0], new[:, -CELLS:].sum(1), 0.0)
        return (jnp.where(runs, new[:, CELLS:-CELLS], density), above + over), None

    bins = jnp.arange(n), jnp.clip(mean, -3, 3).T, noise.T
    (density, above), _ = jax.lax.scan(step, (density, above), bins)
    u = jnp.clip((inside - p["bias"] / edge) / width, -1, 1)  # shape (trials, cells)
    share = 0.5 + u - 0.5 * u * jnp.abs(u)  # of the density above the criterion, linear between cells
    return jnp.clip(above + (density * share).sum(1), 0.0, 1.0)


def _second(p: Any, arrays: Mapping[str, Array], bounded: bool) -> Array:
    """Return the probability of the second choice of each trial."""
    size = _sizes(p, arrays)
    q = (_bounded if bounded else _unbounded)(p, arrays, size)
    return p["lapse"] / 2 + (1 - p["lapse"]) * q


_probability = jax.jit(_second, static_argnums=2)


def _log_likelihoods(
    x: Array, arrays: Mapping[str, Array], choice: Array, parameters: tuple[ModelParameter, ...], bounded: bool
) -> Array:
    """Return the log-likelihood of each choice (0, 1, or -1 for none) at a point in the unbounded scale."""
    p = {**WITHOUT, **vars(natural(parameters, x))}
    q = jnp.clip(_second(p, arrays, bounded), 1e-9, 1 - 1e-9)
    return jnp.where(choice < 0, 0.0, jnp.log(jnp.where(choice == 1, q, 1 - q)))


@functools.partial(jax.jit, static_argnums=(3, 4))
def _slope(*arguments: Any) -> tuple[Array, Array]:
    return jax.value_and_grad(lambda x: _log_likelihoods(x, *arguments[1:]).sum())(arguments[0])


@dataclass
class AccumulatorPolicy(Policy):
    """Choices by accumulated pulses.

    Attributes:
        values: of the parameters, in the order of ``NAMES``.
        bounded: whether accumulation ends at a bound.
    """

    values: FloatArray
    bounded: bool
    sees_pulses = True

    def probabilities(self, state: None, stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`.

        Raises:
            UnfitError: always, because stimuli do not say the times of pulses.
        """
        raise UnfitError("a model of pulses needs their times, which a stimulus does not say")

    def predict(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """See `Policy.predict`."""
        p = dict(zip(NAMES, map(float, self.values), strict=True))
        q = np.empty(sum(map(len, sessions)))
        for rows in _pieces(sessions, np.arange(len(q))):
            q[rows] = np.asarray(_probability(p, pulse_arrays(sessions, rows), self.bounded))[: len(rows)]
        both = np.stack([1 - q, q], 1)
        return np.split(both, np.cumsum([len(each) for each in sessions])[:-1])


def _pieces(sessions: Sequence[Session], rows: IntArray) -> list[IntArray]:
    """Return trials in groups of similar durations that are computed together."""
    duration = np.concatenate([each.duration for each in sessions])[rows]
    rows = rows[np.argsort(duration, kind="stable")]
    return [rows[k : k + TOGETHER] for k in range(0, len(rows), TOGETHER)]


class PulseLikelihood:
    """Log-likelihood of choices given pulses; see `neurogym.behaviour.models.base.Likelihood`.

    Args:
        parameters: to estimate.
        sessions: of a subject.
        bounded: whether accumulation ends at a bound.
    """

    def __init__(self, parameters: tuple[ModelParameter, ...], sessions: Sequence[Session], bounded: bool):
        self.parameters, self.bounded = parameters, bounded
        choice = np.concatenate([each.scored_choice for each in sessions])
        self._sessions, self._choice, self._parts = sessions, choice, []
        for rows in _pieces(sessions, np.flatnonzero(choice >= 0)):
            arrays = pulse_arrays(sessions, rows)
            filled = np.pad(choice[rows], (0, len(arrays["left"]) - len(rows)), constant_values=-1)
            self._parts.append((arrays, filled))
        self._plain = tuple(each.without_prior for each in parameters)

    def log_likelihood(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-likelihood and its gradient at a point."""
        results = [_slope(x, arrays, choice, self._plain, self.bounded) for arrays, choice in self._parts]
        return float(sum(float(value) for value, _ in results)), np.sum([slope for _, slope in results], 0)

    def pointwise(self, x: FloatArray) -> FloatArray:
        """Return the log-likelihood of each trial at a point, shape (trials,)."""
        p = np.concatenate(self.policy(x).predict(self._sessions))
        return log_likelihoods(p, self._choice)[self._choice >= 0]

    def policy(self, x: FloatArray) -> AccumulatorPolicy:
        """Return the behaviour at a point."""
        named = {each.name: float(each.value(np.asarray(v))) for each, v in zip(self.parameters, x, strict=True)}
        return AccumulatorPolicy(np.array([{**WITHOUT, **named}[name] for name in NAMES]), self.bounded)


class Accumulator(OneByOne):
    """Accumulation of pulses.

    Args:
        name: name of the model.
        bound: whether accumulation ends at a bound.
        adaptation: whether pulses change the size of those that follow.
    """

    policy = AccumulatorPolicy
    takes_prior = True

    def __init__(self, name: str = "accumulator", bound: bool = True, adaptation: bool = True):
        self.name, self.bound = name, bound
        without = [*["B"] * (not bound), *["phi", "tau_phi"] * (not adaptation)]
        self.own = tuple(each for each in PARAMETERS if each.name not in without)
        self.priors: Mapping[str, Prior] = {}

    def check(self, table: Behaviour) -> None:
        """Refuse tables that do not suit the model.

        Raises:
            UnfitError: if there are other than two choices, or no times of pulses.
        """
        require_two(table, self.name)
        if not np.isfinite(table.join("pulses")).any():
            raise UnfitError(f"{self.name} needs the times of pulses ({option('--pulses LEFT,RIGHT')})")

    def posterior(self, problem: Problem) -> PulseLikelihood:
        """See `Model.posterior`."""
        return PulseLikelihood(with_priors(self.own, self.priors), problem.table.sessions, self.bound)

    def _fit(self, problem: Problem) -> Fitted:
        likelihood = self.posterior(problem)
        prior = prior_of(likelihood.parameters, problem.prior)
        start, scale = self._start(problem, likelihood, prior)
        slopes = posterior_slopes(likelihood.log_likelihood, prior, start, scale)
        best = maximum(slopes, start, scale, 3.0, 1e-2, curved=problem.intervals or problem.prior is not None)
        score, sd = likelihood.log_likelihood(best.x)[0], prior[1] if problem.prior is None else None
        policy, parameters = likelihood.policy(best.x), likelihood.parameters
        fit = fit_at(self.name, policy, score, parameters, best, None, sd)
        fit.details["values"] = {name: each.value for name, each in fit.parameters.items()}
        return fit

    def _start(
        self, problem: Problem, likelihood: PulseLikelihood, prior: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Return a point from which a search begins, and a square root of the covariance that is expected there.

        Both come from the model without a bound, which takes a hundredth of the time.

        Args:
            problem: sessions, and a point from which to begin.
            likelihood: of the sessions.
            prior: means and s.d. of the parameters.
        """
        free = np.array([each.name != "B" for each in likelihood.parameters])
        parameters = tuple(each for each in likelihood.parameters if each.name != "B")
        simple = PulseLikelihood(parameters, problem.table.sessions, False)
        means, sds = prior
        x, covariance = (means if problem.start is None else problem.start).copy(), np.diag(sds**2)
        slopes = posterior_slopes(simple.log_likelihood, (means[free], sds[free]), x[free], np.diag(sds[free]))
        u = np.zeros((1, 1, int(free.sum())))
        if problem.start is None:
            u = minimise(slopes, u)[0]
            x[free] += sds[free] * u[0, 0]
        inverse = inverse_curvature(curvature(slopes, u[:, 0])[0], np.ones(int(free.sum())))
        covariance[np.ix_(free, free)] = inverse * np.outer(sds[free], sds[free])
        if problem.start is None and not free.all():
            offsets = np.zeros((1, len(START_BOUNDS), len(x)))
            offsets[..., ~free] = np.log(START_BOUNDS)[:, None] - x[~free]
            values, _ = posterior_slopes(likelihood.log_likelihood, prior, x, np.eye(len(x)))(offsets)
            x = x + offsets[0, values[0].argmin()]
        return x, np.linalg.cholesky(covariance).astype(float)
