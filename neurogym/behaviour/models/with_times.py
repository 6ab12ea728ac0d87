"""A model of choices whose logit drives a diffusion or a race: choices and times by one model.

The parameters of learners and logistic regressions are estimated together with those of the response (Pedersen, Frank &
Biele 2017, 10.3758/s13423-016-1199-y; Fontanesi et al. 2019, 10.3758/s13423-018-1554-2). Models whose parameters are
found otherwise (hidden states, drifting weights, networks) are fitted to the choices first; their logit, times a factor
that is estimated with the response, is the evidence. Networks are then trained further, on choices and times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.ballistic import BallisticResponse
from neurogym.behaviour.models.base import EvidenceLikelihood, Fitted, Model, Policy, Problem, UnfitError
from neurogym.behaviour.models.diffusion import diffusion_response, require_times, timed_fit
from neurogym.behaviour.models.evidence import Evidence, LogitEvidence, LogitPolicy, as_columns
from neurogym.behaviour.models.formulas import Formula
from neurogym.behaviour.models.logistic import Logistic
from neurogym.behaviour.models.parameters import Prior
from neurogym.behaviour.models.responses import Response
from neurogym.behaviour.models.time_options import (
    STATE,
    TimeOptions,
    fixed_evidence,
    formula_arrays,
    settings_array,
    settings_from,
)
from neurogym.behaviour.models.timed import ResponseParameters, TimedPolicy, TimedPosterior
from neurogym.behaviour.models.times import FASTEST
from neurogym.behaviour.table import Behaviour
from neurogym.messages.options import option

RESPONSES = ("ddm", "lba")
#: Times that networks are trained on choices and times, and the response is estimated anew.
ROUNDS = 2


def race(name: str = "lba", **options: Any) -> TimedModel:
    """Return linear ballistic accumulators whose rates depend on the stimuli.

    Args:
        name: name of the model.
        **options: further arguments of `TimedModel`.
    """
    return TimedModel(Logistic(0, name=name), "lba", **options)


class TimedModel(Model):
    """A model of choices with a response that takes time.

    Args:
        model: the model of choices.
        times: "ddm" (two options) or "lba" (two or more).
        deadline: time in s after which a trial without an answer ended; 0 for none.
        fastest: answers faster than this (s) are left out as anticipations.
        contaminants: distribution of the times of contaminants, "uniform" or "exponential".
        vary: formula of trial columns for each parameter of the response that varies; ``state`` stands for the
            probabilities of the hidden states of the model before the trial.
        fix: value of each parameter that is fixed, as in ``{"lapse": 0}``.
        **response: of a diffusion, see `diffusion_response`; of a race, ``lapse`` alone.

    Raises:
        UnfitError: for an argument that the response does not have.
    """

    has_times = True

    def __init__(
        self,
        model: Model,
        times: str = "ddm",
        deadline: float = 0.0,
        fastest: float = FASTEST,
        contaminants: str = "uniform",
        vary: Mapping[str, str] | None = None,
        fix: Mapping[str, float] | None = None,
        **response: Any,
    ):
        self.model, self.times, self.name, self.response_options = model, times, model.name, response
        self.options = TimeOptions(deadline, fastest, contaminants, dict(vary or {}), dict(fix or {}))
        self.states = model.states
        self.takes_prior = model.takes_prior  # all parameters are estimated together
        self.priors: Mapping[str, Prior] = {}
        unfit = [name for name in response if name != "lapse"] if times == "lba" else []
        if unfit:
            raise UnfitError(f"{unfit[0]} requires the diffusion model (times=ddm); a race (lba) does not have it")

    def check(self, table: Behaviour) -> None:
        """Refuse tables that do not suit the model.

        Raises:
            UnfitError: if there are too few reaction times, or a diffusion is to choose among more than two options.
        """
        self.model.check(table)
        if self.model.sees_cue:
            raise UnfitError(f"{self.name} is a model of choices alone; {option('--times')} takes other models")
        require_times(table, f"{self.name} with times")
        if self.times == "ddm" and len(table.choices) != 2:
            raise UnfitError(
                f"{option('--times ddm')} needs two choices; the table has {len(table.choices)} "
                f"({option('--times lba')})"
            )
        self._formulas(self._with_states(table, None))

    def response(self, table: Behaviour) -> Response:
        """Return the response for the options of a table."""
        if self.times == "lba":
            lapse = self.response_options.get("lapse", -1.0)
            return self.options.simplified(BallisticResponse(len(table.choices), {} if lapse < 0 else {"lapse": lapse}))
        return self.options.simplified(diffusion_response(**self.response_options))

    def fixable(self, table: Behaviour) -> list[str]:
        """Return the names of parameters that may be fixed."""
        evidence = self.model.evidence_of(table, self._columns(table)) if self.takes_prior else LogitEvidence
        return self.options.names(self.response(table), evidence.parameters)

    def fit(self, problems: Sequence[Problem]) -> list[Fitted]:
        """See `Model.fit`."""
        for each in problems:
            self.check(each.table)
        if self.takes_prior:
            return [self._fit(each, self.posterior(each)) for each in problems]
        return [self._fit_after(problem, fit) for problem, fit in zip(problems, self.model.fit(problems), strict=True)]

    def _fit_after(self, problem: Problem, choices: Fitted) -> Fitted:
        """Return the fit of a model of which a fit to the choices is known."""
        posterior = self._given_choices(problem, choices)
        for _ in range(ROUNDS * self.model.learns_times):
            response = self._fit(replace(problem, intervals=False), posterior)  # only its values are needed
            trained = self.model.fit_evidence(problem, choices, _likelihood_of_evidence(posterior, response))
            if trained is choices:
                break
            choices, posterior = trained, self._given_choices(problem, trained)
        timed = self._fit(problem, posterior)
        timed.parameters = {**timed.parameters, **choices.parameters}
        timed.details = {**choices.details, **timed.details}
        timed.notes = [*choices.notes, *timed.notes]
        timed.marks = {**choices.marks, **timed.marks}
        return timed

    def _given_choices(self, problem: Problem, fit: Fitted) -> TimedPosterior:
        """Return the posterior of the response, given a model of the choices."""
        evidence = LogitEvidence(fit.policy, problem.table, self._columns(problem.table))
        return self._posterior(replace(problem, table=self._with_states(problem.table, fit.policy)), evidence)

    def _with_states(self, table: Behaviour, policy: Policy | None) -> Behaviour:
        """Return a table with the probabilities of hidden states as columns, if a formula names them.

        Args:
            table: sessions of the fit.
            policy: of the fitted model; None for any numbers in place of the probabilities, to check formulas.
        """
        if not self.states or not any(STATE.search(text) for text in self.options.vary.values()):
            return table
        if policy is not None:
            return table.only(LogitPolicy(policy, 1.0, 1).with_columns(table.sessions))
        rng = np.random.default_rng(0)
        sessions = [
            replace(
                each,
                conditions={
                    **each.conditions,
                    **{f"state_{k}": rng.random(len(each)) for k in range(2, self.states + 1)},
                },
            )
            for each in table.sessions
        ]
        return table.only(sessions)

    def _columns(self, table: Behaviour) -> int:
        return self.response(table).columns

    def _formulas(self, table: Behaviour) -> dict[str, Formula]:
        """Return the formulas of parameters that vary."""
        formulas = self.options.formulas(self.response(table), table, self.states)
        if "drift" in formulas:
            raise UnfitError(
                f"{option('--vary drift')} applies only to {option('--model ddm')}; the drift of {self.name} is its "
                "logit"
            )
        return formulas

    def posterior(self, problem: Problem) -> TimedPosterior:
        """Return the log-posterior of the parameters of a model that is fitted to choices and times together.

        Raises:
            UnfitError: for a model that is fitted to the choices before.
        """
        if not self.takes_prior:
            raise UnfitError(
                f"{self.name} cannot be sampled ({option('--posterior')}): its choices are fitted before its times"
            )
        evidence = self.model.evidence_of(problem.table, self._columns(problem.table))
        return self._posterior(problem, evidence)

    def _posterior(self, problem: Problem, evidence: Evidence) -> TimedPosterior:
        settings, _ = self.options.settings(problem.table.sessions)
        evidence = fixed_evidence(evidence, self.options.fix)
        response = ResponseParameters(self.response(problem.table), self._formulas(problem.table))
        return TimedPosterior(evidence, response, problem.table.sessions, settings, problem.prior, self.priors)

    def _fit(self, problem: Problem, posterior: TimedPosterior) -> Fitted:
        _, notes = self.options.settings(problem.table.sessions)
        samples = self.times == "lba" and not self.model.passes  # thousands of passes through the trials
        return timed_fit(self.name, problem, posterior, notes, samples)

    def to_arrays(self, policy: TimedPolicy) -> dict[str, np.ndarray]:
        """See `Model.to_arrays`."""
        inner: Any = policy.inner
        nested = self.model.to_arrays(inner.inner)
        return {
            "response": policy.x,
            "settings": settings_array(policy.settings),
            "factor": np.array(inner.factor),
            **formula_arrays(policy.response.predictors),
            **{f"inner.{key}": each for key, each in nested.items()},
        }

    def from_arrays(self, arrays: Mapping[str, np.ndarray], table: Behaviour) -> TimedPolicy:
        """See `Model.from_arrays`."""
        formulas = self.options.stored_formulas(self.response(table), arrays, table, self.states)
        response = ResponseParameters(self.response(table), formulas)
        columns, factor = response.response.columns, float(arrays.get("factor", 1.0))
        nested = {key.removeprefix("inner."): each for key, each in arrays.items()}
        if "weights" in arrays:  # a fit of an earlier version: (predictors, columns), without the first of two choices
            nested["weights"] = np.pad(arrays["weights"].T, ((int(columns == 1), 0), (0, 0)))
        inner = LogitPolicy(self.model.from_arrays(nested, table), factor, columns)
        return TimedPolicy(inner, response, arrays["response"], settings_from(arrays["settings"]))


def _likelihood_of_evidence(posterior: TimedPosterior, fit: Fitted) -> EvidenceLikelihood:
    """Return the log-likelihood of choices and times with the parameters of the response as they were fitted."""
    timed: Any = fit.policy
    policy: LogitPolicy = timed.inner

    def likelihood(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
        evidence = policy.factor * as_columns(logs, policy.columns)
        result = posterior.given_evidence(evidence, fit.details["unbounded"])
        slope = policy.factor * result.evidence
        return result.log, np.concatenate([-slope, slope], 1) if policy.columns == 1 else slope

    return likelihood
