"""Explained variance of recorded neurons in held-out trials, with the noise ceiling.

Neurons are compared as averages of conditions, step by step. A prediction is fitted to the averages of some trials and
scored against the averages of others: ``1 - sum of squared errors / sum of squares`` for each neuron. The noise ceiling
is the share of that variance that repeats: the covariance between averages of random halves of the trials, which noise
does not add to, divided by the variance of the held-out averages (Sahani & Linden 2003, NeurIPS 15; Schoppe et al.
2016, 10.3389/fncom.2016.00010). A perfect model reaches the ceiling and no model exceeds it on average.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import Result
from neurogym.array_types import FloatArray

#: Penalties of ridge regressions relative to the mean variance of the predictors.
PENALTIES = 10.0 ** np.arange(-4, 3)
#: Share of neurons and of trials of each condition that are held out, and random halves of the trials.
HELD_OUT, HALVES = 0.25, 20
ALL_ROWS = slice(None)

Segment = tuple[str, str]  #: part of the trial, and condition


@dataclass(frozen=True)
class Split(Result):
    """Neurons and trials that are held out.

    Attributes:
        neurons: bool, shape (neurons,).
        trials: bool, shape (trials,).
    """

    neurons: np.ndarray
    trials: np.ndarray


def split(conditions: ArrayLike, neurons: int, seed: int = 0) -> Split:
    """Hold out a quarter of the neurons and of the trials of each condition, at least two of four trials or more.

    Args:
        conditions: condition of each trial, shape (trials,).
        neurons: number of neurons.
        seed: random seed.
    """
    rng, names = np.random.default_rng(seed), np.asarray(conditions, str)
    held_neurons, held_trials = np.zeros(neurons, bool), np.zeros(len(names), bool)
    held_neurons[rng.permutation(neurons)[: round(HELD_OUT * neurons)]] = True
    for condition in np.unique(names):
        rows = rng.permutation(np.flatnonzero(names == condition))
        held_trials[rows[: max(round(HELD_OUT * len(rows)), min(2, len(rows) // 2))]] = True
    return Split(held_neurons, held_trials)


@dataclass(frozen=True)
class Averages:
    """Average activity of conditions, step by step.

    Attributes:
        values: shape (rows, units); the rows of a segment follow one another.
        trials: trials behind each row, shape (rows,).
        rows: rows of each segment, by part and condition.
    """

    values: FloatArray
    trials: np.ndarray
    rows: dict[Segment, slice]

    @classmethod
    def of(cls, parts: Mapping[str, tuple[Sequence[FloatArray], ArrayLike]]) -> Averages:
        """Average trials by condition, as long as at least half of the trials of the condition last.

        Args:
            parts: activity of trials, each of shape (steps, units), and their conditions, by part of the trial.
        """
        values, counts, rows = list[FloatArray](), list[np.ndarray](), dict[Segment, slice]()
        begin = 0
        for part, (trials, conditions) in parts.items():
            names = np.asarray(conditions, str)
            for condition in np.unique(names):
                chosen = [np.asarray(trials[int(k)], float) for k in np.flatnonzero(names == condition)]
                lengths = np.array([len(each) for each in chosen])
                steps = int(np.sort(lengths)[len(lengths) // 2])
                total = sum(np.pad(each[:steps], ((0, max(0, steps - len(each))), (0, 0))) for each in chosen)
                count = (lengths[:, None] > np.arange(steps)).sum(0)
                values.append(total / count[:, None])
                counts.append(count)
                rows[part, str(condition)] = slice(begin, begin := begin + steps)
        if not values:
            return cls(np.zeros((0, 0)), np.zeros(0, int), rows)
        return cls(np.concatenate(values), np.concatenate(counts), rows)


def aligned(averages: Sequence[Averages]) -> tuple[list[FloatArray], np.ndarray, np.ndarray]:
    """Return the values of several averages at the steps that all have, with part and step, and condition of each row.

    Returns:
        Arrays (rows, units), one for each of the averages; part and step as text, shape (rows,); conditions, (rows,).
    """
    shared = [key for key in averages[0].rows if all(key in each.rows for each in averages)]
    steps = [min(each.rows[key].stop - each.rows[key].start for each in averages) for key in shared]
    arrays = [
        np.concatenate([each.values[each.rows[key].start :][:n] for key, n in zip(shared, steps, strict=True)])
        if shared
        else np.zeros((0, each.values.shape[-1]))
        for each in averages
    ]
    times = [f"{part} {k}" for (part, _), n in zip(shared, steps, strict=True) for k in range(n)]
    conditions = [condition for (_, condition), n in zip(shared, steps, strict=True) for _ in range(n)]
    return arrays, np.array(times, str), np.array(conditions, str)


def explained(predicted: FloatArray, observed: FloatArray) -> FloatArray:
    """Return the explained variance of each neuron, shape (neurons,); nan for neurons that do not vary.

    Args:
        predicted: shape (rows, neurons).
        observed: the same shape.
    """
    total = ((observed - observed.mean(0)) ** 2).sum(0)
    return 1 - ((observed - predicted) ** 2).sum(0) / np.where(total > 0, total, np.nan)


def noise_ceiling(halves: Sequence[tuple[FloatArray, FloatArray]], observed: FloatArray) -> FloatArray:
    """Return the noise ceiling of the explained variance of each neuron, at most 1, shape (neurons,).

    Args:
        halves: averages of random halves of the trials, each of shape (rows, neurons).
        observed: averages of the held-out trials, the same shape.
    """
    signal = np.mean([((a - a.mean(0)) * (b - b.mean(0))).mean(0) for a, b in halves], axis=0)
    total = observed.var(0)
    return np.minimum(signal / np.where(total > 0, total, np.nan), 1.0)


def regressed_on_variables(
    observed: FloatArray, times: np.ndarray, variables: Mapping[str, np.ndarray], rows: np.ndarray | slice = ALL_ROWS
) -> FloatArray:
    """Return the prediction by task variables: a linear regression at each time.

    Source: Brody et al. 2003, 10.1093/cercor/bhg100.

    Args:
        observed: averages that the regression is fitted to, shape (rows, neurons).
        times: part and step of each row, shape (rows,).
        variables: value of each variable for each row, shape (rows,); words have a column for each value.
        rows: rows that the regression is fitted to; all are predicted.
    """
    columns = [np.ones(len(times))]
    for values in variables.values():
        if np.asarray(values).dtype.kind in "biuf":
            columns.append(np.asarray(values, float))
        else:
            columns += [np.asarray(values, str) == each for each in np.unique(np.asarray(values, str))[1:]]
    design, result = np.stack(columns, axis=1).astype(float), np.zeros_like(observed)
    fitted = np.zeros(len(times), bool)
    fitted[rows] = True
    for time in np.unique(times):
        now = times == time
        known = now & fitted
        result[now] = design[now] @ np.linalg.lstsq(design[known], observed[known], rcond=None)[0]
    return result


def ridge(x: FloatArray, y: FloatArray, groups: np.ndarray) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Return the weights of a ridge regression with the penalty that predicts left-out groups best, and both means.

    Args:
        x: predictors, shape (rows, units).
        y: responses, shape (rows, neurons).
        groups: group of each row, such as the condition, shape (rows,); each is left out in turn.
    """
    masks = [groups == group for group in np.unique(groups)]
    return _with_best_penalty(x, y, [(x[~out], y[~out], x[out], y[out]) for out in masks if not out.all()])


