"""Attractors under a constant input: on the time of the task, and in the limit.

On the time of the task a continuum of states may hold that has few stable points, or none, in the limit (Seung 1996,
10.1073/pnas.93.23.13339; Sagodi et al. 2024, arXiv:2408.00109). Both are measured by running the map.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import Result
from neurogym.array_types import FloatArray, IntArray
from neurogym.dynamics.basins import find_between, join
from neurogym.dynamics.limits import MOST_STEPS, Limit, find_limits, run, spread
from neurogym.dynamics.points import FixedPoints, find_fixed_points
from neurogym.dynamics.systems import System

#: Movement during the task's longest period up to which a state holds, as a share of the distance between states.
HOLDS = 0.1

#: States that are followed to the limit, states for the time of the task, starts between each pair of stable points.
FOLLOWED, HELD, BETWEEN = 32, 240, 5

#: Starts times units beyond which there are fewer starts of the search for points, and fewest starts.
STARTS, FEWEST = 32_768, 64

#: Shares of the distance between states: largest gap in a continuum, smallest extent of a continuum.
GAP, EXTENT = 0.2, 0.5

#: Drift time relative to decay time from which a continuum attracts; below, activity is slow in all directions.
ATTRACTS = 5.0

#: Share of the extent of a continuum within which neighbours show its dimension; width of a direction that counts,
#: relative to the direction before.
NEIGHBOURHOOD, WIDTH = 0.2, 0.3

#: Unstable points beside which stable points are searched, steps that activity runs from there, and movement beyond
#: which activity is taken for unbounded, relative to the distance between states.
SADDLES, AWAY, FAR = 100, 1000, 1e3

#: Further periods after which states may hold, once slow transients are over.
LATER = 3

#: States of a continuum at which its decay is taken from the Jacobian, at most.
LINEARISED = 40

#: Looks at the distance from the beginning within a period.
LOOKS = 16

#: Periods for which a continuum is followed to see how long it holds, at most.
MOST_PERIODS = 128

#: Largest speed of the slow points from which those that hold are kept, and distance between two of them as a share of
#: the distance between states.
SLOW, APART = 1e-2, 0.1

#: Distance from all limit sets, as a share of that between states, at which a state that holds lingers; share of the
#: states that must linger for the name to say so.
ELSEWHERE, PASSAGE = 0.25, 0.1

#: Names of further limit sets by their kind.
ORBITS = {"quasi-periodic": "quasi-periodic motion", "chaotic": "chaos", "diverges": "unbounded activity"}

CONTINUA = ("line", "ring", "plane", "space")  #: names of continua, the last of three dimensions or more


@dataclass(frozen=True)
class Continuum(Result):
    """Continuum of states that hold for the task's longest period, and that attract on a shorter time.

    Attributes:
        kind: name in `CONTINUA`.
        dimension: number of its directions, at most 3.
        states: states on it, shape (n, units).
        extent: largest distance between two of the states.
        holds: periods after which half of the states have moved by the share `HOLDS`; infinite if they had not after
            `MOST_PERIODS` periods.
        drift: steps in which activity would move along the continuum by the distance between states; infinite if it
            does not move.
        decay: steps in which a distance from the continuum shrinks by a factor e, from the Jacobian.
    """

    kind: str
    dimension: int
    states: FloatArray
    extent: float
    holds: float
    drift: float
    decay: float

    @property
    def ratio(self) -> float:
        """Drift time relative to decay time."""
        return self.drift / self.decay if self.decay and np.isfinite(self.drift) else np.inf


@dataclass(frozen=True)
class Attractors(Result):
    """Attractors of a network under one constant input.

    Attributes:
        limits: limit sets of visited states, the largest share first.
        continuum: continuum that holds on the time of the task, None without any.
        passage: share of states that hold on the time of the task although they settle elsewhere.
        points: fixed points, and slow points: states that hold.
        slowest: slowest states that are no fixed points, shape (at most 3, units): local minima of the speed nearby, or
            visited states where the search found none.
        duration: steps of the task's longest period.
        scale: distance between states of the task.
        max_steps: steps for which activity was followed at most.
    """

    limits: tuple[Limit, ...]
    continuum: Continuum | None
    passage: float
    points: FixedPoints
    slowest: FloatArray
    duration: int
    scale: float
    max_steps: int

    @property
    def n_stable(self) -> int:
        """Number of stable points."""
        return int(self.points.stable.sum())

    @property
    def in_the_limit(self) -> str:
        """Limit sets in words, as in ``2 stable points``."""
        n, kinds = self.n_stable, Counter(each.kind for each in self.limits)
        words = [f"{n} stable point{'s' * (n != 1)}"] if n else []
        if self.marginal:
            words.insert(0, f"{self.continuum.kind} attractor" if self.continuum else "marginal points")
        cycles = kinds["cycle"]
        words += ["limit cycle" if cycles == 1 else f"{cycles} limit cycles"] if cycles else []
        words += [name for kind, name in ORBITS.items() if kinds[kind]]
        return " and ".join(words) or f"not settled after {self.max_steps:,} steps"

    @property
    def marginal(self) -> bool:
        """Whether visited states settle at points at which activity neither grows nor decays in some direction."""
        stable = self.points.points[self.points.stable]
        ends = [each.states[0] for each in self.limits if each.kind == "point"]
        return any(np.linalg.norm(stable - end, axis=1).min(initial=np.inf) > 1e-3 * self.scale for end in ends)

    @property
    def name(self) -> str:
        """Name of the attractor; both names where the task's time and the limit differ."""
        if self.continuum is None or self.marginal:
            return ("slow passage, " if self.passage >= PASSAGE and not self.marginal else "") + self.in_the_limit
        article = "a " if self.in_the_limit.startswith("limit") else ""
        return f"{self.continuum.kind} attractor, in the limit {article}{self.in_the_limit}"


