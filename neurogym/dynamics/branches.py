"""Fixed points followed while the input changes, and their bifurcations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import Result
from neurogym.array_types import FloatArray
from neurogym.dynamics.points import FIXED, count_unstable, find_fixed_points, minimise_speed, modes
from neurogym.dynamics.systems import System

#: Small steps of the input between two places, for points that move far from one to the other.
FINER = 16

AT_ONE = "pitchfork or transcritical"  #: name of a crossing at 1 while no other branch is known to take part
MEETING = 1.6  #: places between two changes that are one event, at most
COMPLEX = 1e-4  #: imaginary share of an eigenvalue from which it is one of a complex pair

MERGED = 1e-3  #: distance of two points, times ``sqrt(units)``, at which a branch meets another one

#: Position, state, number of unstable directions and eigenvalues of a place of a branch.
BranchPoint = tuple[float, FloatArray, int, np.ndarray]
PathInput = Callable[[np.ndarray], np.ndarray]  #: from positions, shape (n, 1), to inputs, shape (n, inputs)


@dataclass(frozen=True)
class Branch(Result):
    """Fixed point followed along a path of inputs.

    Attributes:
        place: positions along the path, from 0 to 1, shape (places,).
        points: states, shape (places, units).
        n_unstable: number of unstable directions, shape (places,).
        leading: largest eigenvalue, complex, shape (places,).
        eigenvalues: all eigenvalues, matched along the branch, complex, shape (places, units).
    """

    place: FloatArray
    points: FloatArray
    n_unstable: np.ndarray
    leading: np.ndarray
    eigenvalues: np.ndarray


@dataclass(frozen=True)
class Bifurcation(Result):
    """Change in the number or stability of fixed points along a path of inputs.

    Attributes:
        place: position along the path.
        kind: ``saddle-node`` (points appear or vanish), ``pitchfork`` (a real eigenvalue crosses 1 where two branches
            begin or end), ``transcritical`` (two branches cross), ``pitchfork or transcritical`` (no other branch was
            found), ``flip`` (an eigenvalue crosses -1) or ``Neimark-Sacker`` (a complex pair crosses the unit circle).
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
    a, b, begin = (np.asarray(vector, float) for vector in (first, last, starts))
    every: list[list[BranchPoint]] = []
    open_branches: list[list[BranchPoint]] = []  # branches that reached the place before
    for position in np.linspace(0, 1, n):
        before = np.array([_predicted(branch) for branch in open_branches]).reshape(-1, system.units)
        points = find_fixed_points(system, np.concatenate([before, begin]), a + position * (b - a), **search)  # type: ignore[arg-type]
        limit = distance * np.sqrt(system.units)
        old, new = _nearest(before, points.points, limit)
        lost = np.setdiff1d(np.arange(len(before)), old)
        if len(lost) and len(new) < len(points):  # points that move far from one place to the next look like others
            inputs = a + np.linspace(position - 1 / (n - 1), position, FINER + 1)[1:, None] * (b - a)
            last = np.array([open_branches[k][-1][1] for k in lost])
            before[lost] = _track(system, last, inputs, limit, search.get("tolerance", FIXED))
            old, new = _nearest(before, points.points, limit)
        continued = [open_branches[k] for k in old]
        new_branches: list[list[BranchPoint]] = [[] for _ in range(len(points) - len(continued))]
        rows = [*new, *np.setdiff1d(np.arange(len(points)), new)]
        every, open_branches = every + new_branches, continued + new_branches
        for branch, j in zip(open_branches, rows, strict=True):
            branch.append((float(position), points.points[j], points.n_unstable[j], points.eigenvalues[j]))
    for branch in every:
        _extend(system, branch, every, lambda at: a + at * (b - a), n, search.get("tolerance", FIXED))
    branches = [_branch(branch) for branch in every]
    return branches, _bifurcations(branches, 1 / (n - 1))


