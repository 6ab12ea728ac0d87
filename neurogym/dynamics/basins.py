"""Basins of attraction, and the saddles between them."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import FloatArray
from neurogym.dynamics.points import FixedPoints, find_fixed_points
from neurogym.dynamics.systems import System

#: Nearest pairs of stable points between which further points are searched.
PAIRS = 100


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
    parts = [found]
    for condition in np.unique(found.condition) if places else ():
        here = found.of(int(condition))
        stable = here.points[here.stable]
        pairs = np.array(list(combinations(range(len(stable)), 2)), int).reshape(-1, 2)
        if not len(pairs):
            continue
        a, b = stable[pairs[:, 0]], stable[pairs[:, 1]]
        nearest = np.argsort(np.linalg.norm(b - a, axis=1), kind="stable")[:PAIRS]
        part = np.linspace(0, 1, places + 2)[1:-1, None, None]
        starts = (a[nearest] + part * (b - a)[nearest]).reshape(-1, system.units)
        more = find_fixed_points(system, starts, here.inputs[0], distance=distance)
        apart = np.linalg.norm(more.points[:, None] - here.points[None], axis=2)
        more = more.take(apart.min(axis=1) > distance * np.sqrt(system.units))
        parts.append(replace(more, condition=np.full(len(more), condition), share=np.zeros(len(more))))
    arrays: dict[str, Any] = {
        each.name: np.concatenate([getattr(part, each.name) for part in parts])
        for each in fields(found)
        if each.name not in ("n_starts", "n_outliers")
    }
    joined = replace(found, **arrays)
    return joined.take(np.lexsort((joined.speed, joined.condition)))


def basins(
    system: System, found: FixedPoints, states: ArrayLike, condition: int = 0, steps: int = 2000, distance: float = 0.05
) -> FloatArray:
    """Return the share of states that flow into each point, shape (points of the condition,).

    Args:
        system: network.
        found: fixed points.
        states: where the activity begins, shape (n, units).
        condition: input that is held.
        steps: steps for which the activity flows.
        distance: activity that ends this close to a point, times ``sqrt(units)``, has arrived.
    """
    points = found.of(condition)
    h = np.array(np.atleast_2d(np.asarray(states, float)))
    if not len(points):
        return np.zeros(0)
    for _ in range(steps):
        after = system.step(h, points.inputs[0])
        if np.max(np.abs(after - h), initial=0.0) < 1e-12:
            break
        h = after
    apart = np.linalg.norm(h[:, None] - points.points[None], axis=2)
    nearest, close = apart.argmin(axis=1), apart.min(axis=1) <= distance * np.sqrt(system.units)
    return np.bincount(nearest[close], minlength=len(points)) / len(h)
