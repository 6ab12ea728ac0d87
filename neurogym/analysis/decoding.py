"""Cross-validated decoding of task variables from a population, in time and across time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurogym.analysis.intervals import mean_interval
from neurogym.analysis.results import FloatArray, Result, wilson

#: Variance within classes that is always taken to be there, as a share of the variance of all trials. Where a task has
#: no noise there would be none, and the discriminant no direction.
FLOOR = 1e-4

#: Standard deviations by which labels change more rarely than at random before they count as coming in blocks.
RARELY = 6.0


@dataclass(frozen=True)
class Decoding(Result):
    """Accuracy of a decoder on held-out trials.

    Attributes:
        accuracy: shape (steps,), or (train steps, test steps) across time.
        low: lower ends of the intervals, same shape.
        high: upper ends, same shape.
        chance: share of the most frequent class.
        n: trials decoded at each step, shape (steps,).
        classes: the decoded values.
        groups: number of blocks or sessions that were left out together, 0 if single trials were.
    """

    accuracy: FloatArray
    low: FloatArray
    high: FloatArray
    chance: float
    n: NDArray[np.int64]
    classes: np.ndarray
    groups: int = 0


class _ShrunkCovariance:
    """Ledoit-Wolf covariance with a floor, with the interface of scikit-learn's linear discriminant."""

    def __init__(self, floor: float = 0.0):
        self.floor = floor

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, for scikit-learn's copies."""
        return {"floor": self.floor}

    def set_params(self, **params: Any) -> _ShrunkCovariance:
        """Set parameters, for scikit-learn's copies."""
        self.floor = params.get("floor", self.floor)
        return self

    def fit(self, x: FloatArray) -> _ShrunkCovariance:
        """Estimate the covariance of the trials of a class, shape (trials, units)."""
        from sklearn.covariance import ledoit_wolf

        still = len(x) < 2 or not np.ptp(x, axis=0).any()
        found = np.zeros((x.shape[1], x.shape[1])) if still else ledoit_wolf(x)[0]
        self.covariance_ = found + self.floor * np.eye(x.shape[1])
        return self


def blocks_of(labels: ArrayLike) -> NDArray[np.int64] | None:
    """Block of each trial if labels come in blocks; None if labels change as if at random.

    Trials that are sorted by their label have one block for each and count as single trials; give `decode` the groups.

    Args:
        labels: class of each trial, in the order in which trials came, shape (trials,).
    """
    y = np.asarray(labels)
    classes, counts = np.unique(y, return_counts=True)
    n, share = len(y), counts / max(len(y), 1)
    if n < 2 or len(classes) < 2:
        return None
    differ = 1 - float(np.sum(share**2))
    changes = np.concatenate([[False], y[1:] != y[:-1]])
    expected, spread = (n - 1) * differ, np.sqrt((n - 1) * differ * (1 - differ))
    rare = changes.sum() < expected - RARELY * max(float(spread), 1e-9)
    sorted_by_class = changes.sum() == len(classes) - 1  # no information about the order of trials
    return np.cumsum(changes) if rare and not sorted_by_class else None


