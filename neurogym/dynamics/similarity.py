"""Dynamical similarity analysis: distances between systems from trajectories, with and without known inputs.

DSA: Ostrow, Eisen, Kozachkov & Fiete 2023, Beyond geometry, arXiv 2306.10168. Delay-embedded trajectories are
described by a
linear operator in whitened coordinates, and operators are compared up to an orthogonal change of coordinates.
InputDSA: Huang, Ostrow et al. 2025, arXiv 2510.25943. State and input operators are compared together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from neurogym.array_types import FloatArray

OperatorMetric = Literal["angular", "euclidean", "wasserstein"]

#: Starts of a comparison over orthogonal matrices, iterations that improve all of them, and starts that are refined.
RESTARTS, ITERATIONS, REFINED = 24, 10, 6

#: Gain of the inner product of two operators below which the search ends, and bounds of the damping of its steps.
SMALLEST_GAIN, LEAST_DAMPING, LARGEST_DAMPING = 1e-12, 1e-9, 1e6


@dataclass(frozen=True)
class Operator:
    """Linear description of trajectories, ``v(t + 1) = A v(t) + B u(t)``.

    Attributes:
        state: ``A`` in whitened coordinates, shape (rank, rank).
        inputs: ``B``, shape (rank, inputs); None without known inputs.
        explained: share of the variance of ``v(t + 1)`` that the operator predicts.
    """

    state: FloatArray
    inputs: FloatArray | None
    explained: float


def delay_embedding(trial: ArrayLike, n_delays: int) -> FloatArray:
    """Return a Hankel matrix of a trial, shape (steps - n_delays + 1, n_delays * channels).

    Args:
        trial: shape (steps, channels).
        n_delays: copies of the channels.

    Raises:
        ValueError: if the trial is too short.
    """
    x = np.asarray(trial, float)
    rows = len(x) - n_delays + 1
    if rows < 2:
        raise ValueError(f"a trial of {len(x)} steps is too short for {n_delays} delays")
    return np.concatenate([x[k : k + rows] for k in range(n_delays)], axis=1)


def fit_operator(
    trials: Sequence[ArrayLike],
    inputs: Sequence[ArrayLike] | None = None,
    *,
    n_delays: int = 20,
    rank: int = 20,
    ridge: float = 1e-8,
) -> Operator:
    """Describe trajectories of a system by a linear operator on delay-embedded, whitened coordinates.

    Args:
        trials: trajectories, each of shape (steps, channels); lengths may differ.
        inputs: input of each trial, shape (steps, inputs), or None.
        n_delays: delays of the embedding.
        rank: whitened coordinates kept; use the same for all systems that are compared.
        ridge: penalty of the regression.

    Raises:
        ValueError: if there are no trials or they are too short.
    """
    centre, scale = _location(trials)
    embedded = [delay_embedding((np.asarray(trial, float) - centre) / scale, n_delays) for trial in trials]
    axes, spread = _whitened(embedded)
    n_components = min(rank, len(spread))
    whitening = axes[:, :n_components] / spread[:n_components]
    before = np.concatenate([segment[:-1] for segment in embedded]) @ whitening
    after = np.concatenate([segment[1:] for segment in embedded]) @ whitening
    input_steps = None
    if inputs is not None:
        last = n_delays - 1
        input_steps = np.concatenate(
            [np.asarray(u, float)[last + 1 : last + len(segment)] for u, segment in zip(inputs, embedded, strict=True)]
        )
    regressors = before if input_steps is None else np.concatenate([before, input_steps], axis=1)
    weights = np.linalg.solve(
        regressors.T @ regressors + ridge * len(before) * np.eye(regressors.shape[1]), regressors.T @ after
    )
    residual = ((after - regressors @ weights) ** 2).sum() / max(
        float(((after - after.mean(axis=0)) ** 2).sum()), 1e-300
    )
    operator = np.asarray(weights[:n_components].T, float)
    if n_components < rank:  # systems of fewer dimensions are compared with zeros in the others
        operator = np.pad(operator, ((0, rank - n_components),) * 2)
    entering = None if input_steps is None else np.pad(weights[n_components:].T, ((0, rank - n_components), (0, 0)))
    return Operator(np.asarray(operator, float), entering, float(1 - residual))


def _location(trials: Sequence[ArrayLike]) -> tuple[FloatArray, float]:
    """Return the mean of each channel and the standard deviation of all values."""
    if not len(trials):
        raise ValueError("no trials")
    every = np.concatenate([np.asarray(trial, float) for trial in trials])
    return every.mean(axis=0), max(float(every.std()), 1e-300)


def _whitened(embedded: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return the principal axes of embedded trials as columns, and the standard deviation along each."""
    stacked = np.concatenate(embedded)
    _, size, axes = np.linalg.svd(stacked.T @ stacked, hermitian=True)
    n = int((size > 1e-12 * size[0]).sum())
    return axes[:n].T, np.sqrt(size[:n] / len(stacked))


