"""Similarity of representations and weights: dissimilarities, kernel alignment, rotations, subspaces, permutations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import Estimate, Result, UndeterminedError, bootstrap
from neurogym.array_types import FloatArray

DissimilarityMetric = Literal["correlation", "euclidean", "cosine"]


@dataclass(frozen=True)
class RepresentationalSimilarity(Result):
    """Agreement of two representational geometries.

    Attributes:
        correlation: Spearman correlation of the two dissimilarity matrices, with a bootstrap interval over conditions.
        p: share of permutations of the conditions that agree at least as well.
        n: number of conditions.
    """

    correlation: Estimate
    p: float
    n: int


def dissimilarity(patterns: ArrayLike, metric: DissimilarityMetric = "correlation") -> FloatArray:
    """Return the dissimilarity of every pair of conditions, shape (conditions, conditions).

    Args:
        patterns: mean activity in each condition, shape (conditions, units).
        metric: ``correlation`` (1 - Pearson), ``euclidean`` or ``cosine``.
    """
    from scipy.spatial.distance import pdist, squareform

    return np.asarray(squareform(pdist(np.asarray(patterns, float), metric)))


def representational_similarity(
    patterns_a: ArrayLike,
    patterns_b: ArrayLike,
    *,
    metric: DissimilarityMetric = "correlation",
    n_permutations: int = 1000,
    n_boot: int = 1000,
    level: float = 0.95,
    seed: int | None = 0,
) -> RepresentationalSimilarity:
    """Compare the representational geometry of two populations over the same conditions (Kriegeskorte et al. 2008).

    Source: Representational similarity analysis, 10.3389/neuro.06.004.2008.

    Args:
        patterns_a: mean activity of one population in each condition, shape (conditions, units).
        patterns_b: of the other, same conditions in the same order; the number of units may differ.
        metric: dissimilarity, see `dissimilarity`.
        n_permutations: permutations of the conditions, for ``p``.
        n_boot: bootstrap draws over conditions.
        level: coverage of the interval.
        seed: seed of both.

    Raises:
        ValueError: different or fewer than four conditions.
    """
    from scipy.stats import rankdata

    a, b = dissimilarity(patterns_a, metric), dissimilarity(patterns_b, metric)
    n = len(a)
    if a.shape != b.shape or n < 4:
        raise ValueError(f"both populations need the same four or more conditions, got {n} and {len(b)}")
    upper = np.triu_indices(n, 1)

    def agreement(rows_a: np.ndarray, rows_b: np.ndarray) -> float:
        pair_a, pair_b = a[np.ix_(rows_a, rows_a)][upper], b[np.ix_(rows_b, rows_b)][upper]
        # A condition drawn twice is at distance zero from itself in both: such pairs would feign agreement.
        distinct = rows_a[upper[0]] != rows_a[upper[1]]
        ranks = np.stack([rankdata(pair_a[distinct]), rankdata(pair_b[distinct])])
        return float(np.corrcoef(ranks)[0, 1]) if distinct.sum() > 2 and ranks.std(axis=1).all() else float("nan")

    everything = np.arange(n)
    value = agreement(everything, everything)
    rng = np.random.default_rng(seed)
    chance = np.array([agreement(everything, rng.permutation(n)) for _ in range(n_permutations)])
    draws = bootstrap(lambda rows: agreement(rows, rows), n, n_boot, seed)
    p = float((1 + np.sum(chance >= value)) / (1 + n_permutations))
    # Draws leave out pairs of a condition with itself, so their spread is not too small for few conditions.
    return RepresentationalSimilarity(Estimate.percentile(value, draws, level), p, n)


def linear_cka(a: ArrayLike, b: ArrayLike, *, debiased: bool = False) -> float:
    """Return the linear centred kernel alignment of two populations (Kornblith et al. 2019, arXiv 1905.00414).

    1 if the representations are equal up to rotation and scale.

    Args:
        a: activity of one population, shape (samples, units).
        b: activity of the other for the same samples, shape (samples, other units).
        debiased: use the unbiased estimator of the Hilbert-Schmidt independence criterion, whose expectation is 0 for
            unrelated populations however few the samples (Song et al. 2012, JMLR 13:1393).

    Raises:
        ValueError: if the shapes do not fit, or a population does not vary between samples.
    """
    x, y = np.asarray(a, float), np.asarray(b, float)
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y) or len(x) < 4:
        raise ValueError(f"alignment needs two arrays (samples >= 4, units) of equal length, got {x.shape}, {y.shape}")
    if not (np.ptp(x, axis=0).any() and np.ptp(y, axis=0).any()):
        raise UndeterminedError("alignment needs populations that vary between samples; all samples of one are equal")
    x, y = _centred(x), _centred(y)
    if debiased:
        kx, ky = x @ x.T, y @ y.T
        return _hsic(kx, ky) / float(np.sqrt(_hsic(kx, kx) * _hsic(ky, ky)))
    cross = np.linalg.norm(x.T @ y) ** 2
    return float(cross / (np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)))


def _hsic(k: FloatArray, m: FloatArray) -> float:
    """Return the unbiased Hilbert-Schmidt independence criterion of two kernels."""
    k, m = k.copy(), m.copy()
    np.fill_diagonal(k, 0)
    np.fill_diagonal(m, 0)
    n = len(k)
    total = np.sum(k * m) + k.sum() * m.sum() / ((n - 1) * (n - 2)) - 2 * np.sum(k.sum(0) * m.sum(0)) / (n - 2)
    return float(total / (n * (n - 3)))


def _centred(activity: ArrayLike) -> FloatArray:
    x = np.asarray(activity, float)
    return x - x.mean(axis=0)


def _components(activity: ArrayLike) -> tuple[FloatArray, ...]:
    """Return time courses, sizes and axes of the principal components."""
    return np.linalg.svd(_centred(activity), full_matrices=False)


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
    axes = [_components(x)[2][:n].T for x in (a, b)]
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
    for x in (first, second):
        u, s, _ = _components(x)
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
    x, y = _centred(first), _centred(second)
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
    for x in (first, second):
        u, s, _ = _components(x)
        bases.append(u[:, : min(n, int((s > 1e-9 * s[0]).sum()))])
    return np.sort(subspace_angles(*bases))
