"""Drift diffusion to two bounds, fitted to the choice and the time of every trial.

For signed evidence x the drift is ``k (x - x0)``, as in Palmer, Huk & Shadlen (2005, 10.1167/5.5.1), with k the drift
per unit of evidence (1 / sqrt(s)), A the bound (sqrt(s)) and t_R the time outside the decision (s); without a stimulus
the drift is constant. `neurogym.behaviour.models.responses` explains the other parameters and the likelihood.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from neurogym.behaviour.models.base import Fitted, OneByOne, Problem, UnfitError, require_two
from neurogym.behaviour.models.collapsing import CollapsingResponse
from neurogym.behaviour.models.evidence import Evidence, EvidencePolicy, ProportionalEvidence, ProportionalPolicy
from neurogym.behaviour.models.formulas import Formula
from neurogym.behaviour.models.linear import FormulaPolicy, formula_evidence
from neurogym.behaviour.models.marks import few_trials, marked
from neurogym.behaviour.models.parameters import Prior
from neurogym.behaviour.models.responses import DiffusionResponse, Response
from neurogym.behaviour.models.time_options import (
    TimeOptions,
    fixed_evidence,
    formula_arrays,
    settings_array,
    settings_from,
)
from neurogym.behaviour.models.timed import ResponseParameters, TimedPolicy, TimedPosterior, maximise
from neurogym.behaviour.models.times import FASTEST, TimeSettings, without_codes
from neurogym.behaviour.table import Behaviour
from neurogym.messages.options import option

#: Fewest reaction times of a fit.
FEWEST = 20


def require_times(table: Behaviour, name: str) -> None:
    """Refuse tables with too few reaction times.

    Raises:
        UnfitError: if there are fewer than 20.
    """
    rt = without_codes(table.join("rt"))[0]
    if ((table.join("choice") >= 0) & np.isfinite(rt)).sum() < FEWEST:
        raise UnfitError(f"{name} needs reaction times ({option('--rt COLUMN')})")


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
        collapse: form of bounds that collapse, "exponential", "hyperbolic" (also "urgency", which is the same) or
            "linear"; "none" for constant bounds.

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
    form = "hyperbolic" if collapse == "urgency" else collapse
    return CollapsingResponse(form, {name: constants[name] for name in constants if name not in ("sz", "st")})


def timed_fit(
    name: str, problem: Problem, posterior: TimedPosterior, notes: Sequence[str] = (), samples: bool = False
) -> Fitted:
    """Return a fit of choices and times.

    Args:
        name: name of the model.
        problem: the sessions, and the start and prior of a hierarchical fit.
        posterior: of the parameters given these sessions.
        notes: about the reading of the trials.
        samples: whether intervals are credible intervals from weighted samples; else 1.96 standard errors.
    """
    sessions = problem.table.sessions
    best = maximise(posterior, problem.start)
    variance = np.diag(best.covariance)
    sd, ends = np.sqrt(variance), None
    if samples and problem.intervals:
        found = posterior.credible(best, problem.seed)
        if found.valid[0]:
            sd, ends = found.sd[0], np.stack([found.low[0], found.high[0]])
    prior = None if problem.prior is not None else posterior.sd
    estimates, marks = marked(posterior.parameters, best.x, sd, prior, best.converged, ends)
    policy = posterior.policy(best.x)
    value, _ = posterior.log_likelihood(best.x)
    formulas = {**policy.inner.formulas, **policy.response.predictors}
    constant = dict.fromkeys(name for each in formulas.values() for name in each.without_effect)
    notes = [*notes, *(f"column '{name}' has a single value and no effect" for name in constant)]
    few = few_trials(int(posterior.trials.timed.sum()), len(best.x))
    details = {"unbounded": best.x, "unbounded_variance": variance, "covariance": best.covariance, "joint": value}
    fit = Fitted(name, policy, estimates, 0.0, details, marks, [*notes, *few])
    p = np.concatenate(policy.predict(sessions))
    choice = problem.table.join("scored_choice")
    scored = choice >= 0
    fit.score = float(np.log(np.clip(p[scored, choice[scored]], 1e-12, 1)).sum())
    return fit


class Diffusion(OneByOne):
    """Drift diffusion fitted to choices and reaction times.

    Args:
        name: name of the model.
        deadline: time in s after which a trial without an answer ended, so that omissions count; 0 for none.
        fastest: answers faster than this (s) are left out as anticipations.
        contaminants: distribution of the times of contaminants, "uniform" or "exponential".
        vary: formula of trial columns for each parameter that varies, as in ``{"drift": "coh + coh:block"}``.
        fix: value of each parameter that is fixed, as in ``{"lapse": 0}``.
        **response: free parameters of the response, see `diffusion_response`.
    """

    takes_prior = True
    has_times = True

    def __init__(
        self,
        name: str = "ddm",
        deadline: float = 0.0,
        fastest: float = FASTEST,
        contaminants: str = "uniform",
        vary: Mapping[str, str] | None = None,
        fix: Mapping[str, float] | None = None,
        **response: Any,
    ):
        self.name = name
        self.priors: Mapping[str, Prior] = {}
        self.options = TimeOptions(deadline, fastest, contaminants, dict(vary or {}), dict(fix or {}))
        self.response: Response = self.options.simplified(diffusion_response(**response))

    def fixable(self, table: Behaviour) -> list[str]:
        """Return the names of parameters that may be fixed."""
        return self.options.names(
            self.response, self._evidence(table, self.options.formulas(self.response, table)).parameters
        )

    def check(self, table: Behaviour) -> None:
        """Refuse tables that do not suit the model.

        Raises:
            UnfitError: if there are other than two choices, several stimuli, or fewer than 20 reaction times.
        """
        if len(table.choices) > 2:
            raise UnfitError(
                f"{self.name} needs two choices; the table has {len(table.choices)} ({option('--model lba')})"
            )
        require_two(table, self.name)
        require_times(table, self.name)
        if "drift" not in self.options.formulas(self.response, table) and len(table.stimuli) > 1:
            vary = option(f'--vary "drift={" + ".join(table.stimuli)}"')
            raise UnfitError(
                f"{self.name} needs one stimulus, the evidence; the table has {len(table.stimuli)} "
                f"({option('--stimuli NAME')}, "
                f"{vary}, or {option('--model logistic --times ddm')})"
            )

    def posterior(self, problem: Problem) -> TimedPosterior:
        """Return the log-posterior of the parameters given the sessions of a problem."""
        table = problem.table
        settings, _ = self.options.settings(table.sessions)
        formulas = self.options.formulas(self.response, table)
        evidence = fixed_evidence(self._evidence(table, formulas), self.options.fix)
        formulas.pop("drift", None)
        parameters = ResponseParameters(self.response, formulas)
        return TimedPosterior(evidence, parameters, table.sessions, settings, problem.prior, self.priors)

    def _evidence(self, table: Behaviour, formulas: Mapping[str, Formula]) -> Evidence:
        drift = formulas.get("drift")
        return ProportionalEvidence(table) if drift is None else formula_evidence(drift, table)

    def _fit(self, problem: Problem) -> Fitted:
        table = problem.table
        _, notes = self.options.settings(table.sessions)
        fit = timed_fit(self.name, problem, self.posterior(problem), notes)
        if table.stimuli and "k" in fit.parameters and fit.parameters["k"].value < 0:
            fit.notes.append(f"k is negative: {table.stimuli[0]} is evidence for choice '{table.choices[0]}'")
        return fit

    def to_arrays(self, policy: Any) -> dict[str, np.ndarray]:
        """See `Model.to_arrays`."""
        return {
            "values": policy.inner.values,
            "x": policy.x,
            "settings": settings_array(policy.settings),
            **formula_arrays({**policy.response.predictors, **policy.inner.formulas}),
        }

    def from_arrays(self, arrays: Mapping[str, np.ndarray], table: Behaviour) -> TimedPolicy:
        """See `Model.from_arrays`."""
        values = arrays["values"]
        inner: EvidencePolicy
        if "x" not in arrays:  # a fit of an earlier version: k, A, t_R and x0 with neither lapses nor starting point
            response = diffusion_response(start=False, lapse=0.0)
            inner, x = ProportionalPolicy(values[[0, 3]]), np.log(np.maximum(values[1:3], 1e-9))
            return TimedPolicy(inner, ResponseParameters(response), x, TimeSettings())
        formulas = self.options.stored_formulas(self.response, arrays, table)
        drift = formulas.pop("drift", None)
        inner = ProportionalPolicy(values) if drift is None else FormulaPolicy(drift, values)
        response_parameters = ResponseParameters(self.response, formulas)
        return TimedPolicy(inner, response_parameters, arrays["x"], settings_from(arrays["settings"]))
