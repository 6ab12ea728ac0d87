"""Fixed and slow points of a recurrent network, the line that they may form, and the input that moves along it.

Sussillo & Barak 2013, Opening the black box, 10.1162/NECO_a_00409; Mante, Sussillo, Shenoy & Newsome 2013,
10.1038/nature12742.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
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
        direction: right eigenvector of the largest eigenvalue, of unit length, its real part where it is complex, shape
            (points, units): where the activity goes, or stays where it is put.
        selection: left eigenvector of it, scaled so that its product with ``direction`` is 1, shape (points, units):
            how far along ``direction`` a small push of the state ends up (the selection vector of Mante et al. 2013).
        n_starts: number of states from which the search began.
    """

    points: FloatArray
    speed: FloatArray
    eigenvalues: np.ndarray
    stable: np.ndarray
    direction: FloatArray
    selection: FloatArray
    n_starts: int

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values, the eigenvalues as real and imaginary parts."""
        parts = {"real": self.eigenvalues.real.tolist(), "imag": self.eigenvalues.imag.tolist()}
        arrays = {"points": self.points, "speed": self.speed, "stable": self.stable}
        arrays |= {"direction": self.direction, "selection": self.selection}
        fields = {name: values.tolist() for name, values in arrays.items()}
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
        starts: states to start from, shape (starts, units), for instance states visited in trials; those from which
            activity grows beyond all numbers find nothing.
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

    def slope(h: FloatArray) -> FloatArray:
        return derivative(h) - np.eye(units)

    found = []
    for h in h0:
        if np.isfinite(h).all() and np.isfinite(motion(h)).all():
            with suppress(np.linalg.LinAlgError):  # where the least squares fail, other starts go on
                found.append(least_squares(motion, h, jac=slope, max_nfev=max_steps))
    points, speed = np.array([fit.x for fit in found]).reshape(-1, units), np.array([float(fit.cost) for fit in found])
    kept: list[int] = []
    for i in np.argsort(speed):
        near = distance * np.sqrt(units)
        if speed[i] <= max_speed and all(np.linalg.norm(points[i] - points[j]) > near for j in kept):
            kept.append(int(i))
    slopes = [_modes(derivative(points[i])) for i in kept]
    eigenvalues = np.array([values for values, _, _ in slopes], complex).reshape(len(kept), units)
    direction, selection = (np.array([each[k] for each in slopes]).reshape(len(kept), units) for k in (1, 2))
    stable = (np.abs(eigenvalues) < 1).all(axis=1)
    return FixedPoints(points[kept], speed[kept], eigenvalues, stable, direction, selection, len(h0))


def _modes(jacobian: FloatArray) -> tuple[np.ndarray, FloatArray, FloatArray]:
    """Return the eigenvalues, largest first, and right and left eigenvector of the first."""
    values, right = np.linalg.eig(jacobian)
    order = np.argsort(-np.abs(values))
    left = np.linalg.pinv(right)[order[0]].real
    direction = right[:, order[0]].real
    direction = direction / max(float(np.linalg.norm(direction)), 1e-300)
    product = float(left @ direction)
    return values[order], direction, left / (product if abs(product) > 1e-12 else 1.0)


@dataclass(frozen=True)
class LineAttractor(Result):
    """How much a set of slow points is a line along which activity stays.

    Attributes:
        leading: median size of the largest eigenvalue of the points; 1 keeps activity for ever.
        next: median size of the second largest; the smaller, the faster activity returns to the line.
        time_constant: steps after which activity along the line has moved by a factor e, from ``leading``.
        share: of the points' variance that lies along one axis.
        axis: that axis, unit length, shape (units,).
        along: angle between the axis and the points' own slow directions, degrees, median.
    """

    leading: float
    next: float
    time_constant: float
    share: float
    axis: FloatArray
    along: float


def line_attractor(found: FixedPoints) -> LineAttractor:
    """Describe slow points as a line attractor (Mante et al. 2013, 10.1038/nature12742, figure 5).

    Args:
        found: slow points under one input.

    Raises:
        ValueError: if there are fewer than three points; two are always on a line.
    """
    if len(found.points) < 3:
        raise ValueError(f"{len(found.points)} points; a line needs at least three")
    size = np.sort(np.abs(found.eigenvalues), axis=1)[:, ::-1]
    leading, following = np.median(size[:, 0]), np.median(size[:, 1])
    _, spread, axes = np.linalg.svd(found.points - found.points.mean(axis=0), full_matrices=False)
    cosine = np.clip(np.abs(found.direction @ axes[0]), 0, 1)
    return LineAttractor(
        float(leading),
        float(following),
        float(1 / max(abs(np.log(leading)), 1e-12)),
        float(spread[0] ** 2 / max(float((spread**2).sum()), 1e-300)),
        axes[0],
        float(np.degrees(np.median(np.arccos(cosine)))),
    )


def selected_input(step: Step, found: FixedPoints, inputs: ArrayLike, directions: ArrayLike) -> FloatArray:
    """Return how far pushes of the input carry the state along the slow direction of each point.

    The effect of a push on the state is projected on the selection vector (Mante et al. 2013, 10.1038/nature12742,
    figure 5): a network that integrates one source and ignores another selects the one and not the other.

    Args:
        step: the network, as in `find_fixed_points`.
        found: points under ``inputs``.
        inputs: the constant input, shape (inputs,).
        directions: pushes, shape (directions, inputs).

    Returns:
        Movement along ``found.direction`` per unit of each push, shape (points, directions).
    """
    x, size = np.asarray(inputs, float), 1e-5
    pushes = np.atleast_2d(np.asarray(directions, float))
    effect = [
        (step(found.points, x + size * push) - step(found.points, x - size * push)) / (2 * size) for push in pushes
    ]
    return np.stack([(found.selection * each).sum(axis=1) for each in effect], axis=1)


def _differences(step: Step, h: FloatArray, x: FloatArray, size: float = 1e-5) -> FloatArray:
    """Return the Jacobian by central differences, in two batched steps."""
    nudge = size * np.eye(len(h))
    return ((step(h + nudge, x) - step(h - nudge, x)) / (2 * size)).T
