"""Representational similarity between populations: dissimilarity matrices and centred kernel alignment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import Estimate, FloatArray, Result, bootstrap

Metric = Literal["correlation", "euclidean", "cosine"]


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


def dissimilarity(patterns: ArrayLike, metric: Metric = "correlation") -> FloatArray:
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
    metric: Metric = "correlation",
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
    return RepresentationalSimilarity(Estimate.percentile(value, draws, level), p, n)


def linear_cka(a: ArrayLike, b: ArrayLike, *, debiased: bool = False) -> float:
    """Return the linear centred kernel alignment of two populations (Kornblith et al. 2019, arXiv 1905.00414).

    1 if the representations are equal up to rotation and scale.

    Args:
        a: activity of one population, shape (samples, units).
        b: activity of the other for the same samples, shape (samples, other units).
        debiased: use the unbiased estimator of the Hilbert-Schmidt independence criterion, whose expectation is 0 for
            unrelated populations however few the samples (Song et al. 2012, JMLR 13:1393).
    """
    x, y = np.asarray(a, float), np.asarray(b, float)
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y) or len(x) < 4:
        raise ValueError(f"alignment needs two arrays (samples >= 4, units) of equal length, got {x.shape}, {y.shape}")
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
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
