"""Marks of estimates without a meaningful interval: not converged, at a bound, not identified."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Fitted, Policy
from neurogym.behaviour.models.parameters import ModelParameter
from neurogym.behaviour.models.search import Maximum

NOT_CONVERGED, NOT_IDENTIFIED = "not converged", "not identified"
#: Share of the range of a parameter next to an end that counts as the end.
BOUND_MARGIN = 1e-3
#: Largest ratio of standard error and s.d. of the prior, both in the unbounded scale, of an identified parameter.
INFORMED = 0.95
#: Fewest trials for each parameter of a fit that needs no warning.
TRIALS_PER_PARAMETER = 25
#: The same for each weight of a network, whose training stops early.
TRIALS_PER_WEIGHT = 5


def at_bound(parameter: ModelParameter, value: float) -> str:
    """Return a text if a parameter lies at an end of its range, else nothing."""
    if parameter.kind != "unit":
        return ""
    span = parameter.high - parameter.low
    for end in (parameter.low, parameter.high):
        if abs(value - end) < BOUND_MARGIN * span:
            return f"at its bound {end:g}"
    return ""


def marked(
    parameters: Sequence[ModelParameter],
    x: FloatArray,
    se: FloatArray,
    sd: FloatArray | None = None,
    converged: bool = True,
    ends: FloatArray | None = None,
) -> tuple[dict[str, Estimate], dict[str, str]]:
    """Return estimates, without interval where a mark says why, and the marks.

    Args:
        parameters: in the order of the point.
        x: point in the unbounded scale, shape (parameters,).
        se: standard errors in the unbounded scale, shape (parameters,).
        sd: s.d. of the priors of a fit to a single subject; None in hierarchical fits, where a subject may take a
            parameter from the group.
        converged: whether the search ended at a maximum.
        ends: of the intervals in the unbounded scale, shape (2, parameters); None for 1.96 standard errors.
    """
    estimates, marks = {}, {}
    for k, parameter in enumerate(parameters):
        estimate = parameter.estimate(float(x[k]), float(se[k]), None if ends is None else ends[:, k])
        mark = "" if converged else NOT_CONVERGED
        mark = mark or at_bound(parameter, estimate.value)
        if not mark and (not np.isfinite(se[k]) or (sd is not None and se[k] >= INFORMED * sd[k])):
            mark = NOT_IDENTIFIED
        if mark:
            marks[parameter.name] = mark
            estimate = Estimate(estimate.value, np.nan, np.nan, np.nan)
        estimates[parameter.name] = estimate
    return estimates, marks


def fit_at(
    name: str,
    policy: Policy,
    score: float,
    parameters: Sequence[ModelParameter],
    best: Maximum,
    credible: tuple[FloatArray, FloatArray] | None = None,
    sd: FloatArray | None = None,
) -> Fitted:
    """Return a fit with the parameters at the maximum of a posterior.

    Args:
        name: name of the model.
        policy: the fitted behaviour.
        score: log-likelihood of the choices.
        parameters: in the order of the point.
        best: the maximum.
        credible: s.d. (parameters,) and ends (2, parameters) of credible intervals in that scale; None for intervals of
            1.96 standard errors.
        sd: as for `marked`.
    """
    variance = np.maximum(np.diag(best.covariance), 0)
    spread, ends = (np.sqrt(variance), None) if credible is None else credible
    estimates, marks = marked(parameters, best.x, spread, sd, best.converged, ends)
    details = {"unbounded": best.x, "unbounded_variance": variance, "covariance": best.covariance}
    return Fitted(name, policy, estimates, score, details, marks)


def mark_fit(fit: Fitted, trials: int) -> None:
    """Mark what any model leaves without a meaningful interval, and warn of few trials.

    Args:
        fit: fit of any model; estimates without a value or with an interval of no width are not identified.
        trials: number of trials with a choice.
    """
    for name, estimate in fit.parameters.items():
        if not np.isfinite(estimate.value) or estimate.low == estimate.high:
            fit.marks.setdefault(name, NOT_IDENTIFIED)
        if name in fit.marks:
            fit.parameters[name] = Estimate(estimate.value)
    free = len(fit.parameters)
    if free and not any("are advised" in note for note in fit.notes):
        fit.notes.extend(few_trials(trials, free))


def few_trials(trials: int, parameters: int, network: bool = False) -> list[str]:
    """Return a warning if there are few trials for the parameters of a model, or the weights of a network."""
    per, words = (TRIALS_PER_WEIGHT, "weights of a network") if network else (TRIALS_PER_PARAMETER, "parameters")
    if trials >= per * parameters:
        return []
    return [f"{trials:,} trials for {parameters:,} {words}; at least {per * parameters:,} are advised"]
