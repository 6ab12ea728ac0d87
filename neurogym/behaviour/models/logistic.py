"""Logistic regression of choices on stimuli and history.

P(choice = c) is proportional to exp(w_c . x) with w_0 = 0; x holds a constant, the stimuli of the trial and, of each of
the previous k trials, the choice, the outcome, the product of choice and outcome (win-stay) and the stimuli. A miss
leaves zeros. The weights that predict have a Gaussian prior; its s.d. is chosen on inner folds of the training
sessions. A prior moves weights towards zero by an unknown amount, so no interval around them covers the truth. The
reported weights are therefore those of the likelihood without the prior, corrected for bias, with intervals from the
spread between subjects or sessions where there are enough of these.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neurogym.analysis.regression import fit_bias_reduced, fit_weights, is_separable, log_softmax, weight_estimate
from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import (
    Fitted,
    OneByOne,
    ParallelTrials,
    Policy,
    Problem,
    log_likelihoods,
    one_hot,
    trial_at,
)
from neurogym.behaviour.models.evidence import Evidence, linear, weight_parameters, widened
from neurogym.behaviour.table import Behaviour, Session

#: Standard deviations of the prior that are tried, and the inner folds that decide.
PRIORS = (0.1, 0.3, 1.0, 3.0, 10.0)
INNER = 4


@dataclass(frozen=True)
class Features:
    """Predictors of a trial: constant, stimuli, and k trials of history.

    Attributes:
        choices: words for the choices.
        stimuli: names of the stimuli.
        history: number of previous trials.
        outcomes: whether rewards are known.
        centre: middle of the rewards; rewards enter as difference from it, times 2.
        past_stimuli: whether the stimuli of previous trials are predictors.
        plain_outcomes: whether outcomes of previous trials are predictors besides their products with two choices.
        reference: whether the first of more than two choices is what the others are compared with; all of them together
            and the constant would not be identified.
    """

    choices: tuple[str, ...]
    stimuli: tuple[str, ...]
    history: int
    outcomes: bool
    centre: float
    past_stimuli: bool = True
    plain_outcomes: bool = False
    reference: bool = False

    @classmethod
    def of(
        cls,
        table: Behaviour,
        history: int,
        stimuli: bool = True,
        past_stimuli: bool = True,
        plain_outcomes: bool = False,
    ) -> Features:
        """Return the predictors that a table allows."""
        reward = table.join("reward")[table.join("choice") >= 0]
        outcomes = bool(np.isfinite(reward).any() and np.nanstd(reward) > 0)
        rewards = reward[np.isfinite(reward)]
        centre = 0.5 * float(rewards.min() + rewards.max()) if outcomes else 0.0
        stimulus_names = table.stimuli if stimuli else ()
        more = len(table.choices) > 2
        return cls(
            table.choices,
            stimulus_names,
            history,
            outcomes,
            centre,
            past_stimuli,
            plain_outcomes and outcomes and not more,
            more,
        )

    def _names_of(self, lag: int) -> list[str]:
        """Return the names of the predictors from a previous trial."""
        words = [""] if len(self.choices) == 2 else [f" {word}" for word in self.choices]
        names = [f"choice{word}, {lag} back" for word in words[self.reference :]]
        names += [f"choice x outcome{word}, {lag} back" for word in words * self.outcomes]
        names += [f"outcome, {lag} back"] * self.plain_outcomes
        return [*names, *(f"{name}, {lag} back" for name in self.stimuli * self.past_stimuli)]

    @property
    def per_lag(self) -> int:
        """Number of predictors from each previous trial."""
        return len(self._names_of(1))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the predictors."""
        past = (name for lag in range(1, self.history + 1) for name in self._names_of(lag))
        return ("bias", *self.stimuli, *past)

    @property
    def weight_names(self) -> tuple[str, ...]:
        """Names of the weights of each choice but the first; those of two choices are those of the predictors."""
        words = [""] if len(self.choices) == 2 else [f" -> {word}" for word in self.choices[1:]]
        return tuple(f"{name}{word}" for word in words for name in self.names)

    def begin(self, n: int) -> FloatArray:
        """Return the history of ``n`` sessions that begin, shape (sessions, predictors from the past)."""
        return np.zeros((n, self.history * self.per_lag))

    def now(self, past: FloatArray, stimuli: FloatArray) -> FloatArray:
        """Return the predictors of a trial, shape (sessions, predictors)."""
        return np.concatenate([np.ones((len(past), 1)), stimuli[:, : len(self.stimuli)], past], 1)

    def after(self, past: FloatArray, trial: ParallelTrials) -> FloatArray:
        """Return the history after a trial."""
        if not self.history:
            return past
        return np.concatenate([self.recent(trial), past], 1)[:, : self.history * self.per_lag]

    def recent(self, trial: ParallelTrials) -> FloatArray:
        """Return the predictors that trials become for the next ones, shape (trials, predictors of a lag)."""
        if len(self.choices) == 2:
            chosen = np.where(trial.choice < 0, 0.0, 2.0 * trial.choice - 1)[:, None]
        else:
            chosen = one_hot(trial.choice, len(self.choices))
        columns = [chosen[:, self.reference :]]
        if self.outcomes:
            outcome = (2 * (np.nan_to_num(trial.reward) - self.centre))[:, None]
            columns.append(chosen * outcome)
            if self.plain_outcomes:
                columns.append(outcome * (trial.choice >= 0)[:, None])
        if self.past_stimuli:
            columns.append(trial.stimuli[:, : len(self.stimuli)] * (trial.choice >= 0)[:, None])
        return np.concatenate(columns, 1)

    def matrix(self, each: Session) -> FloatArray:
        """Return the predictors of all trials of a session, shape (trials, predictors)."""
        stimuli = np.nan_to_num(each.stimuli)
        past = np.zeros((len(each), self.history * self.per_lag))
        if self.history:
            recent = self.recent(replace(trial_at(each, slice(None)), stimuli=stimuli))
            for lag in range(1, min(self.history, len(each) - 1) + 1):
                past[lag:, (lag - 1) * self.per_lag : lag * self.per_lag] = recent[:-lag]
        return self.now(past, stimuli)


