"""Fixed points followed while the input changes, and their bifurcations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import FloatArray, Result
from neurogym.dynamics.points import find_fixed_points, minimise_speed
from neurogym.dynamics.systems import System

#: Small steps of the input between two places, for points that move far from one to the other.
FINER = 16


@dataclass(frozen=True)
class Branch(Result):
    """Fixed point followed along a path of inputs.

    Attributes:
        place: positions along the path, from 0 to 1, shape (places,).
        points: states, shape (places, units).
        n_unstable: number of unstable directions, shape (places,).
        leading: largest eigenvalue, complex, shape (places,).
    """

    place: FloatArray
    points: FloatArray
    n_unstable: np.ndarray
    leading: np.ndarray


@dataclass(frozen=True)
class Bifurcation(Result):
    """Change in the number or stability of fixed points along a path of inputs.

    Attributes:
        place: position along the path.
        kind: ``saddle-node`` (points appear or vanish), ``pitchfork or transcritical`` (a real eigenvalue crosses 1),
            ``flip`` (crosses
            -1) or ``Neimark-Sacker`` (a complex pair leaves or enters the unit circle).
        state: where, shape (units,).
    """

    place: float
    kind: str
    state: FloatArray


def follow(
    system: System,
    starts: ArrayLike,
    first: ArrayLike,
    last: ArrayLike,
    *,
    n: int = 21,
    distance: float = 0.1,
    **search: float,
) -> tuple[list[Branch], list[Bifurcation]]:
    """Follow fixed points while the input changes between two values.

    At each place points are sought from those of the place before and from ``starts``, so that new points are found as
    well. A point that moves farther than ``distance`` between two places is followed in small steps of the input.

    Args:
        system: network with derivatives.
        starts: states to start from, shape (starts, units).
        first: input at the beginning, shape (inputs,).
        last: input at the end, shape (inputs,).
        n: places along the path.
        distance: points of neighbouring places closer than this times ``sqrt(units)`` belong to one branch.
        **search: keyword arguments of `find_fixed_points`.
    """
    a, b, begin = (np.asarray(part, float) for part in (first, last, starts))
    every: list[list[tuple[float, FloatArray, int, complex]]] = []
    going: list[list[tuple[float, FloatArray, int, complex]]] = []  # branches that reached the place before
    for place in np.linspace(0, 1, n):
        before = np.array([branch[-1][1] for branch in going]).reshape(-1, system.units)
        found = find_fixed_points(system, np.concatenate([before, begin]), a + place * (b - a), **search)  # type: ignore[arg-type]
        limit = distance * np.sqrt(system.units)
        old, new = _nearest(before, found.points, limit)
        lost = np.setdiff1d(np.arange(len(before)), old)
        if len(lost) and len(new) < len(found):  # points that move far from one place to the next look like others
            inputs = a + np.linspace(place - 1 / (n - 1), place, FINER + 1)[1:, None] * (b - a)
            before[lost] = _track(system, before[lost], inputs, limit, search.get("tolerance", 1e-16))
            old, new = _nearest(before, found.points, limit)
        continued = [going[k] for k in old]
        begun: list[list[tuple[float, FloatArray, int, complex]]] = [[] for _ in range(len(found) - len(continued))]
        rows = [*new, *np.setdiff1d(np.arange(len(found)), new)]
        every, going = every + begun, continued + begun
        for branch, j in zip(going, rows, strict=True):
            branch.append((float(place), found.points[j], found.n_unstable[j], found.eigenvalues[j, 0]))
    branches = [Branch(*(np.array(column) for column in zip(*branch, strict=True))) for branch in every]
    return branches, _bifurcations(branches, 1 / (n - 1))


def _nearest(before: FloatArray, after: FloatArray, limit: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of points before and after that belong together, at most as far apart as a limit."""
    from scipy.optimize import linear_sum_assignment

    apart = np.nan_to_num(np.linalg.norm(before[:, None] - after[None], axis=2), nan=1e3 * limit)
    old, new = linear_sum_assignment(apart)
    close = apart[old, new] <= limit
    return old[close], new[close]


def _track(system: System, points: FloatArray, inputs: FloatArray, limit: float, tolerance: float) -> FloatArray:
    """Return where points are after small steps of the input, shape (points, units); nan for points that vanish.

    Args:
        system: network with derivatives.
        points: points before the first step, shape (points, units).
        inputs: input of each step, shape (steps, inputs).
        limit: longest movement of a point in a step.
        tolerance: largest speed of a fixed point.
    """
    moved, rows = points.copy(), np.arange(len(points))
    for each in inputs:
        found, speed = minimise_speed(system, moved[rows], np.repeat(each[None], len(rows), axis=0))
        gone = (speed > tolerance) | (np.linalg.norm(found - moved[rows], axis=1) > limit)
        moved[rows] = np.where(gone[:, None], np.nan, found)
        rows = rows[~gone]
        if not len(rows):
            break
    return moved


def _bifurcations(branches: list[Branch], gap: float) -> list[Bifurcation]:
    """Return the places at which branches begin, end or change stability."""
    found = []
    for branch in branches:
        if branch.place[0] > 0:
            found.append(Bifurcation(float(branch.place[0] - gap / 2), "saddle-node", branch.points[0]))
        if branch.place[-1] < 1:
            found.append(Bifurcation(float(branch.place[-1] + gap / 2), "saddle-node", branch.points[-1]))
        for k in np.flatnonzero(np.diff(branch.n_unstable)):
            crossing = branch.leading[k : k + 2][np.argmin(np.abs(np.abs(branch.leading[k : k + 2]) - 1))]
            kind = "flip" if crossing.real < 0 else "pitchfork or transcritical"
            kind = "Neimark-Sacker" if abs(crossing.imag) > 1e-6 else kind
            found.append(Bifurcation(float(branch.place[k] + gap / 2), kind, branch.points[k]))
    return sorted(found, key=lambda each: each.place)
