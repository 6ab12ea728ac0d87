"""Distances between weights and between representations: permutations of units, rotations, and subspaces."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import FloatArray


def weight_distance(first: ArrayLike, second: ArrayLike, seed: int = 0, restarts: int = 5) -> float:
    """Return the distance of two recurrent matrices, minimised over permutations of the units.

    The Frobenius norm of the difference under the best permutation found, divided by the mean of the matrices' norms
    (Huang, Singh,
    Martinelli & Rajan 2024, arXiv 2410.03972). The assignment is solved approximately by the FAQ method.

    Args:
        first: shape (units, units).
        second: shape (units, units).
        seed: seed of the random starts.
        restarts: random starts next to the default start.

    Raises:
        ValueError: if the sizes differ.
    """
    from scipy.optimize import quadratic_assignment

    a, b = np.asarray(first, float), np.asarray(second, float)
    if a.shape != b.shape or a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(
            f"matrices of shapes {a.shape} and {b.shape} cannot be matched; both must be square and equal in size"
        )
    rng = np.random.default_rng(seed)
    best = -np.inf
    for start in ["barycenter", *["randomized"] * restarts]:
        options = {"maximize": True, "P0": start, "rng": rng}
        best = max(best, float(quadratic_assignment(a, b, options=options).fun))
    square = max(float((a**2).sum() + (b**2).sum() - 2 * best), 0.0)
    return float(np.sqrt(square) / max((np.linalg.norm(a) + np.linalg.norm(b)) / 2, 1e-300))


def principal_angles(first: ArrayLike, second: ArrayLike, n: int = 10) -> FloatArray:
    """Return the angles between the leading principal subspaces of two populations, radians, small to large.

    Args:
        first: activity, shape (samples, units).
        second: activity, shape (other samples, units).
        n: components of each subspace.

    Raises:
        ValueError: if the numbers of units differ.
    """
    from scipy.linalg import subspace_angles

    a, b = np.asarray(first, float), np.asarray(second, float)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"populations of {a.shape[1]} and {b.shape[1]} units have no common space")
    axes = [np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2][:n].T for x in (a, b)]
    return np.sort(subspace_angles(*axes))


def svcca_distance(first: ArrayLike, second: ArrayLike, explained: float = 0.99) -> float:
    """Return 1 minus the mean canonical correlation of the leading principal components.

    Raghu, Gilmer, Yosinski & Sohl-Dickstein 2017, arXiv 1706.05806; used for networks by Maheswaranathan et al. 2019,
    arXiv 1907.08549.

    Args:
        first: activity, shape (samples, units).
        second: activity for the same samples, shape (samples, other units).
        explained: share of the variance that the kept components explain.

    Raises:
        ValueError: if the numbers of samples differ.
    """
    bases = []
    if len(np.asarray(first)) != len(np.asarray(second)):
        raise ValueError("both populations need the same samples")
    for x in (np.asarray(first, float), np.asarray(second, float)):
        u, s, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
        n = int(np.searchsorted(np.cumsum(s**2) / max(float((s**2).sum()), 1e-300), explained)) + 1
        bases.append(u[:, :n])
    return float(1 - np.linalg.svd(bases[0].T @ bases[1], compute_uv=False).mean())


def procrustes_distance(first: ArrayLike, second: ArrayLike) -> float:
    """Return the angle between two populations after the best rotation, reflection and scaling, radians.

    Williams, Kunz, Kornblith & Linderman 2021, Generalized shape metrics on neural representations, arXiv 2110.14739.

    Args:
        first: activity, shape (samples, units).
        second: activity for the same samples, shape (samples, other units).
    """
    x, y = (np.asarray(each, float) - np.asarray(each, float).mean(axis=0) for each in (first, second))
    overlap = np.linalg.svd(x.T @ y, compute_uv=False).sum() / max(float(np.linalg.norm(x) * np.linalg.norm(y)), 1e-300)
    return float(np.arccos(np.clip(overlap, -1, 1)))


def sample_angles(first: ArrayLike, second: ArrayLike, n: int = 10) -> FloatArray:
    """Return the principal angles between populations whose units do not correspond, radians, small to large.

    The subspaces are spanned by the time courses of the leading principal components.

    Args:
        first: activity, shape (samples, units).
        second: activity for the same samples, shape (samples, other units).
        n: components of each subspace.
    """
    from scipy.linalg import subspace_angles

    bases = []
    for x in (np.asarray(each, float) - np.asarray(each, float).mean(axis=0) for each in (first, second)):
        u, s, _ = np.linalg.svd(x, full_matrices=False)
        bases.append(u[:, : min(n, int((s > 1e-9 * s[0]).sum()))])
    return np.sort(subspace_angles(*bases))
