"""Systems whose fixed points are known in closed form: test material for searches and comparisons of dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from neurogym.array_types import FloatArray
from neurogym.dynamics.systems import Leaky, System


@dataclass(frozen=True)
class Rotated:
    """System in rotated coordinates, ``h = Q z``; fixed points rotate along, eigenvalues stay.

    Attributes:
        system: system in the coordinates ``z``.
        rotation: orthogonal matrix ``Q``, shape (units, units).
    """

    system: System
    rotation: FloatArray

    @property
    def units(self) -> int:
        """Length of the state vector."""
        return self.system.units

    @property
    def inputs(self) -> int:
        """Number of input channels."""
        return self.system.inputs

    def step(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the next states, shape (n, units)."""
        return self.system.step(states @ self.rotation, inputs) @ self.rotation.T

    def jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the state, shape (n, units, units)."""
        return self.rotation @ self.system.jacobian(states @ self.rotation, inputs) @ self.rotation.T

    def input_jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the input, shape (n, units, inputs)."""
        return self.rotation @ self.system.input_jacobian(states @ self.rotation, inputs)


def random_rotation(units: int, rng: np.random.Generator) -> FloatArray:
    """Return an orthogonal matrix drawn uniformly, shape (units, units)."""
    q, r = np.linalg.qr(rng.standard_normal((units, units)))
    return np.asarray(q * np.sign(np.diag(r)))


def flip_flop(bits: int, units: int, gain: float = 1.5, decay: float = 0.5) -> tuple[Leaky, FloatArray, FloatArray]:
    """Return a tanh network that stores bits, with all fixed points at zero input.

    ``bits`` units excite themselves with ``gain`` > 1 and are bistable; the others decay. The 3**bits fixed points are
    all combinations
    of 0 and the two solutions of ``m = tanh(gain m)``.

    Args:
        bits: number of bistable units.
        units: number of units.
        gain: self-excitation of the bistable units.
        decay: self-excitation of the other units, below 1.

    Returns:
        Network with one input for each bit, the points, shape (3**bits, units), and their eigenvalues from large to
        small,
        shape (3**bits, units).
    """
    m = 1.0
    for _ in range(200):
        m -= (m - np.tanh(gain * m)) / (1 - gain * (1 - np.tanh(gain * m) ** 2))
    recurrent = np.diag(np.r_[np.full(bits, gain), np.full(units - bits, decay)])
    weights = np.zeros((units, bits))
    weights[:bits] = 2 * gain * np.eye(bits)
    levels = np.array(list(product((-m, 0.0, m), repeat=bits)))
    points = np.concatenate([levels, np.zeros((len(levels), units - bits))], axis=1)
    slopes = np.concatenate([gain * (1 - levels**2), np.full((len(levels), units - bits), decay)], axis=1)
    return Leaky(recurrent, weights, np.zeros(units)), points, -np.sort(-slopes, axis=1)


def line_attractor(
    units: int, inputs: ArrayLike, rng: np.random.Generator, decay: float = 0.6
) -> tuple[Leaky, FloatArray]:
    """Return a linear network that integrates its input along a line and forgets all other directions.

    Args:
        units: number of units.
        inputs: weight of each input along the line, shape (inputs,).
        rng: draws the direction.
        decay: eigenvalue of the other directions.

    Returns:
        Network and the direction of the line, unit length, shape (units,).
    """
    axis = rng.standard_normal(units)
    axis /= np.linalg.norm(axis)
    recurrent = decay * np.eye(units) + (1 - decay) * np.outer(axis, axis)
    weights = np.outer(axis, np.asarray(inputs, float))
    return Leaky(recurrent, weights, np.zeros(units), "linear"), axis


def point_attractor(units: int, inputs: int, rng: np.random.Generator, decay: float = 0.9) -> Leaky:
    """Return a linear network with a stable point at the origin and random input weights."""
    return Leaky(
        decay * np.eye(units), rng.standard_normal((units, inputs)) / np.sqrt(units), np.zeros(units), "linear"
    )


@dataclass(frozen=True)
class Oscillator:
    """Planar system with a limit cycle of radius 1.

    The radius changes as ``r + growth r (1 - r^2)`` and the angle by ``turn``.
    Without a turn the circle is a ring attractor. The origin is the only other fixed point, with the eigenvalues
    ``(1 + growth) exp(+- i turn)``.

    Attributes:
        growth: speed at which the radius approaches 1.
        turn: angle of a step, radians.
    """

    growth: float = 0.2
    turn: float = 0.0
    units: int = 2
    inputs: int = 1

    def _rotation(self) -> FloatArray:
        c, s = np.cos(self.turn), np.sin(self.turn)
        return np.array([[c, -s], [s, c]])

    def step(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the next states, shape (n, 2); the input is added to the first coordinate."""
        square = (states**2).sum(axis=1, keepdims=True)
        moved = (states * (1 + self.growth * (1 - square))) @ self._rotation().T
        return moved + np.concatenate([np.broadcast_to(inputs, (len(states), 1)), np.zeros((len(states), 1))], axis=1)

    def jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the state, shape (n, 2, 2)."""
        square = (states**2).sum(axis=1)[:, None, None]
        radial = (1 + self.growth * (1 - square)) * np.eye(2) - 2 * self.growth * states[:, :, None] * states[
            :, None, :
        ]
        return self._rotation() @ radial

    def input_jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the input, shape (n, 2, 1)."""
        return np.broadcast_to(np.array([[1.0], [0.0]]), (len(states), 2, 1))


def simulate(
    system: System, starts: ArrayLike, inputs: ArrayLike, rng: np.random.Generator | None = None, noise: float = 0.0
) -> FloatArray:
    """Return trajectories, shape (trials, steps, units).

    Args:
        system: network.
        starts: state before the first step of each trial, shape (trials, units).
        inputs: shape (trials, steps, inputs).
        rng: draws the noise.
        noise: standard deviation of Gaussian noise that is added to the state in each step.
    """
    h, x = np.array(starts, float), np.asarray(inputs, float)
    result = np.empty((len(h), x.shape[1], system.units))
    for t in range(x.shape[1]):
        h = system.step(h, x[:, t])
        if rng is not None and noise:
            h = h + noise * rng.standard_normal(h.shape)
        result[:, t] = h
    return result
