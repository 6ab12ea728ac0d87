"""Evidence of each trial that drives a response: the logits of a model of choices, with derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Policy, each_subject
from neurogym.behaviour.models.formulas import Formula
from neurogym.behaviour.models.parameters import ModelParameter
from neurogym.behaviour.table import Behaviour

#: Largest typical drift per s of the prior of weights of evidence.
DRIFT = 10.0
#: Drift per s of a logit of 1, for models that were fitted to the choices before.
FACTOR = ModelParameter("drift per logit", "positive", 0.0, 1.0)


class Slope(NamedTuple):
    """Evidence with derivatives.

    Attributes:
        value: shape (trials, columns).
        jacobian: derivative by each parameter in the unbounded scale, shape (trials, columns, parameters).
        extra: log-likelihood of what else the subject did, such as second-stage choices.
        extra_slope: its derivatives, shape (parameters,).
    """

    value: FloatArray
    jacobian: FloatArray
    extra: float
    extra_slope: FloatArray


@dataclass(frozen=True)
class Evidence:
    """Evidence of the trials of a table as a function of parameters in the unbounded scale.

    Attributes:
        parameters: of the evidence.
        slope: returns the evidence of all trials at a point, with derivatives.
        policy: returns the model of choices at a point, and the factor on its logits that makes them the evidence.
        formulas: of the evidence, by name.
    """

    parameters: tuple[ModelParameter, ...]
    slope: Callable[[FloatArray], Slope]
    policy: Callable[[FloatArray], tuple[Policy, float]]
    formulas: Mapping[str, Formula] = field(default_factory=dict)


def as_columns(logits: FloatArray, columns: int) -> FloatArray:
    """Return logits (..., choices) as evidence: the difference of the second from the first option, or all."""
    return logits[..., 1:2] - logits[..., :1] if columns == 1 else logits


def weight_parameters(names: Sequence[str], matrix: FloatArray, prefix: str = "") -> tuple[ModelParameter, ...]:
    """Return a weight for each predictor, with a prior in units of the predictor's size."""
    size = np.sqrt((matrix**2).mean(0))
    return tuple(
        ModelParameter(f"{prefix}{name}", sd=DRIFT / 2 / max(float(each), 1e-9))
        for name, each in zip(names, size, strict=True)
    )


def linear_slope(predictors: FloatArray) -> Callable[[FloatArray], Slope]:
    """Return evidence as a linear function of predictors (trials, columns, parameters)."""
    return lambda x: Slope(predictors @ x, predictors, 0.0, np.zeros(len(x)))


def known_evidence(policy: Policy, table: Behaviour, columns: int) -> Evidence:
    """Return the logits of a model that was fitted before, times a factor that is estimated with the times.

    Args:
        policy: the fitted model.
        table: sessions of the fit.
        columns: 1 for the difference of two options, or the number of options.
    """
    rows = each_subject(policy, table.sessions, lambda own, sessions: own.logits_of(sessions))
    logits = as_columns(np.concatenate(rows), columns)

    def slope(x: FloatArray) -> Slope:
        value = float(np.exp(x[0])) * logits
        return Slope(value, value[..., None], 0.0, np.zeros(1))

    return Evidence((FACTOR,), slope, lambda x: (policy, float(np.exp(x[0]))))


def fixed_evidence(evidence: Evidence, fix: Mapping[str, float]) -> Evidence:
    """Return evidence of which some parameters are fixed.

    Args:
        evidence: evidence with all parameters.
        fix: value of each parameter that is fixed, by name; other names are ignored.
    """
    free = np.array([each.name not in fix for each in evidence.parameters], bool)
    if free.all():
        return evidence
    point = np.zeros(len(free))
    for k in np.flatnonzero(~free):
        each = evidence.parameters[k]
        point[k] = each.unbounded(each.checked(fix[each.name]))

    def complete(x: FloatArray) -> FloatArray:
        every = point.copy()
        every[free] = x
        return every

    def slope(x: FloatArray) -> Slope:
        each = evidence.slope(complete(x))
        return Slope(each.value, each.jacobian[..., free], each.extra, each.extra_slope[free])

    parameters = tuple(evidence.parameters[k] for k in np.flatnonzero(free))
    return replace(evidence, parameters=parameters, slope=slope, policy=lambda x: evidence.policy(complete(x)))
