"""Drift as a linear function of predictors: of a formula, or of stimuli and history as in logistic regression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import ParallelTrials
from neurogym.behaviour.models.evidence import DRIFT, EvidencePolicy, Slope
from neurogym.behaviour.models.formulas import Formula
from neurogym.behaviour.models.logistic import Features
from neurogym.behaviour.models.parameters import ModelParameter
from neurogym.behaviour.table import Behaviour, Session


def _weights(names: Sequence[str], matrix: FloatArray, prefix: str) -> tuple[ModelParameter, ...]:
    """Return a weight for each predictor, with a prior in units of the predictor's size."""
    size = np.sqrt((matrix**2).mean(0))
    return tuple(
        ModelParameter(f"{prefix}{name}", sd=DRIFT / 2 / max(float(each), 1e-9))
        for name, each in zip(names, size, strict=True)
    )


@dataclass(frozen=True)
class FormulaPolicy:
    """Drift by a formula.

    Attributes:
        formula: of the predictors.
        weights: of each predictor.
    """

    formula: Formula
    weights: FloatArray

    def of_sessions(self, sessions: Sequence[Session]) -> FloatArray:
        """Return the drift of all trials of sessions, shape (trials, 1)."""
        return self.formula.matrix(sessions) @ self.weights[:, None]

    def begin(self, n: int) -> int:
        """See `EvidencePolicy.begin`."""
        return n

    def evidence(self, state: int, stimuli: FloatArray) -> FloatArray:
        """See `EvidencePolicy.evidence`; further columns have their typical value."""
        return np.asarray(self.formula.typical(stimuli, {}) @ self.weights[:, None])

    def advance(self, state: int, trial: ParallelTrials) -> int:
        """See `EvidencePolicy.advance`."""
        return state


@dataclass
class FeaturePolicy:
    """Evidence by stimuli and history.

    Attributes:
        features: predictors of a trial.
        weights: of each predictor, shape (predictors, columns).
    """

    features: Features
    weights: FloatArray

    def begin(self, n: int) -> FloatArray:
        """See `EvidencePolicy.begin`."""
        return self.features.begin(n)

    def evidence(self, state: FloatArray, stimuli: FloatArray) -> FloatArray:
        """See `EvidencePolicy.evidence`."""
        return self.features.now(state, stimuli) @ self.weights

    def advance(self, state: FloatArray, trial: ParallelTrials) -> FloatArray:
        """See `EvidencePolicy.advance`."""
        return self.features.after(state, trial)


@dataclass(frozen=True)
class LinearEvidence:
    """Evidence of each trial as a linear function of predictors.

    Attributes:
        parameters: a weight of each predictor, for each column of the evidence that depends on any.
        predictors: shape (trials, columns, parameters).
        policy: the evidence from trial to trial, given the weights.
    """

    parameters: tuple[ModelParameter, ...]
    predictors: FloatArray
    policy: Callable[[FloatArray], EvidencePolicy]

    def slope(self, x: FloatArray) -> Slope:
        """See `Evidence.slope`."""
        return Slope(self.predictors @ x, self.predictors, 0.0, np.zeros(len(x)))


def formula_evidence(formula: Formula, table: Behaviour) -> LinearEvidence:
    """Return the drift of each trial by a formula."""
    matrix = formula.matrix(table.sessions)
    parameters = _weights(formula.names, matrix, "drift: ")
    return LinearEvidence(parameters, matrix[:, None], lambda x: FormulaPolicy(formula, x))


def feature_evidence(features: Features, table: Behaviour, columns: int) -> LinearEvidence:
    """Return the evidence of each trial by stimuli and history; that of the first of several options is 0.

    Args:
        features: predictors of a trial.
        table: sessions of the fit.
        columns: 1 for the difference of two options, or the number of options.
    """
    matrix = np.concatenate([features.matrix(each) for each in table.sessions])
    words = [""] if columns == 1 else [f" -> {word}" for word in table.choices[1:]]
    weights, size = _weights(features.names, matrix, ""), matrix.shape[1]
    parameters = tuple(replace(each, name=f"{each.name}{word}") for word in words for each in weights)
    predictors = np.zeros((len(matrix), columns, len(parameters)))
    for k in range(len(words)):
        predictors[:, k + (columns > 1), k * size : (k + 1) * size] = matrix

    def policy(x: FloatArray) -> FeaturePolicy:
        each = x.reshape(-1, size).T
        return FeaturePolicy(features, each if columns == 1 else np.pad(each, ((0, 0), (1, 0))))

    return LinearEvidence(parameters, predictors, policy)
