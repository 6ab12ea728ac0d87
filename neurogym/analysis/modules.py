"""Modules of a population: groups of units that are connected, or active, together more than expected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import Result, UndeterminedError
from neurogym.array_types import FloatArray, IntArray

#: Gain of modularity, times four, below which a module stays whole.
SMALLEST_GAIN = 1e-9


@dataclass(frozen=True)
class Modules(Result):
    """Division of units into modules.

    Attributes:
        labels: module of each unit, from 0, the largest first, shape (units,).
        modularity: share of the similarity within modules minus the share expected by chance (Newman 2006).
    """

    labels: IntArray
    modularity: float

    @property
    def order(self) -> IntArray:
        """Units sorted by module, shape (units,)."""
        return np.argsort(self.labels, kind="stable")


def find_modules(similarity: ArrayLike) -> Modules:
    """Divide units into modules, in two again and again along the leading eigenvector of the modularity matrix.

    Newman 2006, 10.1073/pnas.0601602103.

    Args:
        similarity: similarity or connection strength of each pair, shape (units, units). The sign is ignored, the
            matrix is made symmetric and its diagonal left out.

    Raises:
        UndeterminedError: if there are fewer than three units, or no two are connected.
    """
    strength = np.abs(np.asarray(similarity, float))
    strength = (strength + strength.T) / 2
    np.fill_diagonal(strength, 0)
    if len(strength) < 3 or not strength.any():
        raise UndeterminedError("modules need three units or more that are connected")
    degree = strength.sum(axis=1)
    excess = strength - np.outer(degree, degree) / degree.sum()
    undivided, divided = [np.arange(len(strength))], list[IntArray]()
    while undivided:
        units = undivided.pop()
        matrix = excess[np.ix_(units, units)]
        matrix = matrix - np.diag(matrix.sum(axis=1))
        side = np.where(np.linalg.eigh(matrix)[1][:, -1] > 0, 1.0, -1.0)
        if side @ matrix @ side > SMALLEST_GAIN * degree.sum() and abs(side.sum()) < len(side):
            undivided += [units[side > 0], units[side < 0]]
        else:
            divided.append(units)
    labels = np.zeros(len(strength), np.int64)
    for label, units in enumerate(sorted(divided, key=len, reverse=True)):
        labels[units] = label
    return Modules(labels, modularity(strength, labels))


def modularity(strength: FloatArray, labels: ArrayLike) -> float:
    """Return the modularity of a division: the share of strength within modules minus the share expected by chance.

    Args:
        strength: non-negative and symmetric, shape (units, units).
        labels: module of each unit, shape (units,).
    """
    label = np.asarray(labels)
    same = label[:, None] == label
    degree, total = strength.sum(axis=1), strength.sum()
    return float((strength[same].sum() - np.outer(degree, degree)[same].sum() / total) / total)


def participation(similarity: ArrayLike, modules: Modules) -> FloatArray:
    """Return how evenly the connections of each unit spread over modules: 0 if all are in one module, shape (units,).

    Guimerà & Amaral 2005, 10.1038/nature03288.

    Args:
        similarity: as for `find_modules`; the connections of a unit are those to and from it.
        modules: division of the units.
    """
    strength = np.abs(np.asarray(similarity, float))
    strength = strength + strength.T
    np.fill_diagonal(strength, 0)
    to_modules = np.stack([strength[:, modules.labels == k].sum(axis=1) for k in np.unique(modules.labels)])
    total = to_modules.sum(axis=0)
    shares = np.divide(to_modules, total, out=np.zeros_like(to_modules), where=total > 0)
    return np.where(total > 0, 1 - np.square(shares).sum(axis=0), 0.0)


def agreement(first: ArrayLike, second: ArrayLike) -> float:
    """Return the adjusted Rand index of two divisions: 1 if equal, 0 as expected by chance.

    Hubert & Arabie 1985, 10.1007/BF01908075.
    """
    a, b = (np.unique(np.asarray(each), return_inverse=True)[1] for each in (first, second))
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1)

    def pairs(counts: np.ndarray) -> float:
        return float((counts * (counts - 1) / 2).sum())

    of_a, of_b = pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = of_a * of_b / pairs(np.array([len(a)]))
    most = (of_a + of_b) / 2
    return 1.0 if most == expected else (pairs(table) - expected) / (most - expected)
