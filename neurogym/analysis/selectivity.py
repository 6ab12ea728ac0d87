"""Selectivity of units to task variables: pure, linearly mixed or nonlinearly mixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurogym.analysis.results import Result, UndeterminedError
from neurogym.array_types import FloatArray

#: Range of a unit, relative to the largest activity, that is rounding of single precision: the unit is constant.
ROUNDING = 1e-5


@dataclass(frozen=True)
class Selectivity(Result):
    """Analysis of variance of each unit.

    Attributes:
        terms: the variables, then their pairwise interactions as ``a:b``.
        f: F statistic, shape (units, terms).
        p: p values, shape (units, terms), corrected for the number of units.
        effect: partial eta squared, shape (units, terms).
        kind: of each unit: ``none``, ``pure`` (one variable), ``linear mixed`` (several variables, no interaction) or
            ``nonlinear mixed`` (an interaction), shape (units,).
        alpha: the level at which a term counts.
    """

    terms: tuple[str, ...]
    f: FloatArray
    p: FloatArray
    effect: FloatArray
    kind: NDArray[np.str_]
    alpha: float

    def share(self) -> dict[str, float]:
        """Return the share of units of each kind."""
        return {kind: float(np.mean(self.kind == kind)) for kind in ("none", "pure", "linear mixed", "nonlinear mixed")}


def selectivity_table(
    rate: ArrayLike, variables: Mapping[str, ArrayLike], *, alpha: float = 0.05, correct: bool = True
) -> Selectivity:
    """Test each unit for task variables and pairwise interactions (Rigotti et al. 2013, 10.1038/nature12160).

    Each term is tested against the model that holds all others (main effects without interactions: type II).

    Args:
        rate: activity of each unit in each trial, shape (trials, units), for instance `Activity.mean_rate`.
        variables: categorical task variables, each of shape (trials,).
        alpha: level of significance.
        correct: control the false discovery rate over units (Benjamini & Hochberg 1995).

    Raises:
        ValueError: a variable has one value, or there are too few trials for the model.
    """
    from scipy.stats import f as f_distribution
    from scipy.stats import false_discovery_control

    y = np.asarray(rate, float)
    finite = np.isfinite(y).all(axis=1)
    y = y[finite]
    coded = {name: _effects(np.asarray(column)[finite], name) for name, column in variables.items()}
    pairs = list(combinations(coded, 2))
    crossed = {f"{a}:{b}": (coded[a][:, :, None] * coded[b][:, None, :]).reshape(len(y), -1) for a, b in pairs}
    blocks = {**coded, **crossed}
    full, full_rank = _residual(y, list(blocks.values()))
    freedom = len(y) - full_rank
    if freedom < 1:
        raise UndeterminedError(f"{len(y)} trials are too few to test {len(blocks)} terms")
    constant = np.ptp(y, axis=0) <= ROUNDING * np.abs(y).max(initial=0)
    statistics, effects, p_values = [], [], []
    for name in blocks:
        # A main effect is tested among the models without interactions of it: with them it has no meaning of its own.
        remaining = [block for second, block in blocks.items() if name not in second.split(":") and second != name]
        without, rank = _residual(y, remaining)
        within, rank_within = _residual(y, [*remaining, blocks[name]])
        between = np.maximum(without - within, 0)
        statistic = (between / max(rank_within - rank, 1)) / np.maximum(full / freedom, 1e-300)
        statistic[constant] = 0.0
        statistics.append(statistic)
        effects.append(between / np.maximum(between + full, 1e-300))
        p = f_distribution.sf(statistic, max(rank_within - rank, 1), freedom)
        p_values.append(false_discovery_control(p) if correct else p)
    p_table = np.stack(p_values, axis=1)
    significant = p_table < alpha
    mains, interactions = significant[:, : len(coded)].sum(axis=1), significant[:, len(coded) :].any(axis=1)
    kind = np.select([interactions, mains > 1, mains == 1], ["nonlinear mixed", "linear mixed", "pure"], default="none")
    return Selectivity(tuple(blocks), np.stack(statistics, axis=1), p_table, np.stack(effects, axis=1), kind, alpha)


def _effects(column: NDArray[np.generic], name: str) -> FloatArray:
    """Return sum-to-zero coded columns of a categorical variable."""
    levels, index = np.unique(column, return_inverse=True)
    if len(levels) < 2:
        raise UndeterminedError(f"variable {name!r} has a single value, {levels.tolist()}")
    code = np.vstack([np.eye(len(levels) - 1), -np.ones(len(levels) - 1)])
    return np.asarray(code[index])


def _residual(y: FloatArray, blocks: list[FloatArray]) -> tuple[FloatArray, int]:
    """Return the residual sum of squares of each unit and the rank of the model."""
    x = np.column_stack([np.ones(len(y)), *blocks])
    coefficients, _, rank, _ = np.linalg.lstsq(x, y, rcond=None)
    return np.sum((y - x @ coefficients) ** 2, axis=0), int(rank)