@dataclass
class LinearPolicy(Policy):
    """Choices from fixed weights.

    Attributes:
        features: predictors.
        weights: shape (choices, predictors), zero for the first choice.
    """

    features: Features
    weights: FloatArray

    def begin(self, n: int) -> FloatArray:
        """See `Policy.begin`."""
        return self.features.begin(n)

    def logits(self, state: FloatArray, stimuli: FloatArray) -> FloatArray:
        """See `Policy.logits`."""
        return self.features.now(state, stimuli) @ self.weights.T

    def advance(self, state: FloatArray, trial: ParallelTrials) -> FloatArray:
        """See `Policy.advance`."""
        return self.features.after(state, trial)


def _policy(features: Features, x: FloatArray) -> LinearPolicy:
    """Return the policy with the weights of all choices but the first, one after the other."""
    return LinearPolicy(features, np.pad(x.reshape(-1, len(features.names)), ((1, 0), (0, 0))))


class Logistic(OneByOne):
    """Logistic regression on the stimuli and ``history`` previous trials.

    Args:
        history: number of previous trials.
        stimuli: whether stimuli are used; without stimuli and history only the bias remains.
        past_stimuli: whether the stimuli of previous trials are predictors.
        name: name of the model.
    """

    policy = LinearPolicy
    takes_prior = True

    def __init__(self, history: int = 0, stimuli: bool = True, past_stimuli: bool = True, name: str = "logistic"):
        self.name, self.history, self.stimuli, self.past_stimuli = name, history, stimuli, past_stimuli

    def features(self, table: Behaviour) -> Features:
        """Return the predictors of a trial that a table allows."""
        return Features.of(table, self.history, self.stimuli, self.past_stimuli, plain_outcomes=True)

    def evidence_of(self, table: Behaviour, columns: int) -> Evidence:
        """See `Model.evidence_of`; the evidence of the first of several options is 0."""
        features = self.features(table)
        matrix = np.concatenate([features.matrix(each) for each in table.sessions])
        words = [""] if columns == 1 else [f" -> {word}" for word in table.choices[1:]]
        weights, size = weight_parameters(features.names, matrix), matrix.shape[1]
        parameters = tuple(replace(each, name=f"{each.name}{word}") for word in words for each in weights)
        predictors = np.zeros((len(matrix), columns, len(parameters)))
        for k in range(len(words)):
            predictors[:, k + (columns > 1), k * size : (k + 1) * size] = matrix

        return Evidence(parameters, linear, widened(predictors), lambda x: (_policy(features, x), 1.0))

    def policies(self, problem: Problem) -> Callable[[FloatArray], Policy]:
        """See `Model.policies`."""
        return functools.partial(_policy, self.features(problem.table))

    def _fit(self, problem: Problem) -> Fitted:
        table = problem.table
        features = self.features(table)
        n, fold = len(table.choices), np.concatenate(table.blocks(INNER)) % INNER
        rows, chosen = np.concatenate([features.matrix(each) for each in table.sessions]), table.join("scored_choice")
        valid = chosen >= 0
        rows, chosen, fold = rows[valid], chosen[valid], fold[valid]
        scale = np.where(rows.std(0) > 0, rows.std(0), 1.0)
        details: dict[str, Any] = {}
        if problem.prior is None:
            details["prior_sd"] = _best_prior(rows, chosen, n, fold, scale) if rows.shape[1] > 1 else 10.0
            weights, information = fit_weights(rows, chosen, n, _sds(details["prior_sd"], scale))
            estimates = estimated_weights(rows, chosen, n, table.interval_groups(valid))
        else:
            weights, information = fit_weights(rows, chosen, n, problem.prior[1], problem.prior[0])
            errors = np.sqrt(np.diag(np.linalg.inv(information)))
            estimates = list(map(Estimate.normal, weights[1:].ravel(), errors))
        score = float(np.nansum(log_likelihoods(np.exp(log_softmax(rows @ weights.T)), chosen)))
        variance = np.diag(np.linalg.inv(information))
        details["separable"] = n == 2 and is_separable(rows, chosen)
        details |= {"unbounded": weights[1:].ravel(), "unbounded_variance": variance}
        policy = LinearPolicy(features, weights)
        return Fitted(self.name, policy, dict(zip(features.weight_names, estimates, strict=True)), score, details)


