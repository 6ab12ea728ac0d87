"""Logistic regression of choices, with weights that stay finite when an agent makes no errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_expit

from neurogym.analysis.intervals import members_of, quantile
from neurogym.analysis.results import Estimate, Result, UndeterminedError, normal_quantile
from neurogym.array_types import FloatArray, IntArray

#: S.d. of the prior that keeps undetermined weights finite, in log odds per s.d. of a predictor; most steps of a fit,
#: and the longest change of a weight in a step.
SAFE_SD, MOST_STEPS, LONGEST_STEP = 20.0, 100, 5.0
Expansion = tuple[float, FloatArray, FloatArray]  #: value, slope and information of a log-likelihood


@dataclass(frozen=True)
class ChoiceRegression(Result):
    """Weights of a logistic regression.

    Attributes:
        weights: estimate per regressor, in log odds per unit of the regressor.
        log_likelihood: of the data at the estimates.
        n: number of trials.
        level: coverage of the intervals.
        covariance: of the weights, in the order of ``weights``.
        groups: number of sessions or blocks that the intervals come from, 0 where trials are independent.
    """

    weights: dict[str, Estimate]
    log_likelihood: float
    n: int
    level: float
    covariance: FloatArray = field(repr=False, compare=False, metadata={"draws": True})
    groups: int = 0

    @property
    def values(self) -> FloatArray:
        """The weights as a vector."""
        return np.array([estimate.value for estimate in self.weights.values()])

    def draws(self, n_draws: int = 2000, seed: int | None = 0) -> dict[str, FloatArray]:
        """Return draws around the estimates, for intervals of whatever is computed from the weights.

        They are Gaussian, or of Student's distribution where the spread is that of a number of groups.
        """
        rng = np.random.default_rng(seed)
        around = rng.multivariate_normal(np.zeros(len(self.weights)), self.covariance, n_draws, method="svd")
        if self.groups:
            around /= np.sqrt(rng.chisquare(self.groups - 1, (n_draws, 1)) / (self.groups - 1))
        return dict(zip(self.weights, (self.values + around).T, strict=True))

    def estimate(self, contrast: ArrayLike) -> Estimate:
        """Return a weighted sum of the weights."""
        c = np.asarray(contrast, float)
        return weight_estimate(float(c @ self.values), float(np.sqrt(c @ self.covariance @ c)), self.groups, self.level)

    def mean(self, names: list[str]) -> Estimate:
        """Return the mean of several weights."""
        return self.estimate(np.array([name in names for name in self.weights]) / len(names))


def regress_choice(
    regressors: dict[str, ArrayLike],
    choice: ArrayLike,
    *,
    prior_sd: float | None = None,
    level: float = 0.95,
    groups: ArrayLike | None = None,
) -> ChoiceRegression:
    """Regress a binary choice on named regressors; an intercept named ``bias`` comes first.

    By default the likelihood is maximised with its first-order bias removed, which keeps weights and intervals finite
    where the choices are separable; see `fit_bias_reduced`.

    Args:
        regressors: columns of shape (trials,).
        choice: 0 or 1, shape (trials,).
        prior_sd: standard deviation of a Gaussian prior instead, in log odds per standard deviation of the regressor;
            ``numpy.inf`` is maximum likelihood.
        level: coverage of the intervals.
        groups: session or block of each trial where trials are linked, shape (trials,): intervals come from how much
            the weights change when one of them is left out.

    Raises:
        ValueError: no trials, or a regressor of another length.
    """
    y = np.asarray(choice, float)
    if y.size == 0:
        raise UndeterminedError("a choice regression needs trials, got none")
    columns = [np.asarray(column, float) for column in regressors.values()]
    for name, column in zip(regressors, columns, strict=True):
        if column.shape != y.shape:
            raise ValueError(f"regressor {name!r} has shape {column.shape}, the choices have {y.shape}")
    x = np.column_stack([np.ones(y.size), *columns])
    if prior_sd is None:
        free, covariance, count = fit_bias_reduced(x, y.astype(int), 2, groups)
        weights = free[0]
    else:
        weights, covariance, count = _with_prior(x, y, prior_sd, groups)
    errors = np.sqrt(np.diag(covariance))
    estimates = [weight_estimate(w, se, count, level) for w, se in zip(weights, errors, strict=True)]
    likelihood = float(log_expit((2 * y - 1) * (x @ weights)).sum())
    named = dict(zip(["bias", *regressors], estimates, strict=True))
    return ChoiceRegression(named, likelihood, y.size, level, covariance, count)


def _with_prior(
    x: FloatArray, y: FloatArray, prior_sd: float, groups: ArrayLike | None
) -> tuple[FloatArray, FloatArray, int]:
    """Return weights with a Gaussian prior, their covariance and the number of groups that this comes from."""
    scale = np.where(x.std(0) > 0, x.std(0), 1.0)
    result, information = fit_weights(x / scale, y.astype(int), 2, np.full(len(scale), prior_sd))
    if groups is None:
        covariance, count = np.linalg.pinv(information), 0
    else:
        covariance, count = _without_each(x / scale, y[:, None] == [0, 1], result[1], information, groups)
    return result[1] / scale, covariance / np.outer(scale, scale), count


def weight_estimate(value: float, se: float, groups: int, level: float = 0.95) -> Estimate:
    """Return a weight with the interval of a number of groups, or of independent trials if it is 0."""
    if not groups:
        return Estimate.normal(value, se, level)
    half = quantile(level, groups) * se
    return Estimate(float(value), float(value - half), float(value + half), float(se))


def _without_each(
    x: FloatArray, target: np.ndarray, weights: FloatArray, information: FloatArray, groups: ArrayLike
) -> tuple[FloatArray, int]:
    """Return the jackknife covariance of flat weights over groups, and the number of groups.

    Each group is left out in one Newton step, which is not optimistic where there are few groups and many regressors
    (MacKinnon, Nielsen & Webb 2023, 10.1016/j.jeconom.2022.04.001).
    """
    members = members_of(groups)
    count = len(members)
    if count < 2:
        return np.full_like(information, np.inf), 2
    free = weights.reshape(-1, x.shape[1])
    p = np.exp(log_softmax(with_reference(x @ free.T)))
    moved = []
    for rows in members:
        score = ((target[rows] - p[rows])[:, 1:].T @ x[rows]).ravel()
        without = information - _information(x[rows], p[rows])
        moved.append(np.linalg.lstsq(without, score, rcond=None)[0])
    steps = np.array(moved)
    return (count - 1) / count * steps.T @ steps, count


def log_softmax(logits: FloatArray) -> FloatArray:
    """Return log-probabilities from logits along the last axis."""
    # NumPy reduces an axis of a few entries three times as slowly as it combines columns.
    shifted = logits - reduce(np.maximum, logits.T).T[..., None]
    total = reduce(np.add, np.exp(shifted).T).T
    return np.asarray(shifted - np.log(total)[..., None])


def with_reference(logits: FloatArray) -> FloatArray:
    """Return logits of the choices but the first, along the last axis, with a 0 for the first."""
    return np.concatenate([np.zeros((*logits.shape[:-1], 1)), logits], -1)


def log_chosen(logits: Any, choice: Any, xp: Any = np) -> Any:
    """Return the log-probability of each choice, 0 for misses; a function of NumPy or ``jax.numpy``.

    Args:
        logits: of the choices but the first, whose logit is 0, shape (..., choices - 1).
        choice: index of each choice, -1 for a miss; its shape broadcasts to (...).
        xp: NumPy or ``jax.numpy``.
    """
    columns = [logits[..., k] for k in range(logits.shape[-1])]
    chosen = sum(xp.where(choice == k, column, 0.0) for k, column in enumerate(columns, 1))
    return xp.where(choice < 0, 0.0, chosen - reduce(xp.logaddexp, columns, 0.0))


def fit_weights(
    x: FloatArray,
    choice: IntArray,
    n: int,
    sd: FloatArray,
    mean: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Fit the weights of a (multinomial) logistic regression by maximum a posteriori.

    Args:
        x: predictors, shape (trials, predictors).
        choice: index of each choice, shape (trials,).
        n: number of choices.
        sd: s.d. of the Gaussian prior of each predictor's weights, shape (predictors,), or of each free weight.
        mean: of the prior of each free weight, shape (free weights,); zero without it.

    Returns:
        Weights (choices, predictors), zero for the first choice, and the information about the free ones.
    """
    d = x.shape[1]
    target, precision = choice[:, None] == np.arange(1, n), np.resize(1 / sd**2, (n - 1) * d)
    centre = np.zeros((n - 1) * d) if mean is None else mean

    def posterior(flat: FloatArray) -> Expansion:
        logs, away = log_softmax(with_reference(x @ flat.reshape(n - 1, d).T)), flat - centre
        p = np.exp(logs)
        value = np.take_along_axis(logs, choice[:, None], 1).sum() - 0.5 * (precision * away**2).sum()
        score = ((target - p[:, 1:]).T @ x).ravel() - precision * away
        return float(value), score, _information(x, p) + np.diag(precision)

    best, information = _maximum(posterior, centre, tolerance=1e-10)
    return np.concatenate([np.zeros((1, d)), best.reshape(n - 1, d)]), information


