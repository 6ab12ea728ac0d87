"""Post-decision wagering: use of the sure option and accuracy when waived."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.intervals import mean_interval, proportion_curve, resampled
from neurogym.analysis.results import Curve, Estimate, Result


@dataclass(frozen=True)
class Wagering(Result):
    """Use of a sure option (Kiani & Shadlen 2009, 10.1126/science.1169405).

    Attributes:
        sure: probability of taking the sure option when offered, by strength, with Wilson intervals.
        accuracy_offered: accuracy when it was offered and waived, by strength.
        accuracy_not_offered: accuracy when it was not offered, by strength.
        p_sure: probability of taking it over all trials on which it was offered.
        advantage: accuracy when waived minus accuracy when not offered, averaged over the strengths weighted by the
            waived trials; above 0 if the option is taken on the trials that would have gone wrong.
    """

    sure: Curve
    accuracy_offered: Curve
    accuracy_not_offered: Curve
    p_sure: Estimate
    advantage: Estimate


def wagering(
    strength: ArrayLike,
    offered: ArrayLike,
    sure: ArrayLike,
    correct: ArrayLike,
    *,
    n_boot: int = 1000,
    level: float = 0.95,
    seed: int | None = 0,
    groups: ArrayLike | None = None,
) -> Wagering:
    """Analyse choices with an occasional sure option, on trials that were answered.

    Args:
        strength: stimulus strength, shape (trials,); its sign is ignored.
        offered: whether the sure option was there, shape (trials,).
        sure: whether it was taken, shape (trials,).
        correct: whether the direction was judged correctly, shape (trials,); ignored where the option was taken.
        n_boot: bootstrap draws for the advantage.
        level: coverage of the intervals.
        seed: seed of the bootstrap.
        groups: session or block of each trial where trials are linked, shape (trials,).
    """
    levels, index = np.unique(np.abs(np.asarray(strength, float)), return_inverse=True)
    was_offered, took = np.asarray(offered, bool), np.asarray(sure, bool)
    right = np.asarray(correct, float) > 0.5
    waived, forced = was_offered & ~took, ~was_offered & ~took

    def counts(rows: np.ndarray, which: np.ndarray | slice = slice(None)) -> np.ndarray:
        return np.bincount(index[which], weights=rows[which].astype(float), minlength=len(levels))

    def advantage(which: np.ndarray | slice) -> float:
        n_waived, n_forced = counts(waived, which), counts(forced, which)
        both = (n_waived > 0) & (n_forced > 0)
        if not both.any():
            return float("nan")
        difference = (counts(waived & right, which)[both] / n_waived[both]) - (
            counts(forced & right, which)[both] / n_forced[both]
        )
        return float(np.average(difference, weights=n_waived[both]))

    return Wagering(
        proportion_curve(levels, index, took, groups, level, was_offered),
        proportion_curve(levels, index, right, groups, level, waived),
        proportion_curve(levels, index, right, groups, level, forced),
        mean_interval(took, groups, level, among=was_offered),
        Estimate.percentile(advantage(slice(None)), resampled(advantage, len(index), groups, n_boot, seed), level),
    )
