"""Networks and maps whose attractors are known, made by hand from drawn parameters, in random coordinates.

A network is bistable, cycles or holds by its own equations: leaky units with rectified or squashed feedback, GRU units
whose update gate is constant or closed, LSTM units whose forget gate is open.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neurogym import dynamics
from neurogym.dynamics import known

Rng = np.random.Generator


@dataclass
class Made:
    """System with what is true of it.

    Attributes:
        system: the system, without inputs that matter.
        states: states that a task visits, shape (n, units).
        duration: steps of the longest period of that task.
        stable: number of stable points.
        names: acceptable beginnings of the name.
        period: steps of the limit cycle, if any.
    """

    system: dynamics.System
    states: np.ndarray
    duration: int
    stable: int
    names: tuple[str, ...]
    period: float = np.nan


def logit(p: float) -> float:
    return float(np.log(p / (1 - p)))


def blocks(*parts: np.ndarray) -> np.ndarray:
    """Return a block-diagonal matrix."""
    n = sum(len(part) for part in parts)
    result, k = np.zeros((n, n)), 0
    for part in parts:
        result[k : k + len(part), k : k + len(part)] = part
        k += len(part)
    return result


def leaky(core: np.ndarray, alpha: float, rng: Rng, activation: str = "tanh", bias=(), rest: int = 4):
    """Return leaky units with a core and further units that decay."""
    units = len(core) + rest
    weights = blocks(core, np.diag(rng.uniform(0, 0.5, rest)))
    b = np.zeros(units)
    b[: len(bias)] = bias
    return dynamics.Leaky(weights, np.zeros((units, 1)), b, activation, alpha)


def gru(core: np.ndarray, alpha: float, rng: Rng, bias=(), rest: int = 4) -> dynamics.GRU:
    """Return GRU units with open reset gate and constant update gate: leaky tanh units of the rate alpha."""
    units = len(core) + rest
    weights = np.zeros((3 * units, units))
    weights[2 * units :] = blocks(core, np.diag(rng.uniform(0, 0.5, rest)))
    own = np.r_[np.full(units, 40.0), np.full(units, logit(1 - alpha)), np.zeros(units)]
    own[2 * units : 2 * units + len(bias)] = bias
    return dynamics.GRU(weights, np.zeros((3 * units, 1)), own, np.zeros(3 * units))


def around(centres: np.ndarray, system: dynamics.System, rng: Rng, n: int = 120, noise: float = 0.15) -> np.ndarray:
    """Return states around centres given in the first coordinates."""
    rows = centres[rng.integers(len(centres), size=n)]
    states = np.zeros((n, system.units))
    states[:, : rows.shape[1]] = rows
    return states + noise * rng.standard_normal(states.shape) * np.abs(centres).max()


def turned(made: Made, rng: Rng) -> Made:
    """Return the system in random coordinates."""
    rotation = known.random_rotation(made.system.units, rng)
    made.system, made.states = known.Rotated(made.system, rotation), made.states @ rotation.T
    return made


def well(gain: float) -> float:
    """Return the positive solution of ``m = tanh(gain m)``."""
    m = 1.0
    for _ in range(500):
        m -= (m - np.tanh(gain * m)) / (1 - gain * (1 - np.tanh(gain * m) ** 2))
    return m


def exact_line(rng: Rng) -> Made:
    system = leaky(np.eye(1), 0.5, rng, "linear")
    return turned(Made(system, around(np.array([[-1.0], [0.0], [1.0]]), system, rng), 100, 0, ("line",)), rng)


def exact_plane(rng: Rng) -> Made:
    system = leaky(np.eye(2), 0.5, rng, "linear")
    corners = np.array([[-1.0, -1], [1, -1], [-1, 1], [1, 1]])
    return turned(Made(system, around(corners, system, rng), 100, 0, ("plane",)), rng)


def held_by_gates(rng: Rng) -> Made:
    """A closed update gate keeps one unit of a GRU, an open forget gate one cell of an LSTM."""
    units = int(rng.integers(3, 7))
    if rng.random() < 0.5:
        own = np.r_[np.full(units, 40.0), 40.0, np.full(units - 1, logit(rng.uniform(0.3, 0.7))), np.zeros(units)]
        system: dynamics.System = dynamics.GRU(
            np.zeros((3 * units, units)), np.zeros((3 * units, 1)), own, np.zeros(3 * units)
        )
        held = [0]
    else:
        bias = np.r_[-745.0, np.zeros(units - 1), 40.0, np.zeros(units - 1), np.zeros(units), np.ones(units)]
        system = dynamics.LSTM(np.zeros((4 * units, units)), np.zeros((4 * units, 1)), bias)
        held = [units]
    states = 0.05 * rng.standard_normal((120, system.units))
    states[:, held] = rng.uniform(-1, 1, (120, 1))
    return Made(system, states, 60, 0, ("line",))


def exact_ring(rng: Rng) -> Made:
    system = known.Oscillator(growth=rng.uniform(0.05, 0.4))
    angle = rng.uniform(0, 2 * np.pi, 120)
    states = np.stack([np.cos(angle), np.sin(angle)], axis=1) * rng.uniform(0.8, 1.2, (120, 1))
    return turned(Made(system, states, 150, 0, ("ring",)), rng)


@dataclass
class Angle:
    """Ring on which the angle moves by ``drift + pin sin(k angle)`` in each step; the radius returns to 1."""

    growth: float
    drift: float
    pin: float
    k: int
    units: int = 2
    inputs: int = 1

    def step(self, states, inputs):
        radius, angle = np.linalg.norm(states, axis=1), np.arctan2(states[:, 1], states[:, 0])
        radius = radius * (1 + self.growth * (1 - radius**2))
        angle = angle + self.drift + self.pin * np.sin(self.k * angle)
        return radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def jacobian(self, states, inputs):
        return dynamics.FiniteDifferences(self.step, 2, 1).jacobian(states, inputs)

    def input_jacobian(self, states, inputs):
        return np.zeros((len(states), 2, 1))


def ring_with_drift(rng: Rng) -> Made:
    """Stable points on a ring (or ghosts of these, if the drift exceeds the pinning), too slow for the task."""
    k, pin = int(rng.integers(2, 6)), rng.uniform(0.5, 2) * 1e-4
    ghosts = rng.random() < 0.5
    system = Angle(rng.uniform(0.1, 0.3), 1.3 * pin if ghosts else 0.3 * pin, pin, k)
    angle = rng.uniform(0, 2 * np.pi, 120)
    states = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return turned(Made(system, states, 200, 0 if ghosts else k, ("ring attractor, in the limit",)), rng)


def line_with_drift(rng: Rng) -> Made:
    """Weak wells along a line: two stable points in the limit, or one if the line leaks."""
    alpha, units = 0.02, gru if rng.random() < 0.5 else leaky
    if rng.random() < 0.5:
        gain = 1 + rng.uniform(2e-3, 8e-3)
        system, stable, reach = units(np.array([[gain]]), alpha, rng), 2, 1.5 * well(gain)
    else:
        system, stable, reach = units(np.array([[1 - rng.uniform(1e-3, 3e-3)]]), alpha, rng), 1, 0.2
    centres = np.linspace(-reach, reach, 9)[:, None]
    return Made(system, around(centres, system, rng, noise=0.05), 200, stable, ("line attractor, in the limit",))


def bistable(rng: Rng) -> Made:
    """Two wells with a leading eigenvalue between .9 and .9999; the task lasts for three time constants."""
    gain, leading = rng.uniform(1.2, 2.5), 1 - 10 ** rng.uniform(-4, -1)
    m = well(gain)
    alpha = (1 - leading) / (1 - gain * (1 - m**2))
    alpha = min(alpha, 0.9)
    system = (gru if rng.random() < 0.5 else leaky)(np.array([[gain]]), alpha, rng)
    duration = int(3 / (1 - leading)) + 1
    made = Made(system, around(np.array([[-m], [m]]), system, rng), duration, 2, ("2 stable points",))
    return made


def lstm_bistable(rng: Rng) -> Made:
    """Cells that excite themselves through their hidden unit: ``c' = f c + i tanh(w tanh(c))``."""
    forget, weight, units = rng.uniform(0.5, 0.97), rng.uniform(3, 6), int(rng.integers(2, 5))
    weights = np.zeros((4 * units, units))
    weights[2 * units, 0] = weight
    bias = np.r_[np.full(units, logit(1 - forget)), np.full(units, logit(forget)), np.zeros(units), np.full(units, 40)]
    system = dynamics.LSTM(weights, np.zeros((4 * units, 1)), bias)
    states = 0.05 * rng.standard_normal((120, 2 * units))
    states[:, units] = rng.choice([-1, 1], 120) * rng.uniform(0.5, 1.2, 120)
    states[:, 0] = np.tanh(states[:, units])
    return Made(system, states, int(8 / (1 - forget)), 2, ("2 stable points",))


