"""Choices that depend on value: a sure option (post-decision wagering), and the relative value of two goods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.intervals import count_groups, mean_interval, proportion_curve, resampled, rows_of
from neurogym.analysis.psychometric import PsychometricFit, fit_psychometric
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

    def counts(rows: np.ndarray, selected: np.ndarray | slice = slice(None)) -> np.ndarray:
        return np.bincount(index[selected], weights=rows[selected].astype(float), minlength=len(levels))

    def advantage(selected: np.ndarray | slice) -> float:
        n_waived, n_forced = counts(waived, selected), counts(forced, selected)
        both = (n_waived > 0) & (n_forced > 0)
        if not both.any():
            return float("nan")
        difference = (counts(waived & right, selected)[both] / n_waived[both]) - (
            counts(forced & right, selected)[both] / n_forced[both]
        )
        return float(np.average(difference, weights=n_waived[both]))

    return Wagering(
        proportion_curve(levels, index, took, groups, level, was_offered),
        proportion_curve(levels, index, right, groups, level, waived),
        proportion_curve(levels, index, right, groups, level, forced),
        mean_interval(took, groups, level, among=was_offered),
        Estimate.percentile(
            advantage(slice(None)),
            resampled(advantage, len(index), groups, n_boot, seed),
            level,
            len(index) if groups is None else count_groups(groups),
        ),
    )


@dataclass(frozen=True)
class Indifference(Result):
    """Relative value of two goods (Padoa-Schioppa & Assad 2006, 10.1038/nature04676).

    Attributes:
        relative_value: quantity of good B worth one unit of good A.
        steepness: probit slope per unit of log quantity ratio; larger is less variable.
        choices: probability of choosing B against the quantity ratio B : A, forced offers (0 and infinity) included.
        fit: the psychometric function of the log quantity ratio.
    """

    relative_value: Estimate
    steepness: Estimate
    choices: Curve
    fit: PsychometricFit


def indifference_point(
    quantity_a: ArrayLike,
    quantity_b: ArrayLike,
    chose_b: ArrayLike,
    *,
    n_boot: int = 400,
    level: float = 0.95,
    seed: int | None = 0,
    groups: ArrayLike | None = None,
) -> Indifference:
    """Fit a probit of the log quantity ratio to the choices between two goods.

    Args:
        quantity_a: offered quantity of good A (the better one), shape (trials,).
        quantity_b: offered quantity of good B, shape (trials,).
        chose_b: 0 or 1, shape (trials,).
        n_boot: bootstrap draws.
        level: coverage of the intervals.
        seed: seed of the bootstrap.
        groups: session or block of each trial where trials are linked, shape (trials,); see `fit_psychometric`.

    Raises:
        ValueError: fewer than two quantity ratios with both goods on offer.
    """
    a, b, y = (np.asarray(column, float) for column in (quantity_a, quantity_b, chose_b))
    offered = (a > 0) | (b > 0)
    a, b, y = a[offered], b[offered], y[offered]
    linked = rows_of(groups, offered)
    ratio = np.divide(b, a, out=np.full(len(a), np.inf), where=a > 0)
    levels, index = np.unique(ratio, return_inverse=True)
    both = (a > 0) & (b > 0)
    fit = fit_psychometric(
        np.log(ratio[both]),
        y[both],
        model="probit",
        guess=0.0,
        lapse=0.0,
        n_boot=n_boot,
        level=level,
        seed=seed,
        groups=rows_of(linked, both),
    )
    return Indifference(
        fit.threshold.transformed(np.exp, level),
        fit.slope,
        proportion_curve(levels, index, y, linked, level),
        fit,
    )
