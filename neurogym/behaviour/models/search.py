"""Batches of small minimisations by BFGS, and curvature, from functions with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from neurogym.array_types import FloatArray

#: Most evaluations of a search, fall of a value below which a step counts as none, and such steps at the end.
EVALUATIONS, TOLERANCE, WAITS = 200, 1e-6, 2
#: Longest step, factor after a step that does not lower the function enough, and share of the expected fall that does.
LONGEST, SHORTER, ARMIJO = 3.0, 0.25, 1e-4
#: Gain of the log-posterior in one more Newton step from which a search did not end at its maximum.
CONVERGED = 0.1
#: Step of differences of gradients.
DELTA = 1e-4

#: Values (functions, points) and gradients (functions, points, parameters) at points, shaped as the gradients.
Slopes = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
#: Log-likelihood at a point (parameters,), and its gradient.
LogLikelihood = Callable[[FloatArray], tuple[float, FloatArray]]


def minimise(
    slopes: Slopes, start: FloatArray, evaluations: int = EVALUATIONS, covariance: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Minimise several functions, each from several points, by BFGS in parallel.

    Args:
        slopes: of the functions.
        start: where to begin, shape (functions, points, parameters).
        evaluations: most of a search.
        covariance: inverse curvature that is expected at the minima, shape (functions, parameters, parameters); None if
            nothing is known about it.

    Returns:
        Points, values (functions, points) and gradients.
    """
    x = start.copy()
    value, slope = slopes(x)
    eye = np.eye(x.shape[-1])
    inverse = eye / np.maximum(np.abs(slope).max(-1), 1.0)[..., None, None]
    if covariance is not None:
        inverse = np.broadcast_to(covariance[:, None], inverse.shape)
    fraction, waits = np.ones(value.shape), np.zeros(value.shape, int)
    for _ in range(evaluations):
        direction = -np.einsum("...ij,...j->...i", inverse, slope)
        direction *= np.minimum(1.0, LONGEST / np.maximum(np.abs(direction).max(-1, keepdims=True), 1e-12))
        tried = x + fraction[..., None] * direction
        new, new_slope = slopes(tried)
        expected = fraction * np.einsum("...i,...i->...", direction, slope)
        moved = np.isfinite(new_slope).all(-1) & (new <= value + ARMIJO * expected) & (waits < WAITS)
        gain = np.where(moved, value - new, 0.0)
        inverse = _updated(inverse, tried - x, new_slope - slope, moved)
        inverse[~moved & (fraction < SHORTER**4)] = eye  # the direction is of no use
        waits = np.where(moved & (gain >= TOLERANCE), 0, waits + (moved | (fraction < SHORTER**8)))
        fraction = np.where(moved, 1.0, np.maximum(SHORTER * fraction, SHORTER**10))
        x, slope = np.where(moved[..., None], tried, x), np.where(moved[..., None], new_slope, slope)
        value = np.where(moved, new, value)
        if (waits >= WAITS).all():
            break
    return x, value, slope


def _updated(inverse: FloatArray, s: FloatArray, y: FloatArray, moved: np.ndarray) -> FloatArray:
    """Return the inverse Hessians after steps; unchanged after a failed step or for non-positive curvature."""
    sy = np.einsum("...i,...i->...", s, y)
    fine = moved & (sy > 1e-10)
    rho = np.where(fine, 1 / np.where(fine, sy, 1.0), 0.0)[..., None, None]
    left = np.eye(s.shape[-1]) - rho * s[..., :, None] * np.where(fine[..., None], y, 0.0)[..., None, :]
    new = left @ inverse @ np.swapaxes(left, -1, -2) + rho * s[..., :, None] * s[..., None, :]
    return np.where(fine[..., None, None], new, inverse)


def curvature(slopes: Slopes, x: FloatArray, together: int = 1, step: float = DELTA) -> FloatArray:
    """Return the second derivatives of each function, shape (functions, parameters, parameters).

    Args:
        slopes: of the functions.
        x: a point of each function, shape (functions, parameters).
        together: points that are evaluated at once.
        step: of differences of gradients.
    """
    d = x.shape[1]
    offsets = step * np.concatenate([np.eye(d), -np.eye(d)])
    offsets = np.pad(offsets, ((0, -len(offsets) % together), (0, 0)))
    pieces = [slopes(x[:, None] + each)[1] for each in offsets.reshape(-1, together, d)]
    gradients = np.concatenate(pieces, 1)
    out = (gradients[:, :d] - gradients[:, d : 2 * d]) / (2 * step)
    return np.asarray((out + np.swapaxes(out, 1, 2)) / 2)


def inverse_curvature(curvature: FloatArray, sd: FloatArray) -> FloatArray:
    """Return a covariance; directions without positive curvature get the variance of the prior."""
    values, vectors = np.linalg.eigh(curvature)
    return np.asarray((vectors / np.maximum(values, 1 / np.max(sd) ** 2)) @ vectors.T)


class Maximum(NamedTuple):
    """Maximum of a posterior.

    Attributes:
        x: point in the unbounded scale.
        value: negative log-posterior there, but for a constant.
        covariance: Laplace's covariance there.
        converged: whether one more Newton step would hardly raise the log-posterior.
    """

    x: FloatArray
    value: float
    covariance: FloatArray
    converged: bool


def posterior_slopes(
    log_likelihood: LogLikelihood, prior: tuple[FloatArray, FloatArray], origin: FloatArray, scale: FloatArray
) -> Slopes:
    """Return the negative log-posterior and its gradient at points origin + scale @ u.

    Args:
        log_likelihood: of the parameters in the unbounded scale.
        prior: means and s.d. of the parameters.
        origin: point in that scale.
        scale: shape (parameters, parameters).
    """
    mean, sd = prior

    def slopes(u: FloatArray) -> tuple[FloatArray, FloatArray]:
        points = origin + u.reshape(-1, len(origin)) @ scale.T
        z = (points - mean) / sd
        results = [log_likelihood(each) for each in points]
        value = 0.5 * (z**2).sum(1) - [v for v, _ in results]
        slope = (z / sd - [g for _, g in results]) @ scale
        return value.reshape(u.shape[:-1]), slope.reshape(u.shape)

    return slopes


def maximum(
    slopes: Slopes,
    origin: FloatArray,
    scale: FloatArray,
    widest: float = 1.0,
    step: float = DELTA,
    curved: bool = True,
) -> Maximum:
    """Return the maximum of a posterior that a search from the origin finds.

    Args:
        slopes: as returned by `posterior_slopes`.
        origin: point in the unbounded scale.
        scale: as for `posterior_slopes`.
        widest: largest s.d. in any direction, in units of the scale.
        step: of differences of gradients, in these units.
        curved: whether the curvature is computed; else the scale is taken as that of the posterior.
    """
    u, value, slope = (each[0, 0] for each in minimise(slopes, np.zeros((1, 1, len(origin)))))
    inverse = np.eye(len(u))
    if curved:
        inverse = inverse_curvature(curvature(slopes, u[None], step=step)[0], np.array(widest))
    converged = not curved or bool(0.5 * slope @ inverse @ slope < CONVERGED)
    return Maximum(origin + scale @ u, float(value), scale @ inverse @ scale.T, converged)