def _maximum(
    evaluate: Callable[[FloatArray], Expansion], start: FloatArray, tolerance: float, longest: float = np.inf
) -> tuple[FloatArray, FloatArray]:
    """Return where a concave function is largest, by Newton's method with steps halved, and the information there.

    Args:
        evaluate: returns value, slope and information of the function.
        start: where the search begins.
        tolerance: gain of a step, to first order, below which it is the last.
        longest: change of a coordinate in a step.
    """
    best = start
    value, score, information = evaluate(best)
    for _ in range(MOST_STEPS):
        step = np.linalg.solve(information, score)
        step *= min(1.0, longest / max(float(np.abs(step).max()), 1e-300))
        for _ in range(30):
            new = evaluate(best + step)
            if new[0] >= value - 1e-9:
                break
            step = step / 2
        gain = float(score @ step)
        best, (value, score, information) = best + step, new
        if gain < tolerance:
            break
    return best, information


def fit_bias_reduced(
    x: FloatArray, choice: IntArray, n: int, groups: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray, int]:
    """Fit a (multinomial) logistic regression by maximum likelihood with the first-order bias removed.

    The score is corrected as by Jeffreys' prior, which also keeps the weights of separable choices finite (Firth 1993,
    10.1093/biomet/80.1.27; Kosmidis & Firth 2011, 10.1093/biomet/asr026).

    Args:
        x: predictors, the first of them constant, shape (trials, predictors).
        choice: index of each choice, shape (trials,).
        n: number of choices.
        groups: subject, session or block of each trial where trials are linked, shape (trials,).

    Returns:
        Weights of the choices but the first, shape (choices - 1, predictors); covariance of the flat weights, between
        groups where these are given; and the number of groups, 0 without.
    """
    scale = np.where(x.std(0) > 0, x.std(0), 1.0)
    scaled, d = x / scale, x.shape[1]
    target = choice[:, None] == np.arange(n)
    precision = np.full((n - 1) * d, SAFE_SD**-2)  # of predictors that repeat each other; negligible otherwise
    evaluate = partial(_bias_reduced, scaled, target, precision)
    flat, information = _maximum(evaluate, np.zeros((n - 1) * d), 1e-18, LONGEST_STEP)
    if groups is None:
        covariance, count = np.linalg.inv(information), 0
    else:
        covariance, count = _without_each(scaled, target, flat, information, groups)
    by = np.tile(scale, n - 1)
    return (flat / by).reshape(n - 1, d), covariance / np.outer(by, by), count