def estimated_weights(x: FloatArray, choice: np.ndarray, n: int, groups: np.ndarray | None) -> list[Estimate]:
    """Return the weights of the likelihood without a prior; those of predictors that do not vary are not determined.

    Args:
        x: predictors, the first of them constant, shape (trials, predictors).
        choice: index of each choice, shape (trials,).
        n: number of choices.
        groups: subject or session of each trial; None: trials are independent.
    """
    weights, covariance, count = fit_bias_reduced(x, choice, n, groups)
    errors = np.sqrt(np.diag(covariance)).reshape(weights.shape)
    varies = x.std(0) > 0
    varies[0] = True
    return [
        weight_estimate(weight, se, count) if estimable else Estimate(np.nan)
        for row, row_errors in zip(weights, errors, strict=True)
        for weight, se, estimable in zip(row, row_errors, varies, strict=True)
    ]


def _sds(sd: float, scale: FloatArray) -> FloatArray:
    """Return the s.d. of the prior of each weight; that of the constant is wide."""
    out = sd / scale
    out[0] = 10.0
    return out


def _best_prior(x: FloatArray, choice: np.ndarray, n: int, fold: np.ndarray, scale: FloatArray) -> float:
    scores = []
    for sd in PRIORS:
        total = 0.0
        for k in range(INNER):
            out = fold == k
            if out.all() or not out.any():
                continue
            weights, _ = fit_weights(x[~out], choice[~out], n, _sds(sd, scale))
            total += float(np.nansum(log_likelihoods(np.exp(log_softmax(x[out] @ weights.T)), choice[out])))
        scores.append(total)
    return PRIORS[int(np.argmax(scores))]