def _predicted(branch: list[BranchPoint]) -> FloatArray:
    """Return where a branch goes on in a straight line, by which branches that cross are told apart."""
    if len(branch) < 2:
        return branch[-1][1]
    return 2 * branch[-1][1] - branch[-2][1]


def _extend(
    system: System,
    branch: list[BranchPoint],
    every: list[list[BranchPoint]],
    inputs: PathInput,
    n: int,
    tolerance: float,
) -> None:
    """Follow a branch beyond its first and last place, where its points exist but were not found by the search."""
    gap, limit = 1 / (n - 1), MERGED * np.sqrt(system.units)
    for side, step in ((0, -gap), (-1, gap)):
        while -0.5 * gap < branch[side][0] + step < 1 + 0.5 * gap:
            position = branch[side][0] + step
            path = inputs(np.linspace(position - step, position, FINER + 1)[1:, None])
            moved = _track(system, branch[side][1][None], path, np.inf, tolerance)
            nearby = [each[1] for second in every for each in second if abs(each[0] - position) < 0.5 * gap]
            if not np.isfinite(moved).all() or any(np.linalg.norm(moved[0] - point) < limit for point in nearby):
                break
            values = modes(system.jacobian(moved, path[-1:]))[0][0]
            entry = (float(position), moved[0], int(count_unstable(values)), values)
            branch.insert(0 if side == 0 else len(branch), entry)


def _branch(places: list[BranchPoint]) -> Branch:
    position, points, n_unstable, values = (np.array(column) for column in zip(*places, strict=True))
    matched = values.copy()
    for k in range(1, len(matched)):
        matched[k] = _matched(matched[k - 1], values[k])
    return Branch(position, points, n_unstable, values[:, 0], matched)


