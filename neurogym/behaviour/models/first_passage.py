"""First passage of a diffusion through two bounds: density, probabilities of choice and survival, with derivatives.

Evidence starts at ``w a`` between the bounds 0 and ``a``, drifts at rate ``v`` with unit diffusion, and the choice is
the bound that is reached first. The density is that of Navarro & Fuss (2009, 10.1016/j.jmp.2009.02.003), with the
drift's Gaussian variability integrated analytically (Tuerlinckx 2004, 10.3758/BF03206552); distribution functions are
the series of Blurton, Kesselmeier & Gondan (2012, 10.1016/j.jmp.2012.09.002) and their images for short times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from neurogym.array_types import FloatArray, IntArray

#: Scaled time (t / a^2) up to which the series of images is used; both series are exact to 1e-10 there.
SHORT = 0.5
IMAGES = np.arange(-2, 3)[:, None]
WAVES = np.arange(1, 5)[:, None]
#: Terms of the distribution functions, which are also used at short times.
LONG_WAVES = np.arange(1, 13)[:, None]
#: Cells of the scaled time (t / a^2) of simulations, their longest time, and trials that are drawn together.
CELLS, LONGEST, CHUNK = 300, 6.0, 1000
#: Points and weights of Gauss-Hermite quadrature over drifts.
NODES, DRIFT_WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
DRIFT_WEIGHTS = DRIFT_WEIGHTS / DRIFT_WEIGHTS.sum()


class Density(NamedTuple):
    """Log-density of choices and decision times with its derivatives, shape (trials,) each."""

    log: FloatArray
    time: FloatArray
    drift: FloatArray
    bound: FloatArray
    start: FloatArray
    spread: FloatArray


def log_density(
    time: FloatArray, upper: np.ndarray, drift: FloatArray, bound: FloatArray, start: FloatArray, spread: FloatArray
) -> Density:
    """Return the log-density of reaching a bound at a time.

    Args:
        time: decision time in s, above 0, shape (trials,).
        upper: whether the upper bound was reached, shape (trials,).
        drift: mean drift per s, shape (trials,).
        bound: distance ``a`` between the bounds, shape (trials,).
        start: starting point as a share of the distance, from 0 (lower bound) to 1, shape (trials,).
        spread: s.d. of the drift over trials, shape (trials,).
    """
    v, w = np.where(upper, -drift, drift), np.where(upper, 1 - start, start)
    a, eta2 = bound, spread**2
    tau = time / a**2
    log_g, by_tau, by_w = _standard(tau, w)
    spread_time = 1 + eta2 * time
    exponent = eta2 * (a * w) ** 2 - 2 * v * a * w - v**2 * time
    log = -2 * np.log(a) + exponent / (2 * spread_time) - 0.5 * np.log(spread_time) + log_g
    by_v = -(a * w + v * time) / spread_time
    by_time = -(v**2 + eta2) / (2 * spread_time) - exponent * eta2 / (2 * spread_time**2) + by_tau / a**2
    by_bound = -2 / a + (eta2 * a * w**2 - v * w) / spread_time - 2 * tau / a * by_tau
    by_start = (eta2 * a**2 * w - v * a) / spread_time + by_w
    by_spread = spread * ((a * w) ** 2 - exponent * time / spread_time - time) / spread_time
    sign = np.where(upper, -1.0, 1.0)
    return Density(log, by_time, sign * by_v, by_bound, sign * by_start, by_spread)


def _standard(tau: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the log-density without drift for a unit distance, and its derivatives by time and start."""
    log, by_tau, by_w = np.empty_like(tau), np.empty_like(tau), np.empty_like(tau)
    short = tau <= SHORT
    if short.any():
        t, x = tau[short], w[short]
        u = x + 2 * IMAGES
        e = np.exp(-(u**2 - x**2) / (2 * t))
        total = np.maximum((u * e).sum(0), 1e-300)
        log[short] = np.log(total) - x**2 / (2 * t) - 0.5 * np.log(2 * np.pi * t**3)
        by_tau[short] = (u**3 * e).sum(0) / (2 * t**2 * total) - 1.5 / t
        by_w[short] = ((1 - u**2 / t) * e).sum(0) / total
    if not short.all():
        t, x = tau[~short], w[~short]
        e = np.exp(-(WAVES**2 - 1) * np.pi**2 * t / 2)
        sine, cosine = np.sin(WAVES * np.pi * x), np.cos(WAVES * np.pi * x)
        total = np.maximum((WAVES * e * sine).sum(0), 1e-300)
        log[~short] = np.log(np.pi * total) - np.pi**2 * t / 2
        by_tau[~short] = -(np.pi**2) / 2 * (WAVES**3 * e * sine).sum(0) / total
        by_w[~short] = np.pi * (WAVES**2 * e * cosine).sum(0) / total
    return log, by_tau, by_w