def slow_point(rng: Rng) -> Made:
    """One stable point with slow relaxation; the task lasts for three time constants."""
    tau = 10 ** rng.uniform(2, 4)
    core = known.random_rotation(2, rng) * rng.uniform(0.2, 0.9)
    system = leaky(core, 1 / tau, rng, bias=rng.uniform(-0.3, 0.3, 2))
    return Made(system, around(np.eye(2), system, rng), int(6 * tau), 1, ("1 stable point",))


def cycle(rng: Rng) -> Made:
    period = 10 ** rng.uniform(np.log10(20), np.log10(2000))
    if rng.random() < 0.5:
        turn = 2 * np.pi / period
        system: dynamics.System = known.Oscillator(growth=rng.uniform(0.2, 2) * turn, turn=turn)
        states = rng.standard_normal((120, 2))
        return turned(Made(system, states, int(2 * period), 0, ("limit cycle",), period), rng)
    gain, alpha = rng.uniform(1.1, 1.5), 2 * np.pi / (1.2 * period)
    core = gain * np.array([[1, -1.2], [1.2, 1.0]])
    system = (gru if rng.random() < 0.5 else leaky)(core, alpha, rng)
    return Made(system, around(0.5 * np.eye(2), system, rng), int(2 * period), 0, ("limit cycle",))