def _bias_reduced(x: FloatArray, target: np.ndarray, precision: FloatArray, flat: FloatArray) -> Expansion:
    """Return penalised log-likelihood, its slope and the information at flat weights."""
    n, d = target.shape[1], x.shape[1]
    logs = log_softmax(with_reference(x @ flat.reshape(n - 1, d).T))
    p = np.exp(logs)
    information = _information(x, p) + np.diag(precision)
    blocks = np.linalg.inv(information).reshape(n - 1, d, n - 1, d)
    products = np.zeros((len(x), n, n))  # of predictors and covariance, zero for the first choice
    products[:, 1:, 1:] = np.einsum("ti,aibj,tj->tab", x, blocks, x, optimize=True)
    mean = np.einsum("tab,tb->ta", products, p)
    leverage = p * (np.einsum("taa->ta", products) - 2 * mean + np.einsum("ta,ta->t", mean, p)[:, None])
    residual = target - p + 0.5 * (leverage - p * leverage.sum(1, keepdims=True))
    value = logs[target].sum() + 0.5 * np.linalg.slogdet(information)[1] - 0.5 * (precision * flat**2).sum()
    return float(value), (residual[:, 1:].T @ x).ravel() - precision * flat, information


def _information(x: FloatArray, p: FloatArray) -> FloatArray:
    """Return the information about flat weights, given the probability of each choice, shape (trials, choices)."""
    d, free = x.shape[1], p.shape[1] - 1
    information = np.zeros((free * d, free * d))
    for a in range(free):
        for b in range(free):
            weight = p[:, a + 1] * ((a == b) - p[:, b + 1])
            information[a * d : (a + 1) * d, b * d : (b + 1) * d] = (x * weight[:, None]).T @ x
    return information


def is_separable(x: FloatArray, choice: ArrayLike) -> bool:
    """Return whether a weighted sum of predictors tells the two choices apart without error.

    Maximum likelihood then has no finite weights. Ties with the dividing value are allowed.

    Args:
        x: predictors with a constant, shape (trials, predictors).
        choice: 0 or 1, shape (trials,).
    """
    from scipy.optimize import linprog

    signed = np.unique(np.where(np.asarray(choice, bool)[:, None], x, -x), axis=0)
    result = linprog(-signed.sum(0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1))
    return bool(result.success and -result.fun > 1e-6)


def ratio_estimate(numerator: FloatArray, denominator: FloatArray, level: float) -> Estimate:
    """Return a ratio with an interval from draws, or nan where the denominator may be zero.

    Args:
        numerator: the estimate, followed by draws around it, shape (1 + draws,).
        denominator: the same, of the same draws.
        level: coverage of the interval.
    """
    ends = [(1 - level) / 2, (1 + level) / 2]
    below, above = np.quantile(denominator[1:], ends)
    if not below * above > 0:
        return Estimate(np.nan)
    ratio = numerator / denominator
    low, high = np.quantile(ratio[1:], ends)
    low, high = min(low, ratio[0]), max(high, ratio[0])
    return Estimate(float(ratio[0]), float(low), float(high), float(high - low) / (2 * normal_quantile(level)))