def prediction_scores(
    train: Sequence[ArrayLike],
    test: Sequence[ArrayLike],
    n_delays: int,
    ranks: Sequence[int],
    skipped: int = 0,
    ridge: float = 1e-8,
) -> FloatArray:
    """Return how well operators predict the next step of other trials, for each rank, shape (ranks,).

    A score is 1 minus the squared error relative to that of a prediction without change (Ostrow et al. 2023 choose
    delays and rank by such errors).

    Args:
        train: trials to which operators are fitted, each of shape (steps, channels).
        test: other trials of the same system.
        n_delays: delays of the embedding.
        ranks: whitened coordinates kept.
        skipped: steps at the beginning of the test trials that are not predicted, so that embeddings of different
            delays predict the same steps; at least ``n_delays - 1`` are needed.
        ridge: penalty of the regression.
    """
    centre, scale = _location(train)
    first = max(skipped - (n_delays - 1), 0)
    embedded, others = (
        [delay_embedding((np.asarray(trial, float)[start:] - centre) / scale, n_delays) for trial in trials]
        for trials, start in ((train, 0), (test, first))
    )
    (axes, spread), channels = _whitened(embedded), len(centre)
    before, after, known, actual = (
        np.concatenate([segment[part] for segment in segments])
        for segments in (embedded, others)
        for part in (slice(None, -1), slice(1, None))
    )
    still = max(float(((known - actual)[:, -channels:] ** 2).sum()), 1e-300)
    scores = []
    for rank in ranks:
        kept = min(rank, len(spread))
        whitening, back = axes[:, :kept] / spread[:kept], (axes[:, :kept] * spread[:kept]).T[:, -channels:]
        x = before @ whitening
        weights = np.linalg.solve(x.T @ x + ridge * len(x) * np.eye(kept), x.T @ (after @ whitening))
        error = known @ whitening @ weights @ back - actual[:, -channels:]
        scores.append(1 - float((error**2).sum()) / still)
    return np.array(scores)


def operator_distance(first: Operator, second: Operator, score: OperatorMetric = "angular", seed: int = 0) -> float:
    """Return the distance between the state operators of two systems.

    ``angular`` and ``euclidean`` minimise over orthogonal changes of coordinates (both components of O(r));
    ``wasserstein`` compares
    eigenvalues alone.

    Args:
        first: from `fit_operator`.
        second: from `fit_operator`, of the same rank.
        score: ``angular`` (radians, 0 to pi), ``euclidean`` (of operators with unit norm) or ``wasserstein``.
        seed: seed of the starts of the search.

    Raises:
        ValueError: if the ranks differ or the score is unknown.
    """
    a, b = first.state, second.state
    if a.shape != b.shape:
        raise ValueError(f"operators of ranks {len(a)} and {len(b)} cannot be compared")
    if score == "wasserstein":
        from scipy.optimize import linear_sum_assignment

        cost = np.abs(np.linalg.eigvals(a)[:, None] - np.linalg.eigvals(b)[None]) ** 2
        return float(cost[linear_sum_assignment(cost)].mean())
    if score not in ("angular", "euclidean"):
        raise ValueError(f"unknown score {score!r}; expected angular, euclidean or wasserstein")
    product = _best_alignment(_normalised(a), _normalised(b), np.random.default_rng(seed))
    return _from_product(product, score)


def _normalised(matrix: FloatArray) -> FloatArray:
    return matrix / max(float(np.linalg.norm(matrix)), 1e-300)


def _from_product(product: float, score: OperatorMetric) -> float:
    """Return the distance of two operators of unit norm from the inner product."""
    if score == "angular":
        return float(np.arccos(np.clip(product, -1, 1)))
    return float(np.sqrt(max(2 - 2 * product, 0.0)))


