"""Limit sets: the states to which activity settles under a constant input, found by running the map.

Kinds are those of the theory of maps (Strogatz 2015, Nonlinear dynamics and chaos; Kuznetsov 2004, Elements of applied
bifurcation theory): stable points, limit cycles (closed curves; the period need not be a whole number of steps),
quasi-periodic and chaotic sets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import Result
from neurogym.array_types import FloatArray, IntArray
from neurogym.dynamics.points import FIXED, MARGINAL, minimise_speed
from neurogym.dynamics.systems import System

#: Most steps for which activity is followed, and steps of the first stretch; each stretch is twice as long as the last.
MOST_STEPS, FIRST, LONGEST = 100_000, 64, 16_384

#: States, the slowest, from which points are searched after each stretch.
SEARCHED = 6

#: Shares of the distance between states: radius within which a point attracts (the distance must also shrink at least
#: at half the rate of the slowest mode), distance at which two states continue as one, size of the first jitter.
NEAR, TOGETHER, JITTER = 0.2, 1e-3, 1e-6

#: Shares of the extent of an orbit: change between halves once settled, distance of a return, and width of a curve
#: (second to first singular value of neighbouring states).
SETTLED, RETURN, CURVE = 5e-3, 1e-5, 0.15

#: States of the shortest orbit that is judged, neighbours and places for its dimension, and growth of a distance (log)
#: that only chaos reaches; on a torus a distance grows at most linearly with time.
SHORTEST, NEIGHBOURS, PLACES, GROWTH = 256, 20, 40, 15.0

#: Steps of the fastest closed curve that is a cycle unless the period is a whole number; kept states of an orbit.
FASTEST, KEPT = 10.0, 2000


@dataclass(frozen=True)
class Limit(Result):
    """Set of states to which activity settles.

    Attributes:
        kind: ``point``, ``cycle``, ``quasi-periodic``, ``chaotic``, ``unsettled`` (activity still changes after the
            last step) or ``diverges``.
        states: the point, or up to `KEPT` successive states of the orbit, shape (n, units).
        period: steps of a round of a cycle, else nan.
        extent: largest distance between states of the orbit; 0 for a point.
        exponent: largest Lyapunov exponent, per step.
        share: share of the states that settle here.
    """

    kind: str
    states: FloatArray
    period: float
    extent: float
    exponent: float
    share: float


def run(system: System, states: FloatArray, inputs: FloatArray, steps: int) -> FloatArray:
    """Return states after a number of steps under a constant input.

    Args:
        system: network.
        states: shape (n, units).
        inputs: shape (inputs,).
        steps: number of steps.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps):
            states = system.step(states, inputs)
    return states


def spread(states: ArrayLike) -> float:
    """Return the root mean square distance between two states, at least 1e-6.

    Args:
        states: shape (n, units).
    """
    return max(float(np.sqrt(2 * np.var(np.asarray(states, float), axis=0).sum())), 1e-6)


def find_limits(
    system: System, states: ArrayLike, inputs: ArrayLike, *, scale: float | None = None, max_steps: int = MOST_STEPS
) -> tuple[list[Limit], IntArray]:
    """Follow states under a constant input until they settle.

    Stretches of the run double in length. After each, states that approach a stable point are done (Newton's method
    gives the point, and the distance to the point must shrink as its eigenvalues demand), and so are states on a known
    orbit; an orbit is judged once its extent no longer changes.

    Args:
        system: network with derivatives.
        states: where the activity begins, shape (n, units).
        inputs: constant input, shape (inputs,).
        scale: distance between states of the task; by default that between ``states``.
        max_steps: most steps for which activity is followed.

    Returns:
        The limit sets, the largest share first, and the limit set of each state, shape (n,).
    """
    begin, x = np.atleast_2d(np.asarray(states, float)), np.asarray(inputs, float)
    scale = spread(begin) if scale is None else scale
    jitter = np.random.default_rng(0).standard_normal(begin.shape) / np.sqrt(begin.shape[1])
    h, leader = begin + JITTER * scale * jitter, np.arange(len(begin))
    known, active = _Known(system, x, scale, [], np.full(len(begin), -1)), np.arange(len(begin))
    steps, stretch = 0, FIRST
    while len(active) and steps < max_steps:
        stretch = min(stretch, max_steps - steps)
        before, h[active] = h[active], run(system, h[active], x, stretch)
        bounded = (np.abs(h[active]) < 1e12).all(axis=1)  # false for nan
        if not bounded.all():
            known.add(active[~bounded], _plain("diverges", before[~bounded][:1]))
        active = known.at_points(h, before[bounded], active[bounded], stretch)
        active = _merge(h, known.on_orbits(h, active), leader, TOGETHER * scale)
        orbit = _recognise(system, h[active[0]], x, stretch, scale) if len(active) and stretch >= SHORTEST else None
        if orbit is not None:
            known.add(active[:1], orbit)
            active = active[1:]
        steps, stretch = steps + stretch, min(2 * stretch, LONGEST)
    if len(active):
        known.add(active, _plain("unsettled", h[active]))
    while (leader[leader] != leader).any():
        leader = leader[leader]
    label = known.label[leader]
    shares = np.bincount(label, minlength=len(known.limits)) / len(label)
    order = np.argsort(-shares, kind="stable")
    return [replace(known.limits[k], share=float(shares[k])) for k in order], np.argsort(order)[label]


