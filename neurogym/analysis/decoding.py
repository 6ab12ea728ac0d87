"""Cross-validated decoding of task variables from a population, in time and across time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurogym.analysis.results import FloatArray, Result, wilson


@dataclass(frozen=True)
class Decoding(Result):
    """Accuracy of a decoder on held-out trials.

    Attributes:
        accuracy: shape (steps,), or (train steps, test steps) across time.
        low: lower ends of the Wilson intervals, same shape.
        high: upper ends, same shape.
        chance: share of the most frequent class.
        n: trials decoded at each step, shape (steps,).
        classes: the decoded values.
    """

    accuracy: FloatArray
    low: FloatArray
    high: FloatArray
    chance: float
    n: NDArray[np.int64]
    classes: NDArray[Any]


def decode(
    activity: ArrayLike,
    labels: ArrayLike,
    *,
    across_time: bool = False,
    folds: int = 5,
    decoder: Any = None,
    level: float = 0.95,
    seed: int | None = 0,
) -> Decoding:
    """Decode a variable from each step of the activity, cross-validated over trials.

    Across time, a decoder trained at one step is tested at every other (King & Dehaene 2014,
    10.1016/j.tics.2014.01.002), always on trials that it was not trained on.

    Args:
        activity: aligned single trials, shape (trials, steps, units); trials with ``nan`` at a step are left out there.
        labels: class of each trial, shape (trials,).
        across_time: train at each step and test at every step.
        folds: cross-validation folds, stratified by class.
        decoder: a scikit-learn classifier; by default linear discriminant analysis with Ledoit-Wolf shrinkage.
        level: coverage of the intervals.
        seed: seed of the folds.

    Raises:
        ValueError: fewer than two classes, or a class with fewer trials than folds.
        ModuleNotFoundError: scikit-learn is not installed.
    """
    try:
        from sklearn.base import clone
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
        from sklearn.model_selection import StratifiedKFold
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("decoding needs scikit-learn: pip install 'ngym[analysis]'") from error

    a, y = np.asarray(activity, float), np.asarray(labels)
    classes, counts = np.unique(y, return_counts=True)
    if a.ndim != 3 or len(a) != len(y):
        raise ValueError(f"decoding needs activity (trials, steps, units) and a label each, got {a.shape}, {y.shape}")
    if len(classes) < 2 or counts.min() < folds:
        raise ValueError(f"decoding needs two classes with {folds} trials or more each, got {counts.tolist()}")
    decoder = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto") if decoder is None else decoder
    known = np.isfinite(a).all(axis=2)
    steps = a.shape[1]
    hits, tested = np.zeros((steps, steps)), np.zeros((steps, steps))
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y):
        for step in range(steps):
            rows = train[known[train, step]]
            if len(np.unique(y[rows])) < len(classes):
                continue
            model = clone(decoder).fit(a[rows, step], y[rows])
            at = np.arange(steps) if across_time else np.array([step])
            trial, column = np.nonzero(known[np.ix_(test, at)])
            if trial.size:
                right = model.predict(a[test[trial], at[column]]) == y[test[trial]]
                hits[step, at] += np.bincount(column, weights=right, minlength=len(at))
                tested[step, at] += np.bincount(column, minlength=len(at))
    low, high = wilson(hits, tested, level)
    accuracy = np.divide(hits, tested, out=np.full(hits.shape, np.nan), where=tested > 0)
    if not across_time:
        accuracy, low, high = (np.diag(matrix).copy() for matrix in (accuracy, low, high))
    return Decoding(accuracy, low, high, float(counts.max() / len(y)), known.sum(axis=0), classes)
