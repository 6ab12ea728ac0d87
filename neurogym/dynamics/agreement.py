"""Agreement of a network's activity with a recording: similarities corrected for noise, with shuffled conditions.

Similarities of geometry and dynamics are those of `compare_populations`, between halves of the trials, next to the
similarity of two halves of the recording; the linear prediction is a ridge regression of recorded units on network
units, tested on held-out conditions (Yamins et al. 2014, 10.1073/pnas.1403112111).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.encoding import ridge
from neurogym.analysis.results import Result
from neurogym.array_types import FloatArray
from neurogym.dynamics.comparison import (
    LEAST,
    ComparisonSettings,
    PopulationTrials,
    compare_populations,
    shared_conditions,
)

#: Measures, with a description of each; 1 means that the activity is the same up to what the measure ignores.
AGREEMENTS = {
    "rsa": "rank correlation of dissimilarities (RSA)",
    "cka": "linear CKA, debiased",
    "procrustes": "cosine of the Procrustes angle",
    "crossnobis": "correlation of crossnobis distances",
    "dsa": "cosine of the DSA angle",
    "prediction": "explained variance of held-out conditions, linear prediction",
}
#: Measures whose distance is an angle; fewest shared conditions of measures that need more than two.
_ANGLES, _CONDITIONS = ("procrustes", "dsa"), {"rsa": 4, "crossnobis": 4, "prediction": 3}
#: Folds of conditions, and random divisions into halves.
FOLDS, DIVISIONS = 5, 10


@dataclass(frozen=True)
class Agreement(Result):
    """Agreement of a network with a recording in a part of the trial.

    Attributes:
        measure: name in `AGREEMENTS`.
        value: measured agreement.
        corrected: ``value`` divided by the largest agreement that noise allows; nan where noise is unknown or allows
            none.
        halves: agreement of two halves of the recording; nan for the prediction, or averages without noise.
        spread: standard deviation of ``halves`` over random divisions.
        shuffled: mean agreement after shuffling the conditions of the recording, or steps for ``dsa``; the floor.
        p: share of shuffles, with the unshuffled value counted as one, that agree at least as well; nan for ``dsa``.
        conditions: number of shared conditions.
    """

    measure: str
    value: float
    corrected: float
    halves: float
    spread: float
    shuffled: float
    p: float
    conditions: int


def agreement(
    network: PopulationTrials,
    recording: PopulationTrials,
    settings: ComparisonSettings | None = None,
    measures: Sequence[str] = tuple(AGREEMENTS),
) -> tuple[Agreement, ...]:
    """Compare the activity of a network with a recording.

    Args:
        network: trials of the network.
        recording: trials of the recording. With a single row for each condition the rows count as averages without
            noise, and only noise of the network is corrected.
        settings: see `ComparisonSettings`; shuffled conditions are compared in ``splits`` divisions, for ``p`` with 19
            shuffles or more, and unshuffled ones in ten.
        measures: names in `AGREEMENTS`; for ``dsa`` both need steps of the same duration.

    Returns:
        The measures that the number of shared conditions and of trials allows.

    Raises:
        ValueError: if fewer than two conditions are shared, or trials do not suffice for ``dsa``.
    """
    settings = settings or ComparisonSettings()
    shared = shared_conditions([network, recording])
    if len(shared) < 2:
        raise ValueError(
            f"expected two or more shared conditions; the network has {_some(network)}, "
            f"the recording {_some(recording)}"
        )
    counts = [np.asarray(each.condition, str).tolist().count(name) for each in (network, recording) for name in shared]
    rows = []
    for measure in measures:
        quarters_lack_trials = measure == "crossnobis" and min(counts) < 4
        if len(shared) < _CONDITIONS.get(measure, 2) or quarters_lack_trials:
            continue
        if measure == "prediction":
            rows.append(_prediction(network, recording, shared, settings))
        else:
            rows.append(_similarity(measure, network, recording, settings))
    return tuple(rows)


def _similarity(
    measure: str, network: PopulationTrials, recording: PopulationTrials, settings: ComparisonSettings
) -> Agreement:
    populations, divided = [network, recording], replace(settings, splits=DIVISIONS, shuffles=1)
    if measure == "dsa":  # shuffled dynamics take long: a level without a p value
        divided = replace(divided, n_delays=settings.n_delays or LEAST[0], rank=settings.rank or LEAST[1])
    pair = compare_populations(populations, measure, divided)  # type: ignore[arg-type]
    floor = pair if measure == "dsa" else compare_populations(populations, measure, settings)  # type: ignore[arg-type]

    def same(distance: FloatArray) -> FloatArray:
        return np.asarray(np.cos(distance) if measure in _ANGLES else 1 - distance)

    value, allowed = same(pair.distance), np.diagonal(same(pair.distance))
    corrected = value[0, 1] / np.sqrt(allowed.prod()) if allowed.min() > 0 else np.nan
    spread = (same(pair.distance - pair.spread) - same(pair.distance + pair.spread)) / 2
    halves = (np.nan, np.nan) if recording.averaged else (float(value[1, 1]), float(abs(spread[1, 1])))
    chance, p = float(same(floor.shuffled)[0, 1]), float(floor.p[0, 1])
    return Agreement(measure, float(value[0, 1]), float(corrected), *halves, chance, p, len(pair.conditions))


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
    return Agreement("prediction", value, float(corrected), np.nan, np.nan, float(chance.mean()), p, len(shared))


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