@dataclass
class Pair:
    """Two oscillators side by side."""

    first: known.Oscillator
    second: known.Oscillator
    units: int = 4
    inputs: int = 1

    def step(self, states, inputs):
        return np.concatenate([self.first.step(states[:, :2], inputs), self.second.step(states[:, 2:], inputs)], axis=1)

    def jacobian(self, states, inputs):
        parts = self.first.jacobian(states[:, :2], inputs), self.second.jacobian(states[:, 2:], inputs)
        return np.array([blocks(a, b) for a, b in zip(*parts, strict=True)])

    def input_jacobian(self, states, inputs):
        return np.zeros((len(states), 4, 1))


def quasi_periodic(rng: Rng) -> Made:
    turn = 2 * np.pi / rng.uniform(15, 60)
    system = Pair(known.Oscillator(0.1, turn), known.Oscillator(0.1, turn * np.sqrt(rng.choice([2, 3, 5]))))
    return turned(Made(system, rng.standard_normal((120, 4)), 100, 0, ("quasi-periodic",)), rng)


def chaotic(rng: Rng) -> Made:
    """Henon's map (Henon 1976), alone or beside a unit that it drives, or the logistic map close to 4."""
    a, kind = rng.uniform(1.38, 1.4), int(rng.integers(3))

    def step(h, x):
        if kind == 2:
            return np.stack([1 - (a + 0.59) * h[:, 0] ** 2, 0.5 * h[:, 1] + 0.1 * h[:, 0]], axis=1)
        moved = np.stack([1 - a * h[:, 0] ** 2 + h[:, 1], 0.3 * h[:, 0]], axis=1)
        driven = 0.9 * h[:, 2:] + 0.1 * np.tanh(h[:, :1])
        return np.concatenate([moved, driven], axis=1)

    units = 2 if kind == 2 else 2 + kind
    states = 0.1 * rng.standard_normal((60, units))
    return turned(Made(dynamics.FiniteDifferences(step, units, 1), states, 50, 0, ("chaos",)), rng)


def ghost(rng: Rng) -> Made:
    """One well, and the ghost of another that has just vanished, where activity lingers for longer than the task."""
    gain = rng.uniform(1.8, 2.5)
    edge = np.sqrt(1 - 1 / gain)
    fold = gain * edge - np.arctanh(edge)  # the bias at which the lower well vanishes
    alpha = 0.05
    system = (gru if rng.random() < 0.5 else leaky)(np.array([[gain]]), alpha, rng, bias=(fold + 1e-4,))
    centres = np.array([[-edge - 0.05], [-edge], [1.0]])
    return Made(system, around(centres, system, rng, noise=0.05), 200, 1, ("slow passage, 1 stable point",))


KINDS: tuple[Callable[[Rng], Made], ...] = (
    exact_line, exact_plane, held_by_gates, exact_ring, ring_with_drift, line_with_drift, bistable, lstm_bistable,
    slow_point, cycle, quasi_periodic, chaotic, ghost,
)  # fmt: skip
