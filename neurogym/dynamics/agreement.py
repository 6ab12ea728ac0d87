"""Agreement of a network's activity with a recording: similarities corrected for noise, with shuffled conditions.

Representational similarity, linear CKA and Procrustes are those of `compare_populations`; the linear prediction is a
ridge regression of recorded units on network units, tested on held-out conditions (Yamins et al. 2014,
10.1073/pnas.1403112111).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.encoding import ridge
from neurogym.analysis.results import Result
from neurogym.dynamics.comparison import ComparisonSettings, PopulationTrials, compare_populations, shared_conditions

#: Measures, with a description of each; 1 means that the activity is the same up to what the measure ignores.
AGREEMENTS = {
    "rsa": "rank correlation of dissimilarities (RSA)",
    "cka": "linear CKA, debiased",
    "procrustes": "cosine of the Procrustes angle",
    "prediction": "explained variance of held-out conditions, linear prediction",
}
#: Folds of conditions.
FOLDS = 5


@dataclass(frozen=True)
class Agreement(Result):
    """Agreement of a network with a recording in a part of the trial.

    Attributes:
        measure: name in `AGREEMENTS`.
        value: measured agreement.
        corrected: ``value`` divided by the largest agreement that noise allows; nan where noise is unknown or allows
            none.
        shuffled: mean agreement after shuffling the conditions of the recording, the floor.
        p: share of shuffles, with the unshuffled value counted as one, that agree at least as well.
        conditions: number of shared conditions.
    """

    measure: str
    value: float
    corrected: float
    shuffled: float
    p: float
    conditions: int


def agreement(
    network: PopulationTrials, recording: PopulationTrials, settings: ComparisonSettings | None = None
) -> tuple[Agreement, ...]:
    """Compare the activity of a network with a recording by all measures in `AGREEMENTS`.

    Args:
        network: trials of the network.
        recording: trials of the recording. With a single row for each condition the rows count as averages without
            noise, and only noise of the network is corrected.
        settings: see `ComparisonSettings`; at least 20 shuffles serve for ``p``.

    Returns:
        The measures that the number of shared conditions allows.

    Raises:
        ValueError: if fewer than two conditions are shared.
    """
    settings = settings or ComparisonSettings()
    shared = shared_conditions([network, recording])
    if len(shared) < 2:
        raise ValueError(
            f"expected two or more shared conditions; the network has {_some(network)}, "
            f"the recording {_some(recording)}"
        )
    rows = []
    for measure in ("rsa", "cka", "procrustes"):
        if measure == "rsa" and len(shared) < 4:
            continue
        pair = compare_populations([network, recording], measure, settings)
        same = np.cos(pair.distance) if measure == "procrustes" else 1 - pair.distance
        chance = np.cos(pair.shuffled) if measure == "procrustes" else 1 - pair.shuffled
        allowed = same[0, 0] * same[1, 1]
        corrected = same[0, 1] / np.sqrt(allowed) if min(same[0, 0], same[1, 1]) > 0 else np.nan
        rows.append(
            Agreement(
                measure, float(same[0, 1]), float(corrected), float(chance[0, 1]), float(pair.p[0, 1]), len(shared)
            )
        )
    if len(shared) >= 3:
        rows.append(_prediction(network, recording, shared, settings))
    return tuple(rows)


def _some(population: PopulationTrials) -> str:
    names = sorted(set(np.asarray(population.condition, str).tolist()))
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _prediction(
    network: PopulationTrials, recording: PopulationTrials, shared: Sequence[str], settings: ComparisonSettings
) -> Agreement:
    rng = np.random.default_rng(settings.seed)
    x, y = (each.averages(shared, settings.bins) for each in (network, recording))
    first, second = (each.averages(shared, settings.bins) for each in recording.halves(rng))
    noise = float(((first - second) ** 2).sum()) / 4  # variance of the mean of two halves
    value, total = linear_prediction(x, y)
    share = 1 - noise / total
    chance = np.array([linear_prediction(x, y[rng.permutation(len(y))])[0] for _ in range(settings.shuffles)])
    p = float((1 + (chance >= value).sum()) / (1 + len(chance)))
    corrected = value / share if share > 0 else np.nan
    return Agreement("prediction", value, float(corrected), float(chance.mean()), p, len(shared))


def linear_prediction(predictors: ArrayLike, responses: ArrayLike) -> tuple[float, float]:
    """Return how well responses are predicted linearly from predictors in held-out conditions.

    The penalty of each fold is chosen by leaving out the conditions of the training set one by one.

    Args:
        predictors: shape (conditions, bins, units).
        responses: shape (conditions, bins, other units).

    Returns:
        Share of the variance explained over all units, and that variance (sum of squares around each unit's mean).

    Raises:
        ValueError: if there are fewer than three conditions, or the numbers of conditions or bins differ.
    """
    x, y = np.asarray(predictors, float), np.asarray(responses, float)
    if x.ndim != 3 or y.ndim != 3 or x.shape[:2] != y.shape[:2] or len(x) < 3:
        raise ValueError(f"prediction needs arrays (conditions >= 3, bins, units), got {x.shape} and {y.shape}")
    fold = np.arange(len(x)) % min(FOLDS, len(x))
    left = 0.0
    for k in np.unique(fold):
        train = fold != k
        known, seen = (each[train].reshape(-1, each.shape[2]) for each in (x, y))
        weights, middle = ridge(known, seen, np.repeat(np.flatnonzero(train), x.shape[1]))
        left += float(((y[~train] - middle[1] - (x[~train] - middle[0]) @ weights) ** 2).sum())
    total = float(((y - y.mean((0, 1))) ** 2).sum())
    return 1 - left / max(total, 1e-300), total