def _with_best_penalty(
    x: FloatArray, y: FloatArray, tests: Sequence[tuple[FloatArray, FloatArray, FloatArray, FloatArray]]
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Return the weights of a ridge regression, and both means, with the penalty that does best in tests.

    Args:
        x: predictors, shape (rows, units).
        y: responses, shape (rows, neurons).
        tests: predictors and responses that are fitted, and those that are then predicted.
    """
    errors = np.zeros(len(PENALTIES))
    for fitted_x, fitted_y, left_x, left_y in tests:
        solutions, (mx, my) = _solutions(fitted_x, fitted_y)
        errors += [float(((left_y - my - (left_x - mx) @ weights) ** 2).sum()) for weights in solutions]
    solutions, means = _solutions(x, y)
    return solutions[int(errors.argmin())], means


def _solutions(x: FloatArray, y: FloatArray) -> tuple[list[FloatArray], tuple[FloatArray, FloatArray]]:
    """Return the weights of each penalty, and the means."""
    means = x.mean(0), y.mean(0)
    u, s, v = np.linalg.svd(x - means[0], full_matrices=False)
    turned, scale = u.T @ (y - means[1]), float((s**2).mean()) or 1.0
    return [v.T @ ((s / (s**2 + penalty * scale))[:, None] * turned) for penalty in PENALTIES], means


def regressed_on_units(
    x: FloatArray, y: FloatArray, halves: tuple[FloatArray, FloatArray], rows: np.ndarray | slice = ALL_ROWS
) -> FloatArray:
    """Return the prediction by a ridge regression on units, with the penalty by which one half predicts the other best.

    Args:
        x: activity of the units, shape (rows, units).
        y: averages that the regression is fitted to, shape (rows, neurons).
        halves: averages of two halves of the same trials, the same shape.
        rows: rows that the regression is fitted to; all are predicted.
    """
    scale = np.where(y.std(0) > 0, y.std(0), 1.0)
    known, one, other = x[rows], *(each[rows] / scale for each in halves)
    tests = [(known, one, known, other), (known, other, known, one)]
    weights, (mx, my) = _with_best_penalty(known, y[rows] / scale, tests)
    return ((x - mx) @ weights + my) * scale


def without_each(predict: Callable[[np.ndarray], FloatArray], conditions: np.ndarray) -> FloatArray:
    """Return the prediction of each condition by what is fitted to the others.

    Args:
        predict: returns the prediction of all rows, fitted to the rows of a mask.
        conditions: condition of each row, shape (rows,).
    """
    masks = [conditions == each for each in np.unique(conditions)]
    result = np.array(predict(~masks[0]))
    for mask in masks[1:]:
        result[mask] = predict(~mask)[mask]
    return result
