"""Fixed and slow points of a recurrent network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import FloatArray, Result

Step = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class FixedPoints(Result):
    """Fixed and slow points, slowest first.

    Attributes:
        points: states, shape (points, units).
        speed: ``q = |F(h, x) - h|^2 / 2`` at each, shape (points,).
        eigenvalues: of the Jacobian of the step at each, complex, largest first, shape (points, units).
        stable: whether all eigenvalues lie within the unit circle, shape (points,).
        n_starts: number of states from which the search began.
    """

    points: FloatArray
    speed: FloatArray
    eigenvalues: np.ndarray
    stable: np.ndarray
    n_starts: int

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values, the eigenvalues as real and imaginary parts."""
        parts = {"real": self.eigenvalues.real.tolist(), "imag": self.eigenvalues.imag.tolist()}
        fields = {name: getattr(self, name).tolist() for name in ("points", "speed", "stable")}
        return {**fields, "eigenvalues": parts, "n_starts": self.n_starts}


def find_fixed_points(
    step: Step,
    starts: ArrayLike,
    inputs: ArrayLike,
    *,
    jacobian: Step | None = None,
    max_speed: float = 1e-8,
    distance: float = 1e-3,
    max_steps: int = 200,
) -> FixedPoints:
    """Find the states at which a network under constant input stands (almost) still.

    The speed is minimised from many states (Sussillo & Barak 2013, 10.1162/NECO_a_00409), by least squares on
    ``F(h, x) - h``; what is found twice is reported once.

    Args:
        step: the network, ``h' = F(h, x)``: takes states of shape (n, units) and inputs of shape (inputs,), returns
            the next states, shape (n, units).
        starts: states to start from, shape (starts, units), for instance states visited in trials.
        inputs: the constant input, shape (inputs,).
        jacobian: derivative of the step with respect to one state, takes (units,) and returns (units, units), row i the
            gradient of unit i; by default central differences.
        max_speed: points faster than this are dropped; raise it to keep slow points.
        distance: points closer than this times ``sqrt(units)`` are the same.
        max_steps: evaluations allowed per start.
    """
    from scipy.optimize import least_squares

    h0, x = np.atleast_2d(np.asarray(starts, float)), np.asarray(inputs, float)
    units = h0.shape[1]

    def derivative(h: FloatArray) -> FloatArray:
        return np.asarray(jacobian(h, x)) if jacobian is not None else _differences(step, h, x)

    def motion(h: FloatArray) -> FloatArray:
        return step(h[None], x)[0] - h

    found = [least_squares(motion, h, jac=lambda h: derivative(h) - np.eye(units), max_nfev=max_steps) for h in h0]
    points, speed = np.array([fit.x for fit in found]), np.array([float(fit.cost) for fit in found])
    kept: list[int] = []
    for i in np.argsort(speed):
        near = distance * np.sqrt(units)
        if speed[i] <= max_speed and all(np.linalg.norm(points[i] - points[j]) > near for j in kept):
            kept.append(int(i))
    eigenvalues = np.array([np.linalg.eigvals(derivative(points[i])) for i in kept], complex).reshape(len(kept), units)
    eigenvalues = np.take_along_axis(eigenvalues, np.argsort(-np.abs(eigenvalues), axis=1), axis=1)
    return FixedPoints(points[kept], speed[kept], eigenvalues, (np.abs(eigenvalues) < 1).all(axis=1), len(h0))


def _differences(step: Step, h: FloatArray, x: FloatArray, size: float = 1e-5) -> FloatArray:
    """Return the Jacobian by central differences, in two batched steps."""
    nudge = size * np.eye(len(h))
    return ((step(h + nudge, x) - step(h - nudge, x)) / (2 * size)).T
