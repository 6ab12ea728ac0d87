"""First passage of a diffusion through two bounds: density, probabilities of choice and survival, in JAX.

Evidence starts at ``w a`` between the bounds 0 and ``a``, drifts at rate ``v`` with unit diffusion, and the choice is
the bound that is reached first. The density is that of Navarro & Fuss (2009, 10.1016/j.jmp.2009.02.003), with the
drift's Gaussian variability integrated analytically (Tuerlinckx 2004, 10.3758/BF03206552); distribution functions are
the series of Blurton, Kesselmeier & Gondan (2012, 10.1016/j.jmp.2012.09.002) and their images for short times. Each of
two series is evaluated where it is exact, so that derivatives are finite as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc

from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models.evidence import widened

#: Scaled time (t / a^2) up to which the series of images is used; both series are exact to 1e-10 there.
SHORT = 0.5
IMAGES, WAVES = np.arange(-2, 3), np.arange(1, 5)
#: Terms of the distribution functions, which are also used at short times.
LONG_WAVES = np.arange(1, 13)
#: Size of 2 v a below which the probability of a bound is expanded, and largest exponent.
SMALL, LARGEST = 1e-4, 500.0
#: Number below which the normal distribution function is that of its tail.
TAIL = -35.0
#: Cells of the scaled time (t / a^2) of simulations, their longest time, and trials that are drawn together.
CELLS, LONGEST, CHUNK = 300, 6.0, 1000
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
#: Points and weights of Gauss-Hermite quadrature over drifts.
DRIFTS = _NODES, _WEIGHTS / _WEIGHTS.sum()


@jax.jit
def log_density(time: Any, upper: Any, drift: Any, bound: Any, start: Any, spread: Any) -> Any:
    """Return the log-density of reaching a bound at a time; arguments are numbers or arrays of the same shape.

    Args:
        time: decision time in s, above 0.
        upper: whether the upper bound was reached.
        drift: mean drift per s.
        bound: distance ``a`` between the bounds.
        start: starting point as a share of the distance, from 0 (lower bound) to 1.
        spread: s.d. of the drift over trials.
    """
    v, w = jnp.where(upper, -drift, drift), jnp.where(upper, 1 - start, start)
    wide = 1 + spread**2 * time
    exponent = (spread * bound * w) ** 2 - 2 * v * bound * w - v**2 * time
    return -2 * jnp.log(bound) + exponent / (2 * wide) - 0.5 * jnp.log(wide) + _standard(time / bound**2, w)


def _standard(tau: Any, w: Any) -> Any:
    """Return the log-density without drift for a unit distance."""
    t, x = jnp.minimum(tau, SHORT), w
    u = x[..., None] + 2 * IMAGES
    total = (u * jnp.exp(-(u**2 - x[..., None] ** 2) / (2 * t[..., None]))).sum(-1)
    short = jnp.log(jnp.maximum(total, 1e-300)) - x**2 / (2 * t) - 0.5 * jnp.log(2 * np.pi * t**3)
    t = jnp.maximum(tau, SHORT)
    e = jnp.exp(-(WAVES**2 - 1) * np.pi**2 * t[..., None] / 2)
    total = (WAVES * e * jnp.sin(WAVES * np.pi * w[..., None])).sum(-1)
    return jnp.where(tau <= SHORT, short, jnp.log(np.pi * jnp.maximum(total, 1e-300)) - np.pi**2 * t / 2)


def over_drifts(function: Callable[[Any], Any], drift: Any, spread: Any, nodes: Any = DRIFTS) -> Any:
    """Return the mean of a function of the drift over its Gaussian variability."""
    points, weights = nodes
    return jnp.tensordot(weights, jax.vmap(lambda point: function(drift + spread * point))(jnp.asarray(points)), 1)


def probability_upper(v: Any, a: Any, w: Any) -> Any:
    """Return the probability that the upper bound is reached first."""
    q = jnp.clip(2 * v * a, -700, 700)
    small = jnp.abs(q) < SMALL
    size = jnp.where(small, 1.0, jnp.abs(q))
    share = jnp.expm1(-size * w) / jnp.expm1(-size)
    turned = jnp.exp(-size * (1 - w)) * share
    return jnp.where(small, w + w * (1 - w) * q / 2, jnp.where(q > 0, share, turned))


def reached(t: Any, v: Any, a: Any, w: Any) -> Any:
    """Return the probabilities that the lower and that the upper bound was reached until a time, shape (2, ...)."""
    t, v, a, w = jnp.broadcast_arrays(t, v, a, w)
    return _lower(jnp.stack([t, t]), jnp.stack([v, -v]), jnp.stack([a, a]), jnp.stack([w, 1 - w]))


def _lower(t: Any, v: Any, a: Any, w: Any) -> Any:
    moment, short = t > 1e-6 * a**2, SHORT * a**2
    t = jnp.where(moment, t, short)
    series = jnp.where(t <= short, _images(jnp.minimum(t, short), v, a, w), _waves(jnp.maximum(t, short), v, a, w))
    return jnp.where(moment, jnp.clip(series, 0, 1), 0.0)


def _waves(t: Any, v: Any, a: Any, w: Any) -> Any:
    """Return the probability by the series for long times (Blurton et al. 2012, equation 3)."""
    t, v, a, w = (each[..., None] for each in (t, v, a, w))
    k = LONG_WAVES
    rate = (v**2 + (k * np.pi / a) ** 2) / 2
    terms = k * jnp.sin(k * np.pi * w) * jnp.exp(jnp.minimum(-rate * t - v * a * w, LARGEST)) / rate
    return (1 - probability_upper(v, a, w) - np.pi / a**2 * terms.sum(-1, keepdims=True))[..., 0]


def _log_normal(x: Any) -> Any:
    """Return the logarithm of the standard normal distribution function, by fewer operations than that of JAX."""
    tail = jnp.minimum(x, TAIL)
    far = -(tail**2) / 2 - jnp.log(-tail * np.sqrt(2 * np.pi)) + jnp.log1p(-1 / tail**2 + 3 / tail**4 - 15 / tail**6)
    return jnp.where(x > TAIL, jnp.log(erfc(-jnp.maximum(x, TAIL) / np.sqrt(2)) / 2), far)


def _images(t: Any, v: Any, a: Any, w: Any) -> Any:
    """Return the probability by the integral of the images for short times.

    The density through an image at distance d is d (2 pi t^3)^(-1/2) exp(-v a w - v^2 t / 2 - d^2 / (2 t)), with the
    integral exp(-v a w) [exp(v d) Phi((-d - v t) / sqrt t) + exp(-v d) Phi((-d + v t) / sqrt t)] for d > 0.
    """
    t, v, a, w = (each[..., None, None] for each in (t, v, a, w))
    d, sign = a * (w + 2 * IMAGES), np.array([[1.0], [-1.0]])
    size = jnp.abs(d)
    log = sign * v * size - v * a * w + _log_normal((-size - sign * v * t) / jnp.sqrt(t))
    return (jnp.sign(d) * jnp.exp(jnp.minimum(log, 50))).sum((-1, -2))


@jax.jit
def _cells(time: Any, v: Any, a: Any, w: Any) -> Any:
    """Return the density of both bounds (trials, 2 x cells) at scaled times (cells,)."""
    rows = [
        log_density(time * a[:, None] ** 2, side, v[:, None], a[:, None], w[:, None] + 0 * time, 0.0)
        for side in (False, True)
    ]
    return jnp.exp(jnp.concatenate(rows, 1))


def draw(
    drift: FloatArray, bound: FloatArray, start: FloatArray, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Return simulated choices (1 upper, 0 lower) and decision times in s from the density, shape (trials,).

    Args:
        drift: per s, shape (trials,).
        bound: distance between the bounds, shape (trials,).
        start: starting point as a share of the distance, shape (trials,).
        rng: source of randomness.
    """
    edges = LONGEST * np.linspace(0, 1, CELLS + 1) ** 2
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)

    def mass(rows: IntArray) -> FloatArray:
        density = np.asarray(_cells(middle, drift[rows], bound[rows], start[rows]))
        return density * np.tile(width, 2) * bound[rows, None] ** 2

    choice, time = drawn_from_cells(mass, edges, len(drift), rng)
    return choice, time * bound**2


def drawn_from_cells(
    mass: Callable[[IntArray], FloatArray], edges: FloatArray, n: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Return choices (1 upper, 0 lower) and times of ``n`` trials from the probabilities of cells of time.

    Args:
        mass: probabilities (trials, 2 x cells) of the cells of the lower and of the upper bound, in some of the trials.
        edges: of the cells, shape (cells + 1,).
        n: number of trials.
        rng: source of randomness.
    """
    choice, time, cells = np.zeros(n, np.int64), np.zeros(n), len(edges) - 1
    for first in range(0, n, CHUNK):
        rows = np.arange(first, min(first + CHUNK, n))
        cumulative = np.cumsum(mass(widened(rows, 1))[: len(rows)], 1)
        target = rng.random(len(rows)) * cumulative[:, -1]
        cell = np.minimum((cumulative < target[:, None]).sum(1), 2 * cells - 1)
        choice[rows] = cell >= cells
        time[rows] = edges[cell % cells] + rng.random(len(rows)) * np.diff(edges)[cell % cells]
    return choice, time
