"""Saddles between basins of attraction, and the points that saddles connect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.dynamics.limits import run
from neurogym.dynamics.points import PER_POINT, FixedPoints, find_fixed_points
from neurogym.dynamics.systems import System

#: Nearest pairs of stable points between which further points are searched.
MAX_PAIRS = 100


def find_between(system: System, found: FixedPoints, places: int = 5, distance: float = 1e-4) -> FixedPoints:
    """Search further fixed points on the segments between pairs of stable points, where saddles lie.

    Visited states rarely lie near saddles; the boundary between two basins crosses the segment between their points.

    Args:
        system: network with derivatives.
        found: points from `find_fixed_points`.
        places: equally spaced starts on each segment; 0 for none.
        distance: see `find_fixed_points`.

    Returns:
        All points; the share of the starts is 0 for the further points.
    """
    pieces = [found]
    for condition in np.unique(found.condition) if places else ():
        of_condition = found.of(int(condition))
        stable = of_condition.points[of_condition.stable]
        pairs = np.array(list(combinations(range(len(stable)), 2)), int).reshape(-1, 2)
        if not len(pairs):
            continue
        a, b = stable[pairs[:, 0]], stable[pairs[:, 1]]
        nearest = np.argsort(np.linalg.norm(b - a, axis=1), kind="stable")[:MAX_PAIRS]
        fraction = np.linspace(0, 1, places + 2)[1:-1, None, None]
        starts = (a[nearest] + fraction * (b - a)[nearest]).reshape(-1, system.units)
        more = find_fixed_points(system, starts, of_condition.inputs[0], distance=distance)
        more = replace(more, condition=np.full(len(more), condition), share=np.zeros(len(more)))
        pieces.append(more)
    return join(pieces, distance * np.sqrt(system.units))


def join(pieces: Sequence[FixedPoints], distance: float) -> FixedPoints:
    """Return points of several searches, by input and from slow to fast; the first of points that are the same.

    Args:
        pieces: points of at least one search, whose numbers of starts and outliers are kept.
        distance: points under one input closer than this are the same.
    """
    arrays: dict[str, Any] = {name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in PER_POINT}
    points, condition = arrays["points"], arrays["condition"]
    if not len(points):
        return pieces[0]
    near = np.linalg.norm(points[:, None] - points[None], axis=2) <= distance
    near &= condition[:, None] == condition[None]
    rows = np.flatnonzero(near.argmax(axis=1) == np.arange(len(points)))
    joined = replace(pieces[0], **{name: values[rows] for name, values in arrays.items()})
    return joined.take(np.lexsort((joined.speed, joined.condition)))


def connections(
    system: System,
    found: FixedPoints,
    condition: int = 0,
    push: float = 0.02,
    steps: int = 2000,
    distance: float = 0.05,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the stable points that saddles of one unstable direction connect.

    Activity is pushed both ways along the unstable direction of each saddle and flows from there.

    Args:
        system: network.
        found: fixed points.
        condition: input that is held.
        push: size of the push, times ``sqrt(units)``.
        steps: steps for which the activity flows.
        distance: activity that ends this close to a stable point, times ``sqrt(units)``, has arrived.

    Returns:
        Rows of the saddles among the points of the condition, shape (saddles,), and rows of the two points that each
        connects, shape (saddles, 2), -1 where activity arrives at no stable point.
    """
    points = found.of(condition)
    saddles = np.flatnonzero(points.n_unstable == 1)
    if not len(saddles):
        return saddles, np.zeros((0, 2), int)
    stable = np.flatnonzero(points.stable)
    away = push * np.sqrt(system.units) * points.direction[saddles]
    starts = np.concatenate([points.points[saddles] - away, points.points[saddles] + away])
    arrived = _nearest(run(system, starts, points.inputs[0], steps), points.points[stable], distance)
    rows = np.append(stable, -1)[arrived]
    return saddles, rows.reshape(2, -1).T


def _nearest(states: FloatArray, points: FloatArray, distance: float) -> np.ndarray:
    """Return the row of the nearest point of each state, -1 if none is within the distance times sqrt(units)."""
    if not len(points):
        return np.full(len(states), -1)
    distances = np.linalg.norm(states[:, None] - points[None], axis=2)
    return np.where(distances.min(axis=1) <= distance * np.sqrt(states.shape[1]), distances.argmin(axis=1), -1)
