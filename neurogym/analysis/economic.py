"""Economic choice: relative value of two goods from the indifference point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.intervals import proportion_curve, rows_of
from neurogym.analysis.psychometric import PsychometricFit, fit_psychometric
from neurogym.analysis.results import Curve, Estimate, Result


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
        Estimate.percentile(np.exp(fit.threshold.value), np.exp(fit.draws[:, 0]), level),
        fit.slope,
        proportion_curve(levels, index, y, linked, level),
        fit,
    )
