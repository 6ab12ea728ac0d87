"""Evidence of each trial that drives a response: the logits of a model of choices.

The drift of a diffusion is such a model: its logit is the drift, in proportion to a stimulus or by a formula. For
signed evidence x it is ``k (x - x0)``, as in Palmer, Huk & Shadlen (2005, 10.1167/5.5.1), with k the drift per unit of
evidence (1 / sqrt(s)); without a stimulus the drift is constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Model, Policy, UnfitError, require_two
from neurogym.behaviour.models.formulas import Formula, formula_arrays, stored_formula
from neurogym.behaviour.models.parameters import ModelParameter
from neurogym.behaviour.table import Behaviour, Session
from neurogym.messages.options import option

#: Largest typical drift per s of the prior of weights of evidence.
DRIFT = 10.0


@dataclass(frozen=True)
class Evidence:
    """Evidence of the trials of a table as a function of parameters in the unbounded scale.

    Attributes:
        parameters: of the evidence.
        value: returns, at a point and for ``data``, the evidence (trials, columns) or logits (trials, choices), and the
            log-likelihood of what else the subject did, such as second-stage choices. It can be differentiated by JAX;
            equal functions share compiled code.
        data: of the trials, `widened`.
        policy: returns the model of choices at a point, and the factor on its logits that makes them the evidence.
        formulas: of the evidence, by name.
    """

    parameters: tuple[ModelParameter, ...]
    value: Callable[[Any, Any], tuple[Any, Any]]
    data: Any
    policy: Callable[[FloatArray], tuple[Policy, float]]
    formulas: Mapping[str, Formula] = field(default_factory=dict)


def rounded(n: int) -> int:
    """Return the next power of two, or 1.5 times one: numbers between give the same compiled function."""
    power = 1 << max(n - 1, 0).bit_length()
    return 3 * power // 4 if power >= 4 and n <= 3 * power // 4 else power


def widened(values: np.ndarray, least: int = 256) -> np.ndarray:
    """Return values (trials, ...) with the last repeated up to a size that few shapes share, see `rounded`."""
    size = max(rounded(len(values)), least)
    return np.pad(values, [(0, size - len(values))] + [(0, 0)] * (values.ndim - 1), mode="edge")


def as_columns(logits: Any, columns: int) -> Any:
    """Return logits (..., choices) as evidence: the difference of the second from the first option, or all."""
    return logits[..., 1:2] - logits[..., :1] if columns < logits.shape[-1] else logits


def weight_parameters(names: Sequence[str], matrix: FloatArray, prefix: str = "") -> tuple[ModelParameter, ...]:
    """Return a weight for each predictor, with a prior in units of the predictor's size."""
    size = np.sqrt((matrix**2).mean(0))
    return tuple(
        ModelParameter(f"{prefix}{name}", sd=DRIFT / 2 / max(float(each), 1e-9))
        for name, each in zip(names, size, strict=True)
    )


def linear(x: Any, predictors: Any) -> tuple[Any, float]:
    """Return evidence as a linear function of predictors (trials, columns, parameters), see `Evidence.value`."""
    return predictors @ x, 0.0


def _proportional(x: Any, stimulus: Any) -> tuple[Any, float]:
    return x[0] * (stimulus - x[1]), 0.0


