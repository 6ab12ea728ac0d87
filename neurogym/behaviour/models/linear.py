"""Evidence as a linear function of predictors, such as those of a formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.evidence import DRIFT, EvidencePolicy, Slope
from neurogym.behaviour.models.formulas import Formula
from neurogym.behaviour.models.parameters import ModelParameter
from neurogym.behaviour.table import Behaviour, Session


def weight_parameters(names: Sequence[str], matrix: FloatArray, prefix: str) -> tuple[ModelParameter, ...]:
    """Return a weight for each predictor, with a prior in units of the predictor's size."""
    size = np.sqrt((matrix**2).mean(0))
    return tuple(
        ModelParameter(f"{prefix}{name}", sd=DRIFT / 2 / max(float(each), 1e-9))
        for name, each in zip(names, size, strict=True)
    )


@dataclass(frozen=True)
class FormulaPolicy(EvidencePolicy):
    """Drift by a formula.

    Attributes:
        formula: of the predictors.
        values: weight of each predictor.
    """

    formula: Formula
    values: FloatArray

    @property
    def formulas(self) -> dict[str, Formula]:
        """See `EvidencePolicy.formulas`."""
        return {"drift": self.formula}

    def of_sessions(self, sessions: Sequence[Session]) -> FloatArray:
        """Return the drift of all trials of sessions, shape (trials, 1)."""
        return self.formula.matrix(sessions) @ self.values[:, None]

    def evidence(self, state: int, stimuli: FloatArray) -> FloatArray:
        """See `EvidencePolicy.evidence`; further columns have their typical value."""
        return np.asarray(self.formula.typical(stimuli, {}) @ self.values[:, None])


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
    parameters = weight_parameters(formula.names, matrix, "drift: ")
    return LinearEvidence(parameters, matrix[:, None], lambda x: FormulaPolicy(formula, x))
