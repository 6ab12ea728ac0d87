"""Flow fields and linearisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import Result
from neurogym.array_types import FloatArray
from neurogym.dynamics.points import FixedPoints, modes
from neurogym.dynamics.systems import System


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
