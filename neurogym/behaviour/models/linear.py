"""Drift as a linear function of predictors: of a formula, or of stimuli and history as in logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import ParallelTrials
from neurogym.behaviour.models.evidence import DRIFT, Slope
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


@dataclass(frozen=True)
class FormulaEvidence:
    """Drift of each trial by a formula.

    Attributes:
        formula: of the predictors.
        table: sessions of the fit.
    """

    formula: Formula
    table: Behaviour
    matrix: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        """Make the predictors."""
        object.__setattr__(self, "matrix", self.formula.matrix(self.table.sessions))

    @property
    def parameters(self) -> tuple[ModelParameter, ...]:
        """See `Evidence.parameters`."""
        return _weights(self.formula.names, self.matrix, "drift: ")

    def slope(self, x: FloatArray) -> Slope:
        """See `Evidence.slope`."""
        return Slope((self.matrix @ x)[:, None], self.matrix[:, None], 0.0, np.zeros(len(x)))

    def policy(self, x: FloatArray) -> FormulaPolicy:
        """See `Evidence.policy`."""
        return FormulaPolicy(self.formula, x)


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


class FeatureEvidence:
    """Evidence of each trial by stimuli and history; that of the first of several options is 0.

    Args:
        features: predictors of a trial.
        table: sessions of the fit.
        columns: 1 for the difference of two options, or the number of options.
    """

    def __init__(self, features: Features, table: Behaviour, columns: int):
        self.features, self.columns = features, columns
        self.matrix = np.concatenate([features.matrix(each) for each in table.sessions])
        words = [""] if columns == 1 else [f" -> {word}" for word in table.choices[1:]]
        self.parameters = tuple(
            replace(each, name=f"{each.name}{word}")
            for word in words
            for each in _weights(features.names, self.matrix, "")
        )
        blocks = np.zeros((len(self.matrix), columns, len(self.parameters)))
        size = self.matrix.shape[1]
        for k in range(len(words)):
            blocks[:, k + (columns > 1), k * size : (k + 1) * size] = self.matrix
        self._blocks = blocks

    def slope(self, x: FloatArray) -> Slope:
        """See `Evidence.slope`."""
        return Slope(self._blocks @ x, self._blocks, 0.0, np.zeros(len(x)))

    def policy(self, x: FloatArray) -> FeaturePolicy:
        """See `Evidence.policy`."""
        weights = x.reshape(-1, self.matrix.shape[1]).T
        return FeaturePolicy(self.features, weights if self.columns == 1 else np.pad(weights, ((0, 0), (1, 0))))