def _matched(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return eigenvalues in the order of those of the place before."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(np.abs(before[:, None] - after[None]))
    return after[columns[np.argsort(rows)]]


def _nearest(before: FloatArray, after: FloatArray, limit: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of points before and after that belong together, at most as far apart as a limit."""
    from scipy.optimize import linear_sum_assignment

    distances = np.nan_to_num(np.linalg.norm(before[:, None] - after[None], axis=2), nan=1e3 * limit)
    old, new = linear_sum_assignment(distances)
    close = distances[old, new] <= limit
    return old[close], new[close]


def _track(system: System, points: FloatArray, inputs: FloatArray, limit: float, tolerance: float) -> FloatArray:
    """Return where points are after small steps of the input, shape (points, units); nan for points that vanish.

    Args:
        system: network with derivatives.
        points: points before the first step, shape (points, units).
        inputs: input of each step, shape (steps, inputs).
        limit: longest movement of a point in a step.
        tolerance: largest speed of a fixed point, relative to ``1 + |h|^2``.
    """
    moved, rows = points.copy(), np.arange(len(points))
    for each in inputs:
        result, speed = minimise_speed(system, moved[rows], np.repeat(each[None], len(rows), axis=0))
        gone = (speed > tolerance * (1 + (result**2).sum(axis=1))) | (
            np.linalg.norm(result - moved[rows], axis=1) > limit
        )
        moved[rows] = np.where(gone[:, None], np.nan, result)
        rows = rows[~gone]
        if not len(rows):
            break
    return moved


@dataclass(frozen=True)
class _Ending:
    """A branch that begins or ends along the path: place of the change, state of the last point, and which of both."""

    place: float
    state: FloatArray
    begins: bool


def _bifurcations(branches: list[Branch], gap: float) -> list[Bifurcation]:
    """Return the places at which branches begin, end, meet or change stability, one event for branches that meet."""
    crossings = [event for branch in branches for event in _crossings(branch, gap)]
    longer = [branch for branch in branches if len(branch.place) > 1]  # a single point is a place where others meet
    endings = [
        _Ending(float(branch.place[side] + shift), branch.points[side], begins)
        for branch in longer
        for side, shift, begins in ((0, -gap / 2, True), (-1, gap / 2, False))
        if gap / 2 < branch.place[side] + shift < 1 - gap / 2
    ]
    pairs = _pairs(endings, gap)
    events: list[Bifurcation] = []
    used: set[int] = set()
    for a, b in pairs:
        middle, separation = (a.state + b.state) / 2, float(np.linalg.norm(a.state - b.state))
        trunk = [
            k
            for k, event in enumerate(crossings)
            if k not in used
            and event.kind == AT_ONE
            and abs(event.place - a.place) <= MEETING * gap
            and np.linalg.norm(event.state - middle) <= separation / 2 + 10 * MERGED * np.sqrt(len(middle))
        ]
        if trunk:
            nearest = min(trunk, key=lambda k: float(np.linalg.norm(crossings[k].state - middle)))
            used.add(nearest)
            kind = "pitchfork" if a.begins == b.begins else "transcritical"
            events.append(Bifurcation(crossings[nearest].place, kind, crossings[nearest].state))
        elif a.begins == b.begins:  # otherwise a branch goes on
            events.append(Bifurcation(a.place, "saddle-node", middle))
    paired = {id(each) for pair in pairs for each in pair}
    events += [Bifurcation(each.place, "saddle-node", each.state) for each in endings if id(each) not in paired]
    events += _transcritical([event for k, event in enumerate(crossings) if k not in used], gap)
    return sorted(events, key=lambda each: each.place)


def _crossings(branch: Branch, gap: float) -> list[Bifurcation]:
    """Return the places at which an eigenvalue of a branch crosses the unit circle, a complex pair once."""
    size = np.abs(branch.eigenvalues)
    rows = []
    for k, unit in zip(*np.nonzero((size[:-1] >= 1) != (size[1:] >= 1)), strict=True):
        sides, distances = branch.eigenvalues[k : k + 2, unit], 1 - size[k : k + 2, unit]
        share = float(distances[0] / (distances[0] - distances[1]))
        value = sides[0] + share * (sides[1] - sides[0])
        if abs(value.imag) > COMPLEX * abs(value):
            kind = "Neimark-Sacker"
            if value.imag < 0:  # the pair counts once
                continue
        else:
            kind = AT_ONE if value.real > 0 else "flip"
        state = branch.points[k] + share * (branch.points[k + 1] - branch.points[k])
        rows.append(Bifurcation(float(branch.place[k] + share * gap), kind, state))
    folds = [position for position in branch.place[[0, -1]] if 0.5 * gap < position < 1 - 0.5 * gap]
    near = MEETING * gap  # within which the eigenvalue at 1 is that of the fold in which the branch begins or ends
    return [each for each in rows if each.kind != AT_ONE or all(abs(each.place - fold) > near for fold in folds)]


def _pairs(endings: list[_Ending], gap: float) -> list[tuple[_Ending, _Ending]]:
    """Return pairs of branches that begin or end together, nearest first."""
    near = [
        (float(np.linalg.norm(a.state - b.state)), j, k)
        for j, a in enumerate(endings)
        for k, b in enumerate(endings[:j])
        if abs(a.place - b.place) <= MEETING * gap
    ]
    pairs: list[tuple[_Ending, _Ending]] = []
    used: set[int] = set()
    for _, j, k in sorted(near):
        if not {j, k} & used:
            used |= {j, k}
            pairs.append((endings[j], endings[k]))
    return pairs


def _transcritical(crossings: list[Bifurcation], gap: float) -> list[Bifurcation]:
    """Return crossings in which two branches that exchange stability at one place and state are one event."""
    events: list[Bifurcation] = []
    for event in crossings:
        twin = next(
            (
                k
                for k, each in enumerate(events)
                if each.kind == event.kind == AT_ONE
                and abs(each.place - event.place) <= MEETING * gap
                and np.linalg.norm(each.state - event.state) <= MEETING * gap * np.sqrt(len(event.state))
            ),
            None,
        )
        if twin is None:
            events.append(event)
        else:
            events[twin] = Bifurcation(events[twin].place, "transcritical", events[twin].state)
    return events
