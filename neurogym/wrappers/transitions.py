"""Transition matrices: the probability of the next ground truth (column) given the last ground truth (row)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from neurogym.messages.names import unknown
from neurogym.wrappers.sampling import check_probabilities

CONTEXTS = ("repeating", "ascending", "descending", "alternating")


def preferring(targets: Sequence[int] | np.ndarray, p: float) -> np.ndarray:
    """Matrix in which choice ``targets[i]`` follows choice i with probability ``p``, other choices equally often."""
    n = len(targets)
    matrix = np.full((n, n), (1 - p) / (n - 1) if n > 1 else 0.0)
    matrix[np.arange(n), np.asarray(targets)] = p if n > 1 else 1.0
    return matrix


def context(name: str, n: int, p: float) -> np.ndarray:
    """A named matrix of ``n`` choices.

    Args:
        name: ``repeating`` (the same again), ``ascending`` (the next one), ``descending`` (the one before), each with
            probability ``p``; or ``alternating`` (any other one, together with probability ``p``).
        n: Number of choices.
        p: Probability of what is preferred.

    Raises:
        ValueError: If there is no such context.
    """
    if name not in CONTEXTS:
        raise ValueError(unknown("context", name, CONTEXTS))
    if name == "alternating":
        return context("repeating", n, 1 - p)
    shift = {"repeating": 0, "ascending": 1, "descending": -1}[name]
    return preferring((np.arange(n) + shift) % n, p)


def matrices(probs: ArrayLike, n: int, contexts: Sequence[str]) -> np.ndarray:
    """Return the distinct matrices of all blocks, shape (blocks, n, n).

    Args:
        probs: A number (the probability of the transitions that ``contexts`` names), one matrix (n, n), or several.
        n: Number of choices.
        contexts: Names, see :func:`context`.

    Raises:
        ValueError: If the shape is wrong, a row is not a distribution, or the number not a probability.
    """
    values = np.asarray(probs, dtype=float)
    if values.ndim == 0:
        if not 0 <= values <= 1:
            raise ValueError(f"probs as a number must be a probability, got {probs!r}")
        contexts_made = [context(name, n, float(values)) for name in contexts]
    else:
        if values.shape[-2:] != (n, n) or values.ndim not in (2, 3):
            raise ValueError(
                f"probs must be a number, a matrix ({n}, {n}) or matrices (blocks, {n}, {n}), got {values.shape}"
            )
        check_probabilities(values, n, "probs")
        contexts_made = list(values.reshape(-1, n, n))
    distinct: list[np.ndarray] = []
    for matrix in contexts_made:
        if not any(np.allclose(matrix, earlier) for earlier in distinct):
            distinct.append(matrix)
    return np.stack(distinct)


def random_targets(rng: np.random.Generator, n: int, permutation: bool) -> np.ndarray:
    """The preferred successor of each choice, drawn at random; each once if ``permutation``."""
    return rng.permutation(n) if permutation else rng.integers(n, size=n)


def label(targets: Sequence[int] | np.ndarray) -> str:
    """A context as text: the preferred successors, counted from 1, joined by dashes."""
    return "-".join(str(int(target) + 1) for target in targets)
