"""Flow fields, linearisation and shapes of attractors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import Result
from neurogym.array_types import FloatArray
from neurogym.dynamics.points import FixedPoints, modes
from neurogym.dynamics.systems import System

#: A mode is slow if its eigenvalue differs from 1 by less than this: it persists for some fifty steps.
SLOW_MODE = 0.02


@dataclass(frozen=True)
class Plane:
    """Plane in the state space.

    Attributes:
        origin: a state on the plane, shape (units,).
        axes: two orthonormal directions, shape (2, units).
    """

    origin: FloatArray
    axes: FloatArray

    @classmethod
    def through(cls, origin: ArrayLike, first: ArrayLike, second: ArrayLike) -> Plane:
        """Return the plane spanned by two directions, the second made orthogonal to the first.

        Args:
            origin: shape (units,).
            first: direction, for instance a read-out, shape (units,).
            second: direction, for instance an input vector, shape (units,).

        Raises:
            ValueError: if the directions are parallel or zero.
        """
        a, b = np.asarray(first, float), np.asarray(second, float)
        if not np.linalg.norm(a) or not np.linalg.norm(b):
            raise ValueError("a direction of the plane is zero")
        a = a / np.linalg.norm(a)
        rest = b - (b @ a) * a
        if np.linalg.norm(rest) < 1e-9 * np.linalg.norm(b):
            raise ValueError("the two directions of the plane are parallel")
        return cls(np.asarray(origin, float), np.stack([a, rest / np.linalg.norm(rest)]))

    @classmethod
    def principal(cls, states: ArrayLike) -> Plane:
        """Return the plane of the first two principal components of states, shape (n, units)."""
        values = np.asarray(states, float)
        centre = values.mean(axis=0)
        return cls(centre, np.linalg.svd(values - centre, full_matrices=False)[2][:2])

    def project(self, states: ArrayLike) -> FloatArray:
        """Return coordinates in the plane, shape (..., 2), of states of shape (..., units)."""
        return (np.asarray(states, float) - self.origin) @ self.axes.T

    def states(self, coordinates: ArrayLike) -> FloatArray:
        """Return the states at coordinates of shape (..., 2)."""
        return self.origin + np.asarray(coordinates, float) @ self.axes


@dataclass(frozen=True)
class FlowField(Result):
    """Velocity of the activity on a grid in a plane.

    Attributes:
        x: first coordinates of the grid, shape (n,).
        y: second coordinates of the grid, shape (n,).
        velocity: movement in one step within the plane, shape (n, n, 2), rows along ``y``.
        speed: length of the whole movement, out of the plane as well, shape (n, n).
    """

    x: FloatArray
    y: FloatArray
    velocity: FloatArray
    speed: FloatArray


def flow_field(system: System, plane: Plane, inputs: ArrayLike, extent: Sequence[float], n: int = 21) -> FlowField:
    """Return the flow of the network under a constant input on a grid in a plane.

    Args:
        system: network.
        plane: two axes through a state.
        inputs: constant input, shape (inputs,).
        extent: smallest and largest coordinate along the first axis, then along the second.
        n: points of the grid along each axis.
    """
    x, y = np.linspace(extent[0], extent[1], n), np.linspace(extent[2], extent[3], n)
    states = plane.states(np.stack(np.meshgrid(x, y), axis=-1)).reshape(-1, system.units)
    moved = system.step(states, np.asarray(inputs, float)) - states
    speed = np.linalg.norm(moved, axis=1).reshape(n, n)
    return FlowField(x, y, (moved @ plane.axes.T).reshape(n, n, 2), speed)


@dataclass(frozen=True)
class Linearisation(Result):
    """Linear system around a state: ``h' - F(h0, x0) = A (h - h0) + B (x - x0)``.

    Attributes:
        state_matrix: ``A``, shape (units, units).
        input_matrix: ``B``, shape (units, inputs).
        eigenvalues: of ``A``, complex, largest first, shape (units,).
        right: right eigenvectors as columns, shape (units, units).
        left: left eigenvectors as rows, shape (units, units).
        drift: ``F(h0, x0) - h0``; zero at a fixed point, shape (units,).
    """

    state_matrix: FloatArray
    input_matrix: FloatArray
    eigenvalues: np.ndarray
    right: np.ndarray
    left: np.ndarray
    drift: FloatArray

    def input_along_modes(self) -> FloatArray:
        """Return how far a unit of each input moves the state along each mode, shape (units, inputs)."""
        return np.abs(self.left @ self.input_matrix)


def linearise(system: System, state: ArrayLike, inputs: ArrayLike) -> Linearisation:
    """Linearise a network around any state.

    Args:
        system: network with derivatives.
        state: shape (units,).
        inputs: shape (inputs,).
    """
    h, x = np.asarray(state, float)[None], np.asarray(inputs, float)
    jacobian = system.jacobian(h, x)
    values, right, left = modes(jacobian)
    drift = (system.step(h, x) - h)[0]
    return Linearisation(jacobian[0], system.input_jacobian(h, x)[0], values[0], right[0], left[0], drift)


@dataclass(frozen=True)
class Attractor(Result):
    """Shape of a set of fixed and slow points.

    Attributes:
        kind: ``points``, ``line``, ``ring``, ``plane`` or ``none``.
        dimension: number of directions along which neighbouring points continue each other.
        leading: median size of the largest eigenvalue.
        next: median size of the largest eigenvalue that does not belong to the continuum.
        time_constant: steps after which activity along the continuum has moved by a factor e, from ``leading``.
        share: share of the variance of the points along their first ``dimension`` principal axes (two for a ring).
        axis: first principal axis of the points, unit length, shape (units,).
        along: median angle between the axis and the slow directions of the points, degrees.
    """

    kind: str
    dimension: int
    leading: float
    next: float
    time_constant: float
    share: float
    axis: FloatArray
    along: float


def describe_attractor(found: FixedPoints, slow_mode: float = SLOW_MODE) -> Attractor:
    """Classify an attractor as isolated points, line, ring or plane.

    Points are a continuum of dimension d if there are at least six, their d largest eigenvalues are within
    ``slow_mode`` of 1 (median over points), and the step to the nearest neighbours lies in the space of these modes
    (median cosine above .8). Saddles that activity leaves fast separate isolated points, whatever slow modes they have.
    A continuum of dimension one is a ring if it closes.

    Args:
        found: points under one input, slow points included.
        slow_mode: largest distance of the size of a slow mode's eigenvalue from 1.
    """
    points, n = found.points, len(found)
    if not n:
        return Attractor("none", 0, np.nan, np.nan, np.nan, np.nan, np.zeros(points.shape[1]), np.nan)
    size = np.abs(found.eigenvalues)
    slow = np.logical_and.accumulate(np.abs(size - 1) < slow_mode, axis=1).sum(axis=1)  # modes are sorted by size
    dimension = min(int(np.median(slow)), 3) if n >= 6 else 0
    if dimension and not _continues(found, dimension):
        dimension = 0
    centred = points - points.mean(axis=0)
    _, spread, axes = np.linalg.svd(centred, full_matrices=False)
    variance = spread**2 / max(float((spread**2).sum()), 1e-300)
    kind = ("points", "line", "plane", "plane")[dimension]
    if dimension == 1 and _closes(centred @ axes[:2].T):
        kind = "ring"
    leading = float(np.median(size[:, 0]))
    following = float(np.median(size[:, min(max(dimension, 1), size.shape[1] - 1)]))
    cosine = np.clip(np.abs(found.direction @ axes[0]), 0, 1)
    return Attractor(
        kind,
        dimension,
        leading,
        following,
        float(1 / max(abs(np.log(max(leading, 1e-300))), 1e-12)),
        float(variance[: 2 if kind == "ring" else max(dimension, 1)].sum()),
        axes[0],
        float(np.degrees(np.median(np.arccos(cosine)))),
    )


def _continues(result: FixedPoints, dimension: int) -> bool:
    """Whether the step from each point to the nearest neighbour lies in the space of slow modes."""
    points, cosines = result.points, []
    for k, point in enumerate(points):
        distances = np.linalg.norm(points - point, axis=1)
        distances[k] = np.inf
        step = points[int(distances.argmin())] - point
        slow = result.right[k][:, :dimension]
        basis = np.linalg.qr(np.concatenate([slow.real, slow.imag], axis=1))[0][:, : 2 * dimension]
        if not np.iscomplex(slow).any():
            basis = np.linalg.qr(slow.real)[0]
        cosines.append(np.linalg.norm(basis.T @ step) / max(float(np.linalg.norm(step)), 1e-300))
    return float(np.median(cosines)) > 0.8


def _closes(plane: FloatArray) -> bool:
    """True if points in a plane surround a free centre without a gap of more than 60 degrees."""
    radius = np.linalg.norm(plane, axis=1)
    angle = np.sort(np.arctan2(plane[:, 1], plane[:, 0]))
    gaps = np.diff(np.append(angle, angle[0] + 2 * np.pi))
    return bool(gaps.max() < np.pi / 3 and radius.min() > 0.3 * np.median(radius))


def selected_input(system: System, found: FixedPoints, directions: ArrayLike) -> FloatArray:
    """Return how far pushes of the input carry the state along the slow direction of each point.

    The effect of a push is projected on the selection vector (Mante et al. 2013, 10.1038/nature12742, figure 5): a
    network that
    integrates one source of evidence and ignores another selects the first.

    Args:
        system: network with derivatives.
        found: points.
        directions: pushes of the input, shape (directions, inputs).

    Returns:
        Movement along ``found.direction`` for each unit of push, shape (points, directions).
    """
    effect = system.input_jacobian(found.points, found.inputs) @ np.atleast_2d(np.asarray(directions, float)).T
    return np.einsum("pu,pud->pd", found.selection, effect)