@dataclass(frozen=True)
class DriftPolicy(Policy):
    """Choices by a drift towards the second option.

    Attributes:
        values: k and x0, the constant drift, or the weight of each predictor of the formula.
        formula: of the drift; None for a drift in proportion to the stimulus.
    """

    values: FloatArray
    formula: Formula | None = None

    def logits(self, state: None, stimuli: FloatArray) -> FloatArray:
        """See `Policy.logits`; further columns of a formula have their typical value."""
        if self.formula is not None:
            return _with_first(self.formula.typical(stimuli, {}) @ self.values)
        if len(self.values) == 1:
            return _with_first(np.full(len(stimuli), self.values[0]))
        k, x0 = self.values
        return _with_first(k * (stimuli[:, 0] - x0))

    def logits_of(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """See `Policy.logits_of`."""
        if self.formula is None:
            return [self.logits(None, np.nan_to_num(each.stimuli)) for each in sessions]
        rows = _with_first(self.formula.matrix(sessions) @ self.values)
        return np.split(rows, np.cumsum([len(each) for each in sessions])[:-1])


def _with_first(drift: FloatArray) -> FloatArray:
    """Return the drift as logits of two options, of which the first is 0."""
    return np.stack([np.zeros(len(drift)), drift], 1)


class Drift(Model):
    """Drift of a diffusion between two options, whose parameters are estimated with those of the response.

    Args:
        name: name of the model.
        formula: of trial columns, as in ``coh + coh:block``; None for a drift in proportion to the stimulus.
    """

    takes_prior = True

    def __init__(self, name: str = "ddm", formula: str | None = None):
        self.name, self.formula = name, formula

    def check(self, table: Behaviour) -> None:
        """Refuse tables that do not suit the model.

        Raises:
            UnfitError: if there are other than two choices, or several stimuli without a formula.
        """
        if len(table.choices) > 2:
            raise UnfitError(
                f"{self.name} needs two choices; the table has {len(table.choices)} ({option('--model lba')})"
            )
        require_two(table, self.name)
        if self._formula(table) is None and len(table.stimuli) > 1:
            vary = option(f'--vary "drift={" + ".join(table.stimuli)}"')
            raise UnfitError(
                f"{self.name} needs one stimulus, the evidence; the table has {len(table.stimuli)} "
                f"({option('--stimuli NAME')}, "
                f"{vary}, or {option('--model logistic --times ddm')})"
            )

    def _formula(self, table: Behaviour) -> Formula | None:
        return None if self.formula is None else Formula.of(self.formula, table.sessions, table.stimuli)

    def evidence_of(self, table: Behaviour, columns: int) -> Evidence:
        """See `Model.evidence_of`."""
        formula = self._formula(table)
        if formula is not None:
            matrix = formula.matrix(table.sessions)
            parameters, data = weight_parameters(formula.names, matrix, "drift: "), widened(matrix)[:, None]
            return Evidence(parameters, linear, data, lambda x: (DriftPolicy(x, formula), 1.0), {"drift": formula})
        if not table.stimuli:
            parameters, data = (ModelParameter("drift", sd=DRIFT / 2),), widened(np.ones((table.n_trials, 1, 1)))
            return Evidence(parameters, linear, data, lambda x: (DriftPolicy(x), 1.0))
        stimulus = np.nan_to_num(table.join("stimuli"))[:, :1]
        size = float(np.median(np.abs(stimulus[stimulus != 0]))) if stimulus.any() else 1.0
        parameters = (ModelParameter("k", sd=DRIFT / size), ModelParameter("x0", sd=size))
        return Evidence(parameters, _proportional, widened(stimulus), lambda x: (DriftPolicy(x), 1.0))

    def remarks(self, table: Behaviour, values: Mapping[str, float]) -> list[str]:
        """See `Model.remarks`: a negative drift per unit of evidence."""
        if not table.stimuli or values.get("k", 0.0) >= 0:
            return []
        return [f"k is negative: {table.stimuli[0]} is evidence for choice '{table.choices[0]}'"]

    def to_arrays(self, policy: Any) -> dict[str, np.ndarray]:
        """See `Model.to_arrays`."""
        return {"values": policy.values, **formula_arrays({"drift": policy.formula} if policy.formula else {})}

    def from_arrays(self, arrays: Mapping[str, np.ndarray], table: Behaviour) -> DriftPolicy:
        """See `Model.from_arrays`."""
        formula = None if self.formula is None else stored_formula(self.formula, "drift", arrays, table.stimuli)
        return DriftPolicy(arrays["values"], formula)