def decode(
    activity: ArrayLike,
    labels: ArrayLike,
    *,
    across_time: bool = False,
    folds: int = 5,
    groups: ArrayLike | None = None,
    decoder: Any = None,
    level: float = 0.95,
    seed: int | None = 0,
) -> Decoding:
    """Decode a variable from each step of the activity, cross-validated over trials.

    Across time, a decoder trained at one step is tested at every other (King & Dehaene 2014,
    10.1016/j.tics.2014.01.002), always on trials that it was not trained on.

    Activity drifts, and neighbouring trials are alike. Where labels come in blocks a decoder could tell them by the
    drift alone; whole blocks are then left out (Harris 2021, 10.1101/2020.11.29.402719). Where blocks of two labels
    alternate, what is next to a block in time has the other label, and mere drift is decoded below chance.

    Args:
        activity: aligned single trials, shape (trials, steps, units); trials with ``nan`` at a step are left out there.
        labels: class of each trial, shape (trials,).
        across_time: train at each step and test at every step.
        folds: cross-validation folds, stratified by class; fewer where a class has fewer groups.
        groups: block or session of each trial, shape (trials,), which are left out as wholes. By default the blocks of
            the labels, if these come in blocks, else single trials.
        decoder: a scikit-learn classifier; by default linear discriminant analysis with Ledoit-Wolf shrinkage.
        level: coverage of the intervals, which come from the groups where there are any.
        seed: seed of the folds.

    Raises:
        ValueError: fewer than two classes, or a class with fewer trials than folds or in fewer than two groups.
        ModuleNotFoundError: scikit-learn is not installed.
    """
    try:
        from sklearn.base import clone
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("decoding needs scikit-learn: pip install 'ngym[analysis]'") from error

    a, y = np.asarray(activity, float), np.asarray(labels)
    classes, counts = np.unique(y, return_counts=True)
    if a.ndim != 3 or len(a) != len(y):
        raise ValueError(f"decoding needs activity (trials, steps, units) and a label each, got {a.shape}, {y.shape}")
    if len(classes) < 2 or counts.min() < folds:
        raise ValueError(f"decoding needs two classes with {folds} trials or more each, got {counts.tolist()}")
    left_out = blocks_of(y) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    known = np.isfinite(a).all(axis=2)
    steps = a.shape[1]
    right = np.full((len(y), steps, steps if across_time else 1), np.nan)
    for train, test in _folds(y, left_out, folds, seed):
        for step in range(steps):
            rows = train[known[train, step]]
            if len(np.unique(y[rows])) < len(classes):
                continue
            x = a[rows, step]
            model = (_discriminant(x) if decoder is None else clone(decoder)).fit(x, y[rows])
            at = np.arange(steps) if across_time else np.array([step])
            trial, column = np.nonzero(known[np.ix_(test, at)])
            if trial.size:
                place = column if across_time else np.zeros_like(column)
                right[test[trial], step, place] = model.predict(a[test[trial], at[column]]) == y[test[trial]]
    accuracy, low, high = _intervals(right, left_out, level)
    if not across_time:
        accuracy, low, high = (matrix[:, 0] for matrix in (accuracy, low, high))
    n_groups = 0 if left_out is None else len(np.unique(left_out))
    return Decoding(accuracy, low, high, float(counts.max() / len(y)), known.sum(axis=0), classes, n_groups)


def _discriminant(x: FloatArray) -> Any:
    """Linear discriminant analysis for trials of shape (trials, units)."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    spread = float(x.var(axis=0).mean())
    floor = FLOOR * (spread if spread > 0 else 1.0)
    return LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=_ShrunkCovariance(floor))


def _folds(y: np.ndarray, groups: NDArray[np.int64] | None, folds: int, seed: int | None) -> Any:
    """Trials to train on and to test on, fold by fold."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    nothing = np.zeros(len(y))
    if groups is None:
        return StratifiedKFold(folds, shuffle=True, random_state=seed).split(nothing, y)
    fewest = min(len(np.unique(groups[y == label])) for label in np.unique(y))
    if fewest < 2:
        raise ValueError("decoding leaves whole blocks out, and one of the classes comes in a single block")
    return StratifiedGroupKFold(min(folds, fewest), shuffle=True, random_state=seed).split(nothing, y, groups)


def _intervals(right: FloatArray, groups: NDArray[np.int64] | None, level: float) -> tuple[FloatArray, ...]:
    """Accuracy and confidence interval at every pair of steps; ``right`` is nan for untested trials."""
    tested = np.isfinite(right)
    hits, n = np.nansum(right, axis=0, dtype=float), tested.sum(axis=0)
    accuracy = np.divide(hits, n, out=np.full(hits.shape, np.nan), where=n > 0)
    if groups is None:
        return accuracy, *wilson(hits, n, level)
    low, high = np.zeros(hits.shape), np.ones(hits.shape)
    for cell in np.ndindex(hits.shape):
        found = mean_interval(right[:, *cell], groups, level)
        low[cell], high[cell] = found.low, found.high
    return accuracy, low, high
