"""Drift diffusion to two bounds, fitted to the choice and the time of every trial.

For signed evidence x the drift is ``k (x - x0)``, as in Palmer, Huk & Shadlen (2005, 10.1167/5.5.1), with k the drift
per unit of evidence (1 / sqrt(s)), A the bound (sqrt(s)) and t_R the time outside the decision (s); without a stimulus
the drift is constant. `neurogym.behaviour.models.responses` explains the other parameters and the likelihood.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Fitted, OneByOne, Problem, UnfitError, require_two
from neurogym.behaviour.models.collapsing import CollapsingResponse
from neurogym.behaviour.models.evidence import EvidencePolicy, ProportionalEvidence, ProportionalPolicy
from neurogym.behaviour.models.formulas import Formula
from neurogym.behaviour.models.linear import FormulaEvidence, FormulaPolicy
from neurogym.behaviour.models.marks import few_trials, marked
from neurogym.behaviour.models.responses import DiffusionResponse, Response
from neurogym.behaviour.models.timed import Maximum, ResponseParameters, TimedPolicy, TimedPosterior, maximise
from neurogym.behaviour.models.times import FASTEST, TimeSettings, time_settings, without_codes
from neurogym.behaviour.table import Behaviour

#: Fewest reaction times of a fit.
FEWEST = 20


def require_times(table: Behaviour, name: str) -> None:
    """Refuse tables with too few reaction times.

    Raises:
        UnfitError: if there are fewer than 20.
    """
    rt = without_codes(table.join("rt"))[0]
    if ((table.join("choice") >= 0) & np.isfinite(rt)).sum() < FEWEST:
        raise UnfitError(f"{name} needs reaction times (--rt COLUMN)")


def diffusion_response(
    start: bool = True,
    lapse: float = -1.0,
    drift_sd: bool = False,
    start_range: bool = False,
    time_range: bool = False,
    collapse: str = "none",
) -> DiffusionResponse | CollapsingResponse:
    """Return a diffusion whose free parameters are chosen.

    Args:
        start: whether the starting point is estimated; otherwise it is midway between the bounds.
        lapse: share of contaminants, 0 to 0.5; negative to estimate it.
        drift_sd: whether the drift varies over trials.
        start_range: whether the starting point varies over trials.
        time_range: whether the non-decision time varies over trials.
        collapse: form of bounds that collapse, "exponential", "hyperbolic" (urgency) or "linear"; "none" for constant
            bounds.

    Raises:
        UnfitError: for collapsing bounds with a range of starting points or of non-decision times.
    """
    constants = {} if lapse < 0 else {"lapse": lapse}
    free = {"z": start, "eta": drift_sd, "sz": start_range, "st": time_range}
    fixed = {"z": 0.5, "eta": 0.0, "sz": 0.0, "st": 0.0}
    constants |= {name: fixed[name] for name, is_free in free.items() if not is_free}
    if collapse == "none":
        return DiffusionResponse(constants)
    if start_range or time_range:
        raise UnfitError("collapsing bounds exclude start_range and time_range")
    return CollapsingResponse(collapse, {name: constants[name] for name in constants if name not in ("sz", "st")})


def timed_fit(
    name: str, problem: Problem, posterior: TimedPosterior, notes: Sequence[str] = ()
) -> tuple[Fitted, Maximum]:
    """Return a fit of choices and times.

    Args:
        name: name of the model.
        problem: the sessions, and the start and prior of a hierarchical fit.
        posterior: of the parameters given these sessions.
        notes: about the reading of the trials.
    """
    sessions, evidence, response = problem.table.sessions, posterior.evidence, posterior.response
    best = maximise(posterior, problem.start)
    se = np.sqrt(np.diag(best.covariance))
    estimates, marks = marked(
        posterior.parameters, best.x, se, None if problem.prior is not None else posterior.sd, best.converged
    )
    split = len(evidence.parameters)
    policy = TimedPolicy(evidence.policy(best.x[:split]), response, best.x[split:], posterior.trials.settings)
    value, _ = posterior.log_likelihood(best.x)
    few = few_trials(int(posterior.trials.timed.sum()), len(best.x))
    details = {"unbounded": best.x, "unbounded_variance": se**2, "covariance": best.covariance, "joint": value}
    fit = Fitted(name, policy, estimates, 0.0, details, marks, [*notes, *few])
    p = np.concatenate(policy.predict(sessions))
    choice = problem.table.join("choice")
    scored = choice >= 0
    fit.score = float(np.log(np.clip(p[scored, choice[scored]], 1e-12, 1)).sum())
    return fit, best


#: Names of parameters in ``--vary``, with those of the model.
VARIED = {
    "drift": "drift", "bound": "A", "non_decision": "t_R", "start": "z", "lapse": "lapse", "drift_sd": "eta",
    "start_range": "sz", "collapse": "c", "time_range": "st",
}  # fmt: skip


def varied(vary: Mapping[str, str], response: Response, table: Behaviour) -> dict[str, Formula]:
    """Return the formula of each parameter that varies with columns of a table.

    Args:
        vary: formula of each parameter, by its name here or in ``--vary``.
        response: the response.
        table: sessions of the fit.

    Raises:
        UnfitError: for a parameter that does not exist or is fixed, or a formula that cannot be evaluated.
    """
    free = {"drift", *(each.name for each in response.parameters)}
    words = {**{name: name for name in VARIED.values()}, **VARIED}
    formulas = {}
    for name, text in vary.items():
        if words.get(name) not in free:
            offered = [word for word, target in VARIED.items() if target in free]
            raise UnfitError(f"--vary: parameter '{name}' is not estimated; expected {', '.join(offered)}")
        formulas[words[name]] = Formula.of(text, table.sessions, table.stimuli)
    return formulas


def formula_arrays(formulas: Mapping[str, Formula]) -> dict[str, np.ndarray]:
    """Return the training columns of formulas as arrays by name."""
    arrays = {}
    for name, each in formulas.items():
        for column, values in each.training.items():
            arrays[f"vary.{name}.{column}"] = values if values.dtype.kind in "biuf" else values.astype(str)
    return arrays


def formulas_from(vary: Mapping[str, str], arrays: Mapping[str, np.ndarray], table: Behaviour) -> dict[str, Formula]:
    """Return the formulas of `formula_arrays`."""
    words = {**{name: name for name in VARIED.values()}, **VARIED}
    formulas = {}
    for name, text in vary.items():
        prefix = f"vary.{words[name]}."
        columns = {key.removeprefix(prefix): each for key, each in arrays.items() if key.startswith(prefix)}
        formulas[words[name]] = Formula(text, columns, table.stimuli)
    return formulas


class Diffusion(OneByOne):
    """Drift diffusion fitted to choices and reaction times.

    Args:
        name: name of the model.
        deadline: time in s after which a trial without an answer ended, so that omissions count; 0 for none.
        fastest: answers faster than this (s) are left out as anticipations.
        vary: formula of trial columns for each parameter that varies, as in ``{"drift": "coh + coh:block"}``.
        **response: free parameters of the response, see `diffusion_response`.
    """

    takes_prior = True

    def __init__(
        self,
        name: str = "ddm",
        deadline: float = 0.0,
        fastest: float = FASTEST,
        vary: Mapping[str, str] | None = None,
        **response: Any,
    ):
        self.name, self.deadline, self.fastest, self.vary = name, deadline, fastest, dict(vary or {})
        self.response: Response = diffusion_response(**response)

    def check(self, table: Behaviour) -> None:
        """Refuse tables that do not suit the model.

        Raises:
            UnfitError: if there are other than two choices, several stimuli, or fewer than 20 reaction times.
        """
        require_two(table, self.name)
        require_times(table, self.name)
        if "drift" not in varied(self.vary, self.response, table) and len(table.stimuli) > 1:
            raise UnfitError(
                f"{self.name} needs one stimulus, the evidence; the table has {len(table.stimuli)} (--stimuli NAME, "
                f'--vary "drift={" + ".join(table.stimuli)}", or --model logistic --times ddm)'
            )

    def posterior(self, problem: Problem) -> TimedPosterior:
        """Return the log-posterior of the parameters given the sessions of a problem."""
        table = problem.table
        settings, _ = time_settings(table.sessions, self.deadline, self.fastest)
        formulas = varied(self.vary, self.response, table)
        drift = formulas.pop("drift", None)
        evidence = ProportionalEvidence(table) if drift is None else FormulaEvidence(drift, table)
        parameters = ResponseParameters(self.response, formulas)
        return TimedPosterior(evidence, parameters, table.sessions, settings, problem.prior)

    def _fit(self, problem: Problem) -> Fitted:
        table = problem.table
        _, notes = time_settings(table.sessions, self.deadline, self.fastest)
        fit, best = timed_fit(self.name, problem, self.posterior(problem), notes)
        if table.stimuli and "k" in fit.parameters and best.x[0] < 0:
            fit.notes.append(f"k is negative: {table.stimuli[0]} is evidence for choice '{table.choices[0]}'")
        return fit

    def to_arrays(self, policy: Any) -> dict[str, np.ndarray]:
        """See `Model.to_arrays`."""
        inner, formulas = policy.inner, dict(policy.response.predictors)
        if isinstance(inner, FormulaPolicy):
            formulas["drift"] = inner.formula
        return {
            "values": inner.weights if isinstance(inner, FormulaPolicy) else inner.values,
            "x": policy.x,
            "settings": settings_array(policy.settings),
            **formula_arrays(formulas),
        }

    def from_arrays(self, arrays: Mapping[str, np.ndarray], table: Behaviour) -> TimedPolicy:
        """See `Model.from_arrays`."""
        values = arrays["values"]
        inner: EvidencePolicy
        if "x" not in arrays:  # a fit of an earlier version: k, A, t_R and x0 with neither lapses nor starting point
            response = diffusion_response(start=False, lapse=0.0)
            inner, x = ProportionalPolicy(values[[0, 3]]), np.log(np.maximum(values[1:3], 1e-9))
            return TimedPolicy(inner, ResponseParameters(response), x, TimeSettings())
        formulas = formulas_from(self.vary, arrays, table)
        drift = formulas.pop("drift", None)
        inner = ProportionalPolicy(values) if drift is None else FormulaPolicy(drift, values)
        response_parameters = ResponseParameters(self.response, formulas)
        return TimedPolicy(inner, response_parameters, arrays["x"], settings_from(arrays["settings"]))


def settings_array(settings: TimeSettings) -> FloatArray:
    """Return the settings of the recording as an array."""
    return np.array([settings.deadline, settings.fastest, settings.longest, settings.withheld], float)


def settings_from(values: FloatArray) -> TimeSettings:
    """Return the settings of the recording from `settings_array`."""
    deadline, fastest, longest, withheld = values.tolist()
    return TimeSettings(deadline, fastest, longest, int(withheld))
