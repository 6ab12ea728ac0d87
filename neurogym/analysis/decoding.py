"""Cross-validated decoding of task variables from a population, in time and across time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.intervals import mean_interval
from neurogym.analysis.results import Result, UndeterminedError, wilson
from neurogym.array_types import FloatArray, IntArray

NewModel = Callable[[], Any]  #: makes an object with ``fit`` and ``predict``
Fold = tuple[IntArray, IntArray]  #: trials to train on, and trials to test on

#: Variance within classes that is always taken to be there, as a share of the variance of all trials. Where a task has
#: no noise there would be none, and the discriminant no direction.
FLOOR = 1e-4

#: Standard deviations between the likeness of neighbouring trials and that of trials in random order, above which the
#: activity counts as drifting.
DRIFTING = 3.0

#: Trials before and after one that count as neighbours.
MOST_LAGS = 5

#: Random orders of the trials that the likeness of neighbours is compared with.
ORDERS = 200

#: Variance of a cross-validated accuracy over that of as many independent trials: folds share the trials they are
#: trained on. Of simulated populations of 40 to 200 trials it is 1.4 to 1.9, at chance and above.
DEPENDENCE = 1.7

#: Surrogate sequences of labels that estimate bias and spread of the accuracy where the activity drifts.
SURROGATES = 40


@dataclass(frozen=True)
class Decoding(Result):
    """Accuracy of a decoder on held-out trials.

    Attributes:
        accuracy: balanced accuracy, the mean over classes of the share decoded correctly; shape (steps,), or (train
            steps, test steps) across time.
        low: lower ends of the intervals, same shape.
        high: upper ends, same shape.
        chance: balanced accuracy without any information, one over the number of classes.
        n: trials decoded at each step, shape (steps,).
        classes: the decoded values.
        groups: number of sessions that were left out together, 0 if trials were.
        corrected: the activity drifts over trials, so accuracy and interval are corrected by surrogate labels.
    """

    accuracy: FloatArray
    low: FloatArray
    high: FloatArray
    chance: float
    n: IntArray
    classes: np.ndarray
    groups: int = 0
    corrected: bool = False


def shrunk_covariance(x: FloatArray) -> FloatArray:
    """Return the covariance of Ledoit & Wolf 2004 (10.1016/S0047-259X(03)00096-4), shape (units, units).

    The same as scikit-learn's, which takes seven times as long for 266 trials of 64 units.

    Args:
        x: centred trials, shape (trials, units).
    """
    n, units = x.shape
    covariance = x.T @ x / n
    mean_variance = np.trace(covariance) / units
    squares = (covariance**2).sum()
    distance = squares / units - mean_variance**2
    noise = (((x**2).sum(axis=1) ** 2).mean() - squares) / (n * units)
    share = min(noise, distance) / distance if distance > 0 else 0.0
    return np.asarray((1 - share) * covariance + share * mean_variance * np.eye(units))


class _LinearDiscriminant:
    """Linear discriminant with the shrunk covariance within classes; all classes are taken to be as frequent."""

    def fit(self, x: FloatArray, y: np.ndarray) -> _LinearDiscriminant:
        """Estimate weights and offset of each class from trials, shape (trials, units), and their classes."""
        self.classes, index = np.unique(y, return_inverse=True)
        means = np.array([x[index == k].mean(axis=0) for k in range(len(self.classes))])
        spread = float(x.var(axis=0).mean())
        floor = FLOOR * (spread if spread > 0 else 1.0)
        self.weights = np.linalg.solve(shrunk_covariance(x - means[index]) + floor * np.eye(x.shape[1]), means.T)
        self.offsets = -0.5 * (means.T * self.weights).sum(axis=0)
        return self

    def predict(self, x: FloatArray) -> np.ndarray:
        """Return the class of each trial, shape (trials,)."""
        return np.asarray(self.classes[np.argmax(x @ self.weights + self.offsets, axis=1)])


def drifts(activity: ArrayLike, labels: ArrayLike, seed: int | None = 0) -> bool:
    """Whether the activity of neighbouring trials is more alike than that of trials in random order.

    Args:
        activity: single trials in the order in which they came, shape (trials, steps, units), ``nan`` where unknown.
        labels: class of each trial, shape (trials,); the means of the classes are taken away first.
        seed: seed of the random orders.
    """
    a = np.asarray(activity, float)
    residual = _without_class_means(a, np.asarray(labels)).reshape(len(a), -1)
    spread = np.nanstd(residual, axis=0)
    x = np.nan_to_num(residual[:, spread > 0] / spread[spread > 0])
    likeness, n = x @ x.T, len(x)
    rng = np.random.default_rng(seed)

    def of(order: IntArray) -> float:
        return float(sum(likeness[order[lag:], order[:-lag]].sum() for lag in range(1, min(MOST_LAGS, n - 1) + 1)))

    shuffled = np.array([of(rng.permutation(n)) for _ in range(ORDERS)])
    return bool(abs(of(np.arange(n)) - shuffled.mean()) > DRIFTING * shuffled.std())


def _without_class_means(activity: FloatArray, labels: np.ndarray) -> FloatArray:
    residual = activity.copy()
    for label in np.unique(labels):
        rows = residual[labels == label]
        residual[labels == label] -= np.nansum(rows, axis=0) / np.maximum(np.isfinite(rows).sum(axis=0), 1)
    return residual


def surrogate_labels(labels: ArrayLike, rng: np.random.Generator) -> np.ndarray:
    """Draw a sequence of labels whose runs are as long as those of the given one, from a random phase of a run.

    Args:
        labels: class of each trial, in the order in which trials came, shape (trials,).
        rng: random numbers.
    """
    y = np.asarray(labels)
    starts = np.flatnonzero(np.concatenate([[True], y[1:] != y[:-1]]))
    lengths, following = np.diff(np.append(starts, len(y))), y[starts]
    classes, total = np.unique(following), 0
    after = {c: following[1:][following[:-1] == c] for c in classes}
    current, drawn = rng.choice(y), []
    while total < 2 * len(y):
        drawn.append(np.full(rng.choice(lengths[following == current]), current))
        total += len(drawn[-1])
        remaining = after[current]
        current = rng.choice(remaining if len(remaining) else classes[classes != current])
    phase = rng.integers(0, total - len(y) + 1)
    return np.concatenate(drawn)[phase : phase + len(y)]


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

    Where activity drifts, neighbouring trials are alike: labels that repeat (or alternate) are then predicted by the
    drift alone, above or below chance, and trials are not independent. Folds are then stretches of neighbouring trials,
    and the accuracy expected without any information is measured: the same decoder is applied to surrogate labels with
    runs of the same lengths and to the activity without its class means. The difference of that accuracy from chance is
    subtracted, and its spread gives the interval (after Harris 2021, 10.1101/2020.11.29.402719).

    Args:
        activity: aligned single trials in the order in which they came, shape (trials, steps, units); trials with
            ``nan`` at a step are left out there.
        labels: class of each trial, shape (trials,).
        across_time: train at each step and test at every step.
        folds: cross-validation folds, stratified by class; fewer where a class has fewer groups.
        groups: session of each trial, shape (trials,); sessions are left out as wholes.
        decoder: a scikit-learn classifier; by default linear discriminant analysis with Ledoit-Wolf shrinkage.
        level: coverage of the intervals, which come from the groups where there are any.
        seed: seed of the folds and of the surrogate labels.

    Raises:
        ValueError: fewer than two classes, one with fewer trials than folds or in fewer than two groups; or activity
            that drifts while each class comes in a single block.
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
        raise UndeterminedError(f"decoding needs two classes with {folds} trials or more each, got {counts.tolist()}")
    finite = np.asarray(np.isfinite(a).all(axis=2))
    scorer = _Scorer(_LinearDiscriminant if decoder is None else lambda: clone(decoder), across_time, level)
    sessions = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    corrected = sessions is None and drifts(a, y, seed)
    if corrected:
        accuracy, low, high = scorer.corrected_accuracy(a, y, folds, np.random.default_rng(seed))
    else:
        accuracy, low, high = scorer.accuracy(a, y, _folds(y, sessions, folds, seed), sessions)
    if not across_time:
        accuracy, low, high = (matrix[:, 0] for matrix in (accuracy, low, high))
    n_groups = 0 if sessions is None else len(np.unique(sessions))
    return Decoding(accuracy, low, high, 1 / len(classes), finite.sum(axis=0), classes, n_groups, corrected)


@dataclass(frozen=True)
class _Scorer:
    """Accuracy of a classifier on held-out trials.

    Attributes:
        model: makes a classifier.
        across_time: whether a classifier trained at one step is tested at every step.
        level: coverage of the intervals.
    """

    model: NewModel
    across_time: bool
    level: float

    def accuracy(
        self, a: FloatArray, y: np.ndarray, folds: Iterable[Fold], groups: IntArray | None = None
    ) -> tuple[FloatArray, ...]:
        """Balanced accuracy and confidence interval at every pair of steps."""
        return _intervals(self._held_out(a, y, folds), y, groups, self.level)

    def _held_out(self, a: FloatArray, y: np.ndarray, folds: Iterable[Fold]) -> FloatArray:
        """Return whether each held-out trial was decoded correctly, shape (trials, train steps, test steps or 1)."""
        finite = np.asarray(np.isfinite(a).all(axis=2))
        steps, n_classes = a.shape[1], len(np.unique(y))
        right = np.full((len(y), steps, steps if self.across_time else 1), np.nan)
        for train, test in folds:
            for step in range(steps):
                rows = train[finite[train, step]]
                if len(np.unique(y[rows])) < n_classes:
                    continue
                x = a[rows, step]
                fitted = self.model().fit(x, y[rows])
                at = np.arange(steps) if self.across_time else np.array([step])
                trial, column = np.nonzero(finite[np.ix_(test, at)])
                if trial.size:
                    position = column if self.across_time else np.zeros_like(column)
                    right[test[trial], step, position] = fitted.predict(a[test[trial], at[column]]) == y[test[trial]]
        return right

    def corrected_accuracy(
        self, a: FloatArray, y: np.ndarray, folds: int, rng: np.random.Generator
    ) -> tuple[FloatArray, ...]:
        """Accuracy and interval by surrogate labels, for activity that drifts."""
        from scipy import stats

        if (y[1:] != y[:-1]).sum() == len(np.unique(y)) - 1:
            raise UndeterminedError(
                "the activity drifts and each class is a single block: drift and class are confounded"
            )
        stretch = np.arange(len(y)) * folds // len(y)
        split = [(np.flatnonzero(stretch != k), np.flatnonzero(stretch == k)) for k in range(folds)]
        result, _, _ = self.accuracy(a, y, split)
        residual = _without_class_means(a, y)
        null: list[FloatArray] = []
        while len(null) < SURROGATES:
            drawn = surrogate_labels(y, rng)
            n_classes = len(np.unique(drawn))
            if n_classes > 1:
                null.append(self.accuracy(residual, drawn, split)[0] - 1 / n_classes)
        bias, spread = np.nanmean(null, axis=0), np.nanstd(null, axis=0, ddof=1)
        half = stats.t.ppf((1 + self.level) / 2, SURROGATES - 1) * np.sqrt(1 + 1 / SURROGATES) * spread
        accuracy = result - bias
        return np.clip(accuracy, 0, 1), np.clip(accuracy - half, 0, 1), np.clip(accuracy + half, 0, 1)


def _folds(y: np.ndarray, groups: IntArray | None, folds: int, seed: int | None) -> Iterable[Fold]:
    """Trials to train on and to test on, fold by fold; with groups, whole sessions are left out."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    if groups is None:
        return StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)
    fewest = min(len(np.unique(groups[y == label])) for label in np.unique(y))
    if fewest < 2:
        raise UndeterminedError("decoding leaves whole sessions out, and one of the classes comes in a single session")
    return StratifiedGroupKFold(min(folds, fewest), shuffle=True, random_state=seed).split(np.zeros(len(y)), y, groups)