def find_attractors(
    system: System,
    states: ArrayLike,
    inputs: ArrayLike,
    duration: int,
    *,
    scale: float | None = None,
    starts: int | None = None,
    noise: float = 0.1,
    max_steps: int = MOST_STEPS,
) -> Attractors:
    """Find the attractors of a network under a constant input, on the time of the task and in the limit.

    Visited states are followed until they settle (`find_limits`). Visited states, states with noise and states between
    pairs of visited states run for the task's longest period, and on for `LATER` periods. From both times a state holds
    if it moves by less than the share `HOLDS` of the distance between states during another period. Points are searched
    from all of these.

    Args:
        system: network with derivatives.
        states: visited states, shape (n, units).
        inputs: constant input, shape (inputs,).
        duration: steps of the task's longest period.
        scale: distance between states of the task; by default that between ``states``.
        starts: visited states with noise from which points are searched; None for 256, fewer for many units.
        noise: standard deviation of the noise around visited states, as a share of that of each unit.
        max_steps: steps for which activity is followed at most.
    """
    visited, x, rng = np.atleast_2d(np.asarray(states, float)), np.asarray(inputs, float), np.random.default_rng(0)
    scale = spread(visited) if scale is None else scale
    starts = starts or min(256, max(FEWEST, STARTS // system.units))

    def drawn(n: int) -> FloatArray:
        rows = visited[rng.choice(len(visited), n, replace=len(visited) < n)]
        return np.asarray(rows + noise * visited.std(axis=0) * rng.standard_normal(rows.shape))

    fraction = rng.random((HELD, 1))
    first = run(system, fraction * drawn(HELD) + (1 - fraction) * drawn(HELD), x, duration)
    before = np.concatenate([first, run(system, first, x, LATER * duration)])
    after, moved = _farthest(system, before, x, duration)
    held = moved <= HOLDS * scale
    limits, _ = find_limits(system, drawn(FOLLOWED), x, scale=scale, max_steps=max_steps)
    ends = [each.states[:1] for each in limits if each.kind == "point"]
    begin = np.concatenate([drawn(starts), after[moved <= FAR * scale]])
    searched = [find_fixed_points(system, begin, x, slow=SLOW, apart=APART * scale)]
    searched += [find_fixed_points(system, np.concatenate(ends), x)] if ends else []
    points, known = join(searched, 1e-4 * scale), -1
    while points.stable.sum() > known:
        known = points.stable.sum()
        points = find_between(system, points, BETWEEN)
        points = join([points, *_beside_saddles(system, points, x, scale)], 1e-4 * scale)
    slowest = points.points[~points.fixed]
    slowest = slowest[np.linalg.norm(slowest[:, None] - visited[None], axis=2).min(axis=1, initial=np.inf) <= scale]
    if not len(slowest):
        slowest = visited[np.argsort(np.linalg.norm(system.step(visited, x) - visited, axis=1), kind="stable")]
    points = points.take(points.fixed | (_farthest(system, points.points, x, duration)[1] <= HOLDS * scale))
    continuum = _continuum(system, before[held], moved[held], x, duration, scale)
    ends = [points.points[points.stable], *(each.states for each in limits if each.kind != "unsettled")]
    away = np.linalg.norm(after[held, None] - np.concatenate(ends)[None], axis=2).min(axis=1, initial=np.inf)
    passage = float((away > ELSEWHERE * scale).sum() / len(held)) if continuum is None else 0.0
    return Attractors(tuple(limits), continuum, passage, points, slowest[:3], duration, scale, max_steps)


def _beside_saddles(system: System, points: FixedPoints, x: FloatArray, scale: float) -> list[FixedPoints]:
    """Return the points to which activity runs from both sides of unstable points, at most `SADDLES` of these."""
    unstable = points.take(np.flatnonzero(points.fixed & (points.n_unstable > 0))[:SADDLES])
    if not len(unstable):
        return []
    push = 0.02 * scale * unstable.direction
    settled = run(system, np.concatenate([unstable.points - push, unstable.points + push]), x, AWAY)
    settled = settled[(np.abs(settled - unstable.points.mean(axis=0)) < FAR * scale).all(axis=1)]
    return [find_fixed_points(system, settled, x)] if len(settled) else []


def _farthest(
    system: System, states: FloatArray, x: FloatArray, steps: int, origin: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return states after a number of steps, and the largest distance from the origin on the way (a cycle returns)."""
    h, origin, farthest = states, states if origin is None else origin, np.zeros(len(states))
    for stretch in np.array_split(np.arange(steps), min(steps, LOOKS)):
        h = run(system, h, x, len(stretch))
        with np.errstate(over="ignore", invalid="ignore"):
            farthest = np.maximum(farthest, np.nan_to_num(np.linalg.norm(h - origin, axis=1), nan=np.inf))
    return h, farthest


def _continuum(
    system: System, held: FloatArray, moved: FloatArray, x: FloatArray, duration: int, scale: float
) -> Continuum | None:
    """Return the widest connected set of states that hold, None if it is no wider than a point."""
    best, extent = np.zeros(0, int), 0.0
    for rows in _connected(held, GAP * scale):
        wide = float(np.linalg.norm(held[rows][:, None] - held[rows][None], axis=2).max())
        if wide > extent:
            best, extent = rows, wide
    if extent < EXTENT * scale or len(best) < 6:
        return None
    states = held[best]
    dimension = _dimension(states, NEIGHBOURHOOD * extent)
    centred = states - states.mean(axis=0)
    closed = dimension == 1 and _closes(centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T)
    some = states[:: -(-len(states) // LINEARISED)]
    sizes = np.sort(np.abs(np.linalg.eigvals(system.jacobian(some, np.repeat(x[None], len(some), axis=0)))))
    across = float(np.median(sizes[:, ::-1][:, dimension])) if dimension < sizes.shape[1] else 0.0
    typical = float(np.median(moved[best])) / scale
    found = Continuum(
        "ring" if closed else CONTINUA[dimension + (dimension > 1) - 1],
        dimension,
        states,
        extent,
        _periods(system, states, x, duration, scale),
        duration / typical if typical > 1e-12 else np.inf,
        np.inf if across >= 1 else -1 / np.log(max(across, 1e-300)),
    )
    return found if found.ratio >= ATTRACTS else None


def _connected(states: FloatArray, gap: float) -> list[IntArray]:
    """Return groups of states that chains without a larger gap connect.

    In several dimensions states are sparse: there the gap is twice the usual distance to the nearest neighbour.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial import KDTree

    if len(states) < 2:
        return []
    usual = float(np.median(KDTree(states).query(states, 2)[0][:, 1]))
    labels = fcluster(linkage(states, "single"), max(gap, 2 * usual), "distance")
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _dimension(states: FloatArray, radius: float) -> int:
    """Return the number of directions, 1 to 3, in which neighbours within a radius extend; the median over states."""
    dimensions = []
    for state in states:
        near = states[np.linalg.norm(states - state, axis=1) <= radius]
        if len(near) >= 4:
            values = np.append(np.linalg.svd(near - near.mean(axis=0), compute_uv=False), [0.0, 0.0])
            dimensions.append(1 + int(values[1] > WIDTH * values[0]) * (1 + int(values[2] > WIDTH * values[1])))
    return int(np.median(dimensions)) if dimensions else 1


def _periods(system: System, states: FloatArray, x: FloatArray, duration: int, scale: float) -> float:
    """Return the number of periods after which half of the states have moved by the share `HOLDS`."""
    h, periods = states, 0
    while periods < MOST_PERIODS:
        h, farthest = _farthest(system, h, x, duration, states)
        periods += 1
        if np.median(farthest) > HOLDS * scale:
            return float(periods)
    return np.inf


def _closes(plane: FloatArray) -> bool:
    """Return whether states in a plane surround a free centre without a gap of more than 60 degrees."""
    radius = np.linalg.norm(plane, axis=1)
    angle = np.sort(np.arctan2(plane[:, 1], plane[:, 0]))
    gaps = np.diff(np.append(angle, angle[0] + 2 * np.pi))
    return bool(gaps.max() < np.pi / 3 and np.quantile(radius, 0.05) > 0.3 * np.median(radius))