def _plain(kind: str, states: FloatArray, exponent: float = np.nan) -> Limit:
    return Limit(kind, states, np.nan, 0.0, exponent, 0.0)


@dataclass
class _Known:
    """Limit sets that are known so far, and the limit set of each state, -1 where it is not known."""

    system: System
    x: FloatArray
    scale: float
    limits: list[Limit]
    label: IntArray

    def add(self, rows: IntArray, limit: Limit) -> None:
        """Add a limit set to which states belong."""
        self.label[rows] = len(self.limits)
        self.limits.append(limit)

    def at_points(self, h: FloatArray, before: FloatArray, active: IntArray, stretch: int) -> IntArray:
        """Assign states that approach a point, and return the others."""
        if not len(active):
            return active
        velocity = np.linalg.norm(self.system.step(h[active], self.x) - h[active], axis=1)
        searched = active[np.argsort(velocity, kind="stable")[:SEARCHED]]
        points, speed = minimise_speed(self.system, h[searched], np.repeat(self.x[None], len(searched), axis=0), 60)
        points = points[speed <= FIXED * (1 + (points**2).sum(axis=1))]
        points = np.concatenate([points, *(each.states for each in self.limits if each.kind == "point")])
        if not len(points):
            return active
        jacobians = self.system.jacobian(points, np.repeat(self.x[None], len(points), axis=0))
        sizes = np.abs(np.linalg.eigvals(jacobians)).max(axis=1)
        distance = np.linalg.norm(h[active, None] - points[None], axis=2)
        nearest, away = distance.argmin(axis=1), distance.min(axis=1)
        points, leading = points[nearest], sizes[nearest]
        shrunk = np.minimum(leading, 1.0) ** (stretch / 2) * np.linalg.norm(before - points, axis=1)
        still = velocity <= 1e-12 * (self.scale + np.linalg.norm(h[active], axis=1))
        stable = (leading < 1 - MARGINAL) & (away <= np.maximum(shrunk, 1e-9 * self.scale))
        arrived = (away < NEAR * self.scale) & (stable | still)
        for k in np.flatnonzero(arrived):
            ends = [(j, each.states[0]) for j, each in enumerate(self.limits) if each.kind == "point"]
            same = [j for j, end in ends if np.linalg.norm(points[k] - end) <= 1e-4 * self.scale]
            if same:
                self.label[active[k]] = same[0]
            else:
                self.add(active[k : k + 1], _plain("point", points[k][None], float(np.log(max(leading[k], 1e-300)))))
        return active[~arrived]

    def on_orbits(self, h: FloatArray, active: IntArray) -> IntArray:
        """Assign states that are on a known orbit, and return the others.

        A state is on an orbit if it is as near as the orbit is to itself: between steps of a cycle, else between the
        halves of the orbit.
        """
        from scipy.spatial.distance import cdist

        for k, each in enumerate(self.limits):
            if each.extent and len(active):
                n = len(each.states)
                halves = (
                    (each.states[::2], each.states[1::2]) if each.kind == "cycle" else np.split(each.states, [n // 2])
                )
                usual = float(np.quantile(cdist(*halves).min(axis=1), 0.95))
                near = cdist(h[active], each.states).min(axis=1) <= 1.5 * usual + 0.01 * each.extent
                self.label[active[near]] = k
                active = active[~near]
        return active


def _merge(h: FloatArray, active: IntArray, leader: IntArray, distance: float) -> IntArray:
    """Return the states that go on; states that have come together follow the first of them."""
    if not len(active):
        return active
    near = np.linalg.norm(h[active, None] - h[None, active], axis=2) <= distance
    first = near.argmax(axis=1)
    leader[active] = active[first]
    return active[first == np.arange(len(active))]


def _recognise(system: System, state: FloatArray, x: FloatArray, n: int, scale: float) -> Limit | None:
    """Return the orbit that a state is on, None unless it has settled."""
    path, logs = _orbit(system, state, x, n, 1e-7 * scale)
    centred = path - path.mean(axis=0)
    axes = np.linalg.svd(centred[:: max(1, n // 1000)], full_matrices=False)[2][:6]
    places = centred @ axes.T
    ranges = np.array([np.ptp(half[:, :2], axis=0) for half in (places[: n // 2], places[n // 2 :])])
    extent, change = float(ranges.max()), float(np.abs(ranges[1] - ranges[0]).max())
    if extent < 1e-4 * scale or not np.isfinite(extent):
        return None
    exponent, growth = float(logs[n // 4 :].mean()), float(logs[n // 4 :].sum())
    blocks = np.array([block.mean() for block in np.array_split(logs[n // 4 :], 8)])
    kind, period = "", np.nan
    if growth > GROWTH and exponent > 3 * blocks.std() / np.sqrt(len(blocks)):
        kind = "chaotic" if change < 0.2 * extent else ""
    elif change < SETTLED * extent:
        away = np.linalg.norm(places[-1] - places[-2::-1], axis=1)
        again = np.flatnonzero(away[: n // 4] < RETURN * extent)
        width = _width(places)
        period = _period(path, extent) if width < CURVE or len(again) else np.nan
        if FASTEST <= period <= n / 3:
            kind = "cycle"
        elif len(again):
            kind, period = "cycle", float(again[0] + 1)
        elif period < FASTEST or (width >= CURVE and n >= LONGEST and not _thins(places)):
            kind, period = "quasi-periodic", np.nan
    if not kind:
        return None
    kept = path[-int(np.ceil(period)) :] if kind == "cycle" else path[-KEPT:]
    return Limit(kind, kept[:: -(-len(kept) // KEPT)], period, extent, exponent, 0.0)


def _orbit(system: System, state: FloatArray, x: FloatArray, n: int, size: float) -> tuple[FloatArray, FloatArray]:
    """Return the next states, shape (n, units), and the growth (log) of a small distance in each step, shape (n,)."""
    push = np.random.default_rng(1).standard_normal(len(state))
    pair = np.stack([state, state + size * push / np.linalg.norm(push)])
    path, logs = np.empty((n, len(state))), np.empty(n)
    for t in range(n):
        pair = system.step(pair, x)
        path[t] = pair[0]
        apart = pair[1] - pair[0]
        length = max(float(np.linalg.norm(apart)), 1e-9 * size)
        logs[t] = np.log(length / size)
        pair[1] = pair[0] + apart * (size / length)
    return path, logs


def _width(places: FloatArray) -> float:
    """Return the width of neighbourhoods relative to their length, the median over places of the orbit."""
    ratios = []
    for k in np.linspace(0, len(places) - 1, PLACES).astype(int):
        distance = np.linalg.norm(places - places[k], axis=1)
        near = places[np.argpartition(distance, NEIGHBOURS)[: NEIGHBOURS + 1]]
        values = np.append(np.linalg.svd(near - near.mean(axis=0), compute_uv=False), 0.0)  # a single unit has one
        ratios.append(values[1] / max(values[0], 1e-300))
    return float(np.median(ratios))


def _thins(places: FloatArray) -> bool:
    """Return whether the orbit is thinner at its end, as one that still approaches a cycle."""
    n = len(places) // 4
    return _width(places[-n:]) < 0.9 * _width(places[:n])


def _period(path: FloatArray, extent: float) -> float:
    """Return the mean time between passages through a place of the orbit, nan for fewer than three passages."""
    speed = np.linalg.norm(np.diff(path, axis=0), axis=1)
    k = int(np.argsort(speed)[len(speed) // 2])
    along = path[k + 1] - path[k]
    position = (path - path[k]) @ along
    near = np.linalg.norm(path - path[k], axis=1) < max(0.1 * extent, 1.5 * float(np.linalg.norm(along)))
    passed = np.flatnonzero((position[:-1] < 0) & (position[1:] >= 0) & near[:-1])
    if len(passed) < 3:
        return np.nan
    times = passed - position[passed] / (position[passed + 1] - position[passed])
    return float((times[-1] - times[0]) / (len(times) - 1))