def _intervals(right: FloatArray, y: np.ndarray, groups: IntArray | None, level: float) -> tuple[FloatArray, ...]:
    """Balanced accuracy and its interval at every pair of steps; ``right`` is nan for untested trials."""
    of_class = [right[y == label] for label in np.unique(y)]
    n = np.array([np.isfinite(each).sum(axis=0) for each in of_class], float)
    hits = np.array([np.nansum(each, axis=0) for each in of_class])
    accuracy = np.divide(hits, n, out=np.full(n.shape, np.nan), where=n > 0).mean(axis=0)
    if groups is None:
        effective = len(n) ** 2 / (1 / np.maximum(n, 1)).sum(axis=0) / DEPENDENCE * (n > 0).all(axis=0)
        return accuracy, *wilson(np.nan_to_num(accuracy) * effective, effective, level)
    low, high = np.zeros(accuracy.shape), np.ones(accuracy.shape)
    balanced = bool((n == n[0]).all())
    for cell in np.ndindex(accuracy.shape):
        counts = n[:, *cell]
        weights = (counts.sum() / len(n) / np.maximum(counts, 1))[np.unique(y, return_inverse=True)[1]]
        estimate = mean_interval(right[:, *cell] * weights, groups, level, bounded=balanced)
        low[cell], high[cell] = np.nan_to_num(estimate.low), np.nan_to_num(estimate.high, nan=1.0)
    return accuracy, np.clip(low, 0, 1), np.clip(high, 0, 1)
