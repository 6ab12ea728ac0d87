"""Batches of small maximisations, with finite-difference gradients and joint evaluation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neurogym.array_types import FloatArray

#: Fractions of a step that are tried together, and the step of finite differences.
STEP_FRACTIONS = np.array([1.5, 1.0, 0.5, 0.2, 0.05, 0.005])
DELTA = 1e-4
#: Most iterations, and fall of a function's value below which the function is done.
ITERATIONS, TOLERANCE = 100, 1e-5

#: Values (functions, points) of which functions (functions,) at points (functions, points, parameters).
Loss = Callable[[np.ndarray, FloatArray], FloatArray]


def minimise(loss: Loss, start: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Minimise several functions by BFGS in parallel.

    Args:
        loss: values of points; given which functions (functions,) and points (functions, points, parameters), returns
            (functions, points).
        start: where to begin, shape (functions, parameters).

    Returns:
        Points (functions, parameters) and values (functions,).
    """
    x, d = start.copy(), start.shape[1]
    every = np.arange(len(x))
    value, slope = _with_slope(loss, every, x)
    inverse = np.tile(np.eye(d), (len(x), 1, 1)) / np.maximum(np.abs(slope).max(1), 1.0)[:, None, None]
    active, waits = every, np.zeros(len(x), int)
    for _ in range(ITERATIONS):
        direction = -np.einsum("fij,fj->fi", inverse[active], slope[active])
        direction *= np.minimum(1.0, 3.0 / np.maximum(np.abs(direction).max(1, keepdims=True), 1e-12))
        tried = x[active][:, None] + STEP_FRACTIONS[:, None] * direction[:, None]
        values = np.nan_to_num(loss(active, tried), nan=np.inf)
        best = values.argmin(1)
        rows = np.arange(len(active))
        gain = value[active] - values[rows, best]
        moved = gain > 0
        new = np.where(moved[:, None], tried[rows, best], x[active])
        fresh_value, fresh_slope = _with_slope(loss, active, new)
        s, y = new - x[active], fresh_slope - slope[active]
        inverse[active] = _updated(inverse[active], s, y, moved)
        x[active], slope[active] = new, fresh_slope
        value[active] = np.minimum(fresh_value, value[active])
        waits[active] = np.where(gain < TOLERANCE, waits[active] + 1, 0)
        active = active[waits[active] < 2]
        if not len(active):
            break
    return x, value


def _updated(inverse: FloatArray, s: FloatArray, y: FloatArray, moved: np.ndarray) -> FloatArray:
    """Return the inverse Hessians after a step; reset after a failed step or for non-positive curvature."""
    sy = np.einsum("fi,fi->f", s, y)
    fine = moved & (sy > 1e-10)
    rho = np.where(fine, 1 / np.where(fine, sy, 1.0), 0.0)[:, None, None]
    eye = np.eye(s.shape[1])
    left = eye - rho * s[:, :, None] * y[:, None, :]
    new = left @ inverse @ left.transpose(0, 2, 1) + rho * s[:, :, None] * s[:, None, :]
    size = np.maximum(np.abs(y).max(1), 1.0)[:, None, None]
    return np.where(fine[:, None, None], new, eye / size)


def _with_slope(loss: Loss, rows: np.ndarray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    d = x.shape[1]
    steps = np.concatenate([np.zeros((1, d)), DELTA * np.eye(d), -DELTA * np.eye(d)])
    values = loss(rows, x[:, None] + steps)
    return values[:, 0], (values[:, 1 : d + 1] - values[:, d + 1 :]) / (2 * DELTA)


def remaining(loss: Loss, x: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return by how much each function would still fall in one Newton step, shape (functions,).

    Args:
        loss: as for `minimise`.
        x: points where searches ended, shape (functions, parameters).
        covariance: inverse curvatures there, shape (functions, parameters, parameters).
    """
    slope = _with_slope(loss, np.arange(len(x)), x)[1]
    return np.asarray(0.5 * np.einsum("fi,fij,fj->f", slope, covariance, slope))


def hessian(loss: Loss, x: FloatArray, delta: float = 0.02) -> FloatArray:
    """Return the second derivatives of each function, shape (functions, parameters, parameters)."""
    d = x.shape[1]
    pairs = [(i, j) for i in range(d) for j in range(i + 1)]
    eye = delta * np.eye(d)
    steps = [np.zeros(d)]
    for i, j in pairs:
        steps += [eye[i] + eye[j], eye[i] - eye[j], eye[j] - eye[i], -eye[i] - eye[j]]
    values = loss(np.arange(len(x)), x[:, None] + np.array(steps))
    out = np.zeros((len(x), d, d))
    for k, (i, j) in enumerate(pairs):
        a, b, c, e = (values[:, 1 + 4 * k + m] for m in range(4))
        out[:, i, j] = out[:, j, i] = (a - b - c + e) / (4 * delta**2)
    return out


def inverse_curvature(curvature: FloatArray, sd: FloatArray) -> FloatArray:
    """Return a covariance; directions without positive curvature get the variance of the prior."""
    values, vectors = np.linalg.eigh(curvature)
    return np.asarray((vectors / np.maximum(values, 1 / np.max(sd) ** 2)) @ vectors.T)
