"""Catalogue of solutions: what many networks that were trained in one task found, and where another network belongs.

Networks of different sizes and kinds are compared by the geometry of their activity: the distances between the states
of conditions at several phases of a trial (Kriegeskorte, Mur & Bandettini 2008, 10.3389/neuro.06.004.2008; for networks
trained in one task Maheswaranathan et al. 2019, arXiv:1907.08549).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.array_types import FloatArray, IntArray

#: Distance (1 minus correlation) below which networks belong to one cluster, on average over its networks.
ALIKE = 0.3


#: Name of attractors that were found under an older definition and not again since.
NOT_JUDGED = "not judged again"


@dataclass(frozen=True)
class Solution:
    """Solution that one network found.

    Attributes:
        network: kind of network, as in ``gru``.
        seed: seed of the training.
        performance: on fresh trials.
        topology: name of the attractors, as in ``line attractor, in the limit 2 stable points``, or `NOT_JUDGED`.
        geometry: distances between states, see `geometry`.
    """

    network: str
    seed: int
    performance: float
    topology: str
    geometry: tuple[float, ...]


def geometry(averages: ArrayLike) -> FloatArray:
    """Return the distances (1 minus correlation over units) between all pairs of mean states, shape (pairs,).

    Args:
        averages: mean activity, shape (conditions, phases, units).
    """
    states = np.asarray(averages, float)
    states = states.reshape(-1, states.shape[-1])
    states = states - states.mean(axis=0)
    length = np.linalg.norm(states, axis=1, keepdims=True)
    states = states / np.maximum(length, 1e-12)
    rows, columns = np.triu_indices(len(states), 1)
    return np.asarray(1 - (states @ states.T)[rows, columns])


def distances(solutions: Sequence[Solution]) -> FloatArray:
    """Return 1 minus the correlation between the geometries of all pairs of networks, shape (networks, networks)."""
    with np.errstate(invalid="ignore"):
        correlation = np.atleast_2d(np.corrcoef([each.geometry for each in solutions]))
    result = 1 - np.nan_to_num(correlation)
    np.fill_diagonal(result, 0.0)
    return np.asarray(result)


def clusters(solutions: Sequence[Solution], alike: float = ALIKE) -> IntArray:
    """Return the cluster of each network, from 1, the largest first, shape (networks,).

    Args:
        solutions: the networks.
        alike: mean distance between two clusters above which these stay apart.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    if len(solutions) < 2:
        return np.ones(len(solutions), np.int64)
    condensed = squareform(np.maximum(distances(solutions), 0), checks=False)
    labels = fcluster(linkage(condensed, "average"), alike, "distance")
    sizes = np.bincount(labels)
    order = sorted(set(labels.tolist()), key=lambda label: (-sizes[label], labels.tolist().index(label)))
    return np.array([order.index(label) + 1 for label in labels], np.int64)


def nearest_cluster(solution: Solution, solutions: Sequence[Solution], labels: ArrayLike) -> tuple[int, float]:
    """Return the cluster whose networks are nearest to a network on average, and the mean distance.

    Args:
        solution: the network.
        solutions: networks of the catalogue, at least one.
        labels: their clusters, from `clusters`.
    """
    away, clustered = distances([solution, *solutions])[0, 1:], np.asarray(labels)
    means = {int(label): float(away[clustered == label].mean()) for label in np.unique(clustered)}
    best = min(means, key=lambda label: means[label])
    return best, means[best]