def probability_upper(drift: FloatArray, bound: FloatArray, start: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the probability that the upper bound is reached first, shape (trials,)."""
    return _over_drifts(lambda v: _upper(v, bound, start), drift, spread)


def _upper(v: FloatArray, a: FloatArray, w: FloatArray) -> FloatArray:
    q = np.clip(2 * v * a, -700, 700)
    q = np.where(np.abs(q) < 1e-9, 1e-9, q)
    size = np.abs(q)
    from_zero = np.expm1(-size * w) / np.expm1(-size)
    turned = np.exp(-size * (1 - w)) * np.expm1(-size * w) / np.expm1(-size)
    return np.where(q > 0, from_zero, turned)


def survival(
    time: FloatArray, drift: FloatArray, bound: FloatArray, start: FloatArray, spread: FloatArray
) -> FloatArray:
    """Return the probability that no bound was reached until a time, shape (trials,)."""
    return _over_drifts(lambda v: _survival(time, v, bound, start), drift, spread)


def _survival(t: FloatArray, v: FloatArray, a: FloatArray, w: FloatArray) -> FloatArray:
    return np.clip(1 - _reached(t, v, a, w) - _reached(t, -v, a, 1 - w), 0, 1)


def reached(
    time: FloatArray, drift: FloatArray, bound: FloatArray, start: FloatArray, spread: FloatArray
) -> FloatArray:
    """Return the probability that the upper bound was reached until a time, shape (trials,)."""
    return _over_drifts(lambda v: _reached(time, -v, bound, 1 - start), drift, spread)


def _reached(t: FloatArray, v: FloatArray, a: FloatArray, w: FloatArray) -> FloatArray:
    """Return the probability that the lower bound was reached until a time."""
    t, v, a, w = np.broadcast_arrays(np.maximum(t, 0.0), v, a, w)
    out = np.zeros(t.shape)
    moment, short = t > 1e-6 * a**2, t <= SHORT * a**2
    for rows, series in ((moment & short, _images), (moment & ~short, _waves)):
        if rows.any():
            out[rows] = series(t[rows], v[rows], a[rows], w[rows])
    return np.clip(out, 0, 1)


def _waves(t: FloatArray, v: FloatArray, a: FloatArray, w: FloatArray) -> FloatArray:
    """Return the probability by the series for long times (Blurton et al. 2012, equation 3)."""
    k = LONG_WAVES
    rate = (v**2 + (k * np.pi / a) ** 2) / 2
    terms = k * np.sin(k * np.pi * w) * np.exp(-rate * t - v * a * w) / rate
    return 1 - _upper(v, a, w) - np.pi / a**2 * terms.sum(0)


def _images(t: FloatArray, v: FloatArray, a: FloatArray, w: FloatArray) -> FloatArray:
    """Return the probability by the integral of the images for short times.

    The density through an image at distance d is d (2 pi t^3)^(-1/2) exp(-v a w - v^2 t / 2 - d^2 / (2 t)), with the
    integral exp(-v a w) [exp(v d) Phi((-d - v t) / sqrt t) + exp(-v d) Phi((-d + v t) / sqrt t)] for d > 0.
    """
    d = a * (w + 2 * IMAGES)
    size, root = np.abs(d), np.sqrt(t)
    first = np.exp(np.minimum(v * size - v * a * w + log_ndtr((-size - v * t) / root), 50))
    second = np.exp(np.minimum(-v * size - v * a * w + log_ndtr((-size + v * t) / root), 50))
    return (np.sign(d) * (first + second)).sum(0)


def _over_drifts(function: Callable[[FloatArray], FloatArray], drift: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the mean of a function of the drift over its Gaussian variability."""
    if not np.any(spread):
        return function(drift)
    nodes = zip(NODES, DRIFT_WEIGHTS, strict=True)
    return np.asarray(sum(share * function(drift + spread * node) for node, share in nodes))


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
    choice, time = np.zeros(len(drift), np.int64), np.zeros(len(drift))
    edges = LONGEST * np.linspace(0, 1, CELLS + 1) ** 2
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    upper = np.repeat([False, True], CELLS)
    for first in range(0, len(drift), CHUNK):
        rows = slice(first, first + CHUNK)
        v, a, w = (each[rows, None] * np.ones(2 * CELLS) for each in (drift, bound, start))
        moments = np.tile(middle, 2) * a**2
        side, none = np.tile(upper, len(v)), np.zeros(moments.size)
        log = log_density(moments.ravel(), side, v.ravel(), a.ravel(), w.ravel(), none).log
        density = np.exp(log).reshape(moments.shape)
        cumulative = np.cumsum(density * np.tile(width, 2) * a**2, 1)
        target = rng.random(len(v)) * cumulative[:, -1]
        cell = np.minimum((cumulative < target[:, None]).sum(1), 2 * CELLS - 1)
        choice[rows] = cell >= CELLS
        inside = edges[cell % CELLS] + rng.random(len(v)) * width[cell % CELLS]
        time[rows] = inside * bound[rows] ** 2
    return choice, time


def sample(
    drift: FloatArray,
    bound: Callable[[float], FloatArray],
    start: FloatArray,
    rng: np.random.Generator,
    longest: float = 20.0,
    step: float = 1e-3,
) -> tuple[IntArray, FloatArray]:
    """Return simulated choices (1 upper, 0 lower, -1 undecided) and decision times in s, shape (trials,).

    Steps of a random walk, with the probability that the path crossed a bound within a step (a Brownian bridge), so
    that the length of the step biases neither choices nor times noticeably.

    Args:
        drift: per s, shape (trials,).
        bound: half the distance between the bounds at a time, around 0, shape (trials,) or a number.
        start: starting point between the bounds, in the unit of the bounds, 0 midway, shape (trials,).
        rng: source of randomness.
        longest: time in s after which a trial remains undecided.
        step: length of a step in s.
    """
    x, n = start.astype(float).copy(), len(drift)
    choice, time = np.full(n, -1), np.full(n, np.nan)
    active = np.arange(n)
    for k in range(int(longest / step)):
        if not len(active):
            break
        edge = np.broadcast_to(bound((k + 0.5) * step), (n,))[active]
        before = x[active]
        after = before + drift[active] * step + np.sqrt(step) * rng.standard_normal(len(active))
        u = rng.random((2, len(active)))
        over = (after >= edge) | (u[0] < np.exp(-2 * np.maximum((edge - before) * (edge - after), 0) / step))
        under = (after <= -edge) | (u[1] < np.exp(-2 * np.maximum((edge + before) * (edge + after), 0) / step))
        ended = over | under
        choice[active[ended]] = np.where(over & under, after > 0, over)[ended]
        time[active[ended]] = (k + rng.random(int(ended.sum()))) * step
        x[active] = after
        active = active[~ended]
    return choice, time