def _best_alignment(a: FloatArray, b: FloatArray, rng: np.random.Generator) -> float:
    """Return the largest ``tr(A' C B C')`` over orthogonal ``C``.

    Starts are the identity, alignments of the eigenvectors of the symmetric parts with fitted and with random signs,
    and
    random matrices of both determinants. A few shifted power iterations improve all starts at once; the best are
    refined by Newton's method.
    """
    r = len(a)
    bases = [np.linalg.eigh(m + m.T)[1] for m in (a, b)]
    agreement = (bases[0].T @ a @ bases[0]) * (bases[1].T @ b @ bases[1])
    leading = np.linalg.eigh(agreement + agreement.T)[1][:, -1]  # its signs make the two operators agree entry by entry
    signs = np.concatenate([np.where(leading < 0, -1.0, 1.0)[None], rng.choice([-1.0, 1.0], (RESTARTS // 2 - 1, r))])
    random = np.linalg.qr(rng.standard_normal((RESTARTS // 2, r, r)))[0]
    c = np.concatenate([np.eye(r)[None], (bases[0] * signs[:, None]) @ bases[1].T, random])
    shift = np.linalg.norm(a, 2) * np.linalg.norm(b, 2)
    for _ in range(ITERATIONS):
        u, _, v = np.linalg.svd(a @ c @ b.T + a.T @ c @ b + shift * c)
        c = u @ v
    values = np.einsum("ij,kij->k", a, c @ b @ c.swapaxes(1, 2))
    return max(_refined(a, b, c[k]) for k in np.argsort(-values)[:REFINED])


def _refined(a: FloatArray, b: FloatArray, c: FloatArray) -> float:
    """Return the local maximum of ``tr(A' C B C')`` near ``c``: Newton's steps along skew matrices, with damping."""
    i, j = np.triu_indices(len(a), 1)
    eye, basis = np.eye(len(a)), np.zeros((len(i), *a.shape))
    basis[np.arange(len(i)), i, j], basis[np.arange(len(i)), j, i] = 1, -1
    m, damping = c.T @ a @ c, 0.0
    value, gain = float((m * b).sum()), np.inf
    while gain > SMALLEST_GAIN:
        slope, curvature = _derivatives(m, b, basis, i, j)
        damping = max(damping / 3, LEAST_DAMPING, -1.5 * float(np.linalg.eigvalsh(curvature)[0]))
        while True:
            skew = np.zeros_like(a)
            skew[i, j] = np.linalg.solve(curvature + damping * np.eye(len(i)), slope) / 2
            skew -= skew.T
            turn = np.linalg.solve(eye - skew, eye + skew)  # orthogonal: Cayley's transform
            moved = turn.T @ m @ turn
            gain = float((moved * b).sum()) - value
            if gain >= 0 or damping > LARGEST_DAMPING:
                break
            damping *= 3
        m, value = (moved, value + gain) if gain >= 0 else (m, value)
    return value


def _derivatives(
    m: FloatArray, b: FloatArray, basis: FloatArray, i: np.ndarray, j: np.ndarray
) -> tuple[FloatArray, FloatArray]:
    """Return slope and negative curvature of ``<exp(-S) M exp(S), B>`` at 0 over the entries (i, j) of a skew ``S``."""
    slope = m.T @ b - b @ m.T
    turned = (m @ basis - basis @ m).swapaxes(1, 2)
    change = turned @ b - b @ turned
    curvature = change[:, j, i] - change[:, i, j]
    return (slope - slope.T)[i, j], (curvature + curvature.T) / 2


def input_distance(
    first: Operator, second: Operator, score: Literal["angular", "euclidean"] = "angular", powers: int | None = None
) -> float:
    """Return the distance between the controllability matrices of two driven systems (InputDSA).

    The matrices ``[B, AB, A'B, A^2 B, (A')^2 B, ...]`` are aligned by one orthogonal matrix in closed form.

    Args:
        first: from `fit_operator` with inputs.
        second: from `fit_operator` with the same number of inputs and rank.
        score: ``angular`` (radians) or ``euclidean`` (of matrices with unit norm).
        powers: powers of ``A``; by default the rank less 1.

    Raises:
        ValueError: if an operator has no inputs, or shapes differ.
    """
    if first.inputs is None or second.inputs is None:
        raise ValueError("InputDSA needs operators that were fitted with inputs")
    if first.inputs.shape != second.inputs.shape:
        raise ValueError(f"operators of shapes {first.inputs.shape} and {second.inputs.shape} cannot be compared")
    first_operator, second_operator = (_normalised(_controllability(each, powers)) for each in (first, second))
    return _from_product(float(np.linalg.svd(first_operator @ second_operator.T, compute_uv=False).sum()), score)


def _controllability(operator: Operator, powers: int | None) -> FloatArray:
    assert operator.inputs is not None
    forward = backward = operator.inputs
    columns = [operator.inputs]
    for _ in range(len(operator.state) - 1 if powers is None else powers):
        forward, backward = operator.state @ forward, operator.state.T @ backward
        columns += [forward, backward]
    return np.concatenate(columns, axis=1)
