"""Similarity of representations and weights: dissimilarities, kernel alignment, rotations, subspaces, permutations."""

from __future__ import annotations

from collections.abc import Sequence
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


def crossnobis(patterns: ArrayLike, precision: ArrayLike | None = None) -> FloatArray:
    """Return cross-validated Mahalanobis distances between conditions, shape (conditions, conditions).

    Walther et al. 2016, 10.1016/j.neuroimage.2015.12.012, in the form of the toolbox rsatoolbox (van den Bosch et al.
    2025): squared, divided by the number of units, and 0 on average for conditions that do not differ. With one
    precision each run is compared with the mean of the others; with one for each run all pairs of runs are compared,
    with the inverse of the mean of their covariances.

    Args:
        patterns: mean activity of each condition in each run, shape (runs, conditions, units), two runs or more.
        precision: inverse covariance of the noise of the patterns, shape (units, units), or one for each run, shape
            (runs, units, units); the identity if left out.

    Raises:
        ValueError: if shapes do not fit, or there are fewer than two runs.
    """
    from itertools import combinations

    x = np.asarray(patterns, float)
    if x.ndim != 3 or len(x) < 2:
        raise ValueError(f"patterns must have the shape (runs >= 2, conditions, units), got {x.shape}")
    noise = np.eye(x.shape[2]) if precision is None else np.asarray(precision, float)
    if noise.shape not in (x.shape[2:] * 2, (len(x), *x.shape[2:] * 2)):
        raise ValueError(f"a precision of shape {noise.shape} does not fit patterns of shape {x.shape}")
    if noise.ndim == 2:
        total = x.sum(axis=0)
        pairs = [(each, (total - each) / (len(x) - 1), noise) for each in x]
    else:
        covariance = np.linalg.inv(noise)
        rows = combinations(range(len(x)), 2)
        pairs = [(x[i], x[j], np.linalg.inv((covariance[i] + covariance[j]) / 2)) for i, j in rows]
    result = np.zeros((x.shape[1],) * 2)
    for first, second, weights in pairs:
        kernel = first @ weights @ second.T
        diagonal = np.diag(kernel)
        result += diagonal[:, None] + diagonal[None] - kernel - kernel.T
    return result / len(pairs) / x.shape[2]


def crossnobis_of_trials(runs: Sequence[tuple[ArrayLike, ArrayLike]], conditions: Sequence[str]) -> FloatArray:
    """Return `crossnobis` distances from single trials, with the noise of each run.

    Args:
        runs: activity in trials, shape (trials, units), and the condition of each trial, for each run.
        conditions: names of the conditions, which all runs must have.

    Raises:
        ValueError: if a run lacks a condition, or has no two trials of any.
    """
    patterns, precisions = [], []
    for values, names in runs:
        activity, labels = np.asarray(values, float), np.asarray(names, str)
        rows = [np.flatnonzero(labels == name) for name in conditions]
        if min(map(len, rows)) < 1 or max(map(len, rows)) < 2:
            raise ValueError("crossnobis needs four trials or more of every condition")
        patterns.append(np.array([activity[each].mean(axis=0) for each in rows]))
        residuals = np.concatenate([activity[each] - mean for each, mean in zip(rows, patterns[-1], strict=True)])
        precisions.append(noise_precision(residuals) * np.mean([len(each) for each in rows]))
    return crossnobis(np.array(patterns), np.array(precisions))


def noise_precision(residuals: ArrayLike) -> FloatArray:
    """Return the inverse covariance of noise, with correlations shrunk as the data demand, shape (units, units).

    Schafer & Strimmer 2005, 10.2202/1544-6115.1175: variances are kept, and correlations are shrunk towards 0.

    Args:
        residuals: deviations from the means of conditions, shape (samples, units), more than one sample.
    """
    x = np.asarray(residuals, float)
    x = x - x.mean(axis=0)
    n = len(x)
    deviation = np.maximum(x.std(axis=0, ddof=1), 1e-12)
    z = x / deviation
    correlation = z.T @ z / (n - 1)
    off = ~np.eye(x.shape[1], dtype=bool)
    variance = n / (n - 1) ** 3 * (((z**2).T @ z**2) - (z.T @ z) ** 2 / n)
    shrinkage = np.clip(variance[off].sum() / max(float((correlation[off] ** 2).sum()), 1e-300), 0, 1)
    shrunk = np.where(off, (1 - shrinkage) * correlation, 1.0)
    return np.asarray(np.linalg.inv(shrunk * np.outer(deviation, deviation)))


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
