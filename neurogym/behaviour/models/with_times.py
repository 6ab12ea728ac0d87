"""A model of choices whose logit drives a diffusion or a race: choices and times by one model.

The parameters of learners and logistic regressions are estimated together with those of the response (Pedersen, Frank &
Biele 2017, 10.3758/s13423-016-1199-y; Fontanesi et al. 2019, 10.3758/s13423-018-1554-2). Models whose parameters are
found otherwise (hidden states, drifting weights, networks) are fitted to the choices first; their logit, times a factor
that is estimated with the response, is the evidence. Networks are then trained further, on choices and times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from neurogym.behaviour.models.ballistic import BallisticResponse
from neurogym.behaviour.models.base import (
    Fitted,
    Model,
    Policy,
    Problem,
    UnfitError,
    each_subject,
    score_of,
)
from neurogym.behaviour.models.collapsing import CollapsingResponse
from neurogym.behaviour.models.evidence import Drift, DriftPolicy, Evidence, widened
from neurogym.behaviour.models.formulas import Formula, formula_arrays, stored_formula
from neurogym.behaviour.models.logistic import Logistic
from neurogym.behaviour.models.marks import few_trials, fit_at
from neurogym.behaviour.models.parameters import ModelParameter, Prior
from neurogym.behaviour.models.responses import DiffusionResponse, Response
from neurogym.behaviour.models.timed import ResponseParameters, TimedPolicy, TimedPosterior, maximise, with_columns
from neurogym.behaviour.models.times import FASTEST, TimeSettings, time_settings, without_codes
from neurogym.behaviour.table import Behaviour, Session
from neurogym.messages.options import option

#: Times that networks are trained on choices and times, and the response is estimated anew.
ROUNDS = 2
#: Word of a formula for the probabilities of the hidden states of a model.
STATE = re.compile(r"\bstate\b")
#: Drift per s of a logit of 1, for models that were fitted to the choices before.
FACTOR = ModelParameter("drift per logit", "positive", 0.0, 1.0)
#: Fewest reaction times of a fit.
FEWEST = 20


def diffusion(name: str = "ddm", vary: Mapping[str, str] | None = None, **options: Any) -> TimedModel:
    """Return a drift diffusion whose drift is in proportion to a stimulus, or given by the formula of ``drift``.

    Args:
        name: name of the model.
        vary: formula of trial columns for each parameter that varies, as in ``{"drift": "coh + coh:block"}``.
        **options: further arguments of `TimedModel`.
    """
    formulas = dict(vary or {})
    return TimedModel(Drift(name, formulas.pop("drift", None)), "ddm", vary=formulas, **options)


def race(name: str = "lba", **options: Any) -> TimedModel:
    """Return linear ballistic accumulators whose rates depend on the stimuli.

    Args:
        name: name of the model.
        **options: further arguments of `TimedModel`.
    """
    return TimedModel(Logistic(0, name=name), "lba", **options)


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
        self.model, self.times, self.name = model, times, model.name
        self.deadline, self.fastest, self.contaminants = deadline, fastest, contaminants
        self.vary, self.fix = dict(vary or {}), dict(fix or {})
        self.states = model.states
        self.takes_prior = model.takes_prior  # all parameters are estimated together
        self.priors: Mapping[str, Prior] = {}
        unfit = [name for name in response if name != "lapse"] if times == "lba" else []
        if unfit:
            raise UnfitError(f"{unfit[0]} requires the diffusion model (times=ddm); a race (lba) does not have it")
        lapse = {"lapse": response["lapse"]} if response.get("lapse", -1.0) >= 0 else {}
        plain = diffusion_response(**response) if times == "ddm" else BallisticResponse(constants=lapse)
        self._every: Response = replace(plain, constants={})  # all of its parameters are free
        constants, named = dict(plain.constants), {each.name: each for each in self._every.parameters}
        for word, value in self.fix.items():
            if self._symbol(word) in named:
                constants[self._symbol(word)] = named[self._symbol(word)].checked(value, word)
        for word in self.vary:
            if self._symbol(word) in map(self._symbol, self.fix):
                raise UnfitError(f"{option('--fix')} and {option('--vary')} both name {word}")
        self._response = replace(plain, constants=constants)

    def _symbol(self, name: str) -> str:
        """Return the symbol of a parameter of the response that is named in words or by its symbol."""
        return self._every.words.get(name, name)

    def check(self, table: Behaviour) -> None:
        """Refuse tables that do not suit the model.

        Raises:
            UnfitError: if there are too few reaction times, or a diffusion is to choose among more than two options.
        """
        self.model.check(table)
        if self.model.sees_cue:
            raise UnfitError(f"{self.name} is a model of choices alone; {option('--times')} takes other models")
        rt = without_codes(table.join("rt"))[0]
        if ((table.join("choice") >= 0) & np.isfinite(rt)).sum() < FEWEST:
            raise UnfitError(f"{self.name} needs reaction times ({option('--rt COLUMN')})")
        if self.times == "ddm" and len(table.choices) != 2:
            raise UnfitError(
                f"{option('--times ddm')} needs two choices; the table has {len(table.choices)} "
                f"({option('--times lba')})"
            )
        if "drift" in self.vary:
            raise UnfitError(
                f"{option('--vary drift')} applies only to {option('--model ddm')}; the drift of {self.name} is its "
                "logit"
            )
        self._formulas(self._with_states(table, None))

    def response(self, table: Behaviour) -> Response:
        """Return the response for the options of a table."""
        response: Any = self._response
        return replace(response, options=len(table.choices)) if self.times == "lba" else response

    def fixable(self, table: Behaviour) -> list[str]:
        """Return the names of parameters that may be fixed."""
        own = self.model.evidence_of(table, self.response(table).columns).parameters if self.takes_prior else (FACTOR,)
        every = [each.name for each in self._every.parameters]
        words = [word for word, name in self._every.words.items() if name in every]
        return list(dict.fromkeys([*words, *every, *(each.name for each in own)]))

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
            likelihood = partial(posterior.given_logits, x=response.details["unbounded"])
            trained = self.model.fit_evidence(problem, choices, likelihood)
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
        evidence = known_evidence(fit.policy, problem.table)
        return self._posterior(replace(problem, table=self._with_states(problem.table, fit.policy)), evidence)

    def _with_states(self, table: Behaviour, policy: Policy | None) -> Behaviour:
        """Return a table with the probabilities of hidden states as columns, if a formula names them.

        Args:
            table: sessions of the fit.
            policy: of the fitted model; None for any numbers in place of the probabilities, to check formulas.
        """
        if not self.states or not any(STATE.search(text) for text in self.vary.values()):
            return table
        if policy is not None:
            return table.only(with_columns(policy, table.sessions))
        rng, sessions = np.random.default_rng(0), list[Session]()
        for each in table.sessions:
            drawn = {f"state_{k}": rng.random(len(each)) for k in range(2, self.states + 1)}
            sessions.append(replace(each, conditions={**each.conditions, **drawn}))
        return table.only(sessions)

    def _formulas(self, table: Behaviour) -> dict[str, Formula]:
        """Return the formula of each parameter that varies with columns of a table, by symbol.

        Raises:
            UnfitError: for a parameter that does not exist or is fixed, or a formula that cannot be evaluated.
        """
        free = {"drift", *(each.name for each in self._response.parameters)}
        for name in self.vary:
            if self._symbol(name) not in free:
                words = {"drift": "drift", **self._response.words}
                offered = [word for word, target in words.items() if target in free]
                raise UnfitError(
                    f"{option('--vary')}: parameter '{name}' is not estimated; expected {', '.join(offered)}"
                )
        return {name: Formula.of(text, table.sessions, table.stimuli) for name, text in self._texts.items()}

    @property
    def _texts(self) -> dict[str, str]:
        """Formulas by symbol, in which ``state`` stands for the probabilities of all hidden states but the first."""
        states = f"({' + '.join(f'state_{k + 1}' for k in range(1, self.states))})"
        return {
            self._symbol(name): STATE.sub(states, text) if self.states else text for name, text in self.vary.items()
        }

    def settings(self, table: Behaviour) -> tuple[TimeSettings, list[str]]:
        """Return the settings of the recording of a table, and notes about trials that are read in a special way."""
        return time_settings(table.sessions, self.deadline, self.fastest, self.contaminants)

    def posterior(self, problem: Problem) -> TimedPosterior:
        """Return the log-posterior of the parameters of a model that is fitted to choices and times together.

        Raises:
            UnfitError: for a model that is fitted to the choices before.
        """
        if not self.takes_prior:
            raise UnfitError(
                f"{self.name} cannot be sampled ({option('--posterior')}): its choices are fitted before its times"
            )
        evidence = self.model.evidence_of(problem.table, self.response(problem.table).columns)
        return self._posterior(problem, evidence)

    def _posterior(self, problem: Problem, evidence: Evidence) -> TimedPosterior:
        settings, _ = self.settings(problem.table)
        response = ResponseParameters(self.response(problem.table), self._formulas(problem.table))
        sessions, chosen = problem.table.sessions, (problem.prior, self.priors, self.fix)
        return TimedPosterior(evidence, response, sessions, settings, *chosen)

    def _fit(self, problem: Problem, posterior: TimedPosterior) -> Fitted:
        best = maximise(posterior, problem.start)
        credible = None
        if problem.intervals and self.times == "lba" and not self.model.passes:  # thousands of passes through trials
            found = posterior.credible(best, problem.seed)
            credible = (found.sd, found.ends) if found.valid else None
        policy, table = posterior.policy(best.x), problem.table
        sd = posterior.sd if problem.prior is None else None
        fit = fit_at(self.name, policy, score_of(policy, table), posterior.parameters, best, credible, sd)
        fit.details["joint"] = posterior.log_likelihood(best.x)[0]
        formulas = {**posterior.evidence.formulas, **policy.response.predictors}
        constant = dict.fromkeys(name for each in formulas.values() for name in each.without_effect)
        fit.notes = [
            *self.settings(table)[1],
            *(f"column '{name}' has a single value and no effect" for name in constant),
            *few_trials(int(posterior.trials.timed.sum()), len(best.x)),
            *self.model.remarks(table, {name: each.value for name, each in fit.parameters.items()}),
        ]
        return fit

    def to_arrays(self, policy: TimedPolicy) -> dict[str, np.ndarray]:
        """See `Model.to_arrays`."""
        return {
            "response": policy.x,
            "settings": policy.settings.as_array,
            "factor": np.array(policy.factor),
            **formula_arrays(policy.response.predictors),
            **{f"inner.{key}": each for key, each in self.model.to_arrays(policy.inner).items()},
        }

    def from_arrays(self, arrays: Mapping[str, np.ndarray], table: Behaviour) -> TimedPolicy:
        """See `Model.from_arrays`; fits of earlier versions have other arrays."""
        nested = {key.removeprefix("inner."): each for key, each in arrays.items()}
        if "values" in arrays and "x" not in arrays:  # k, A, t_R and x0 with neither lapses nor starting point
            plain = ResponseParameters(diffusion_response(start=False, lapse=0.0))
            x = np.log(np.maximum(arrays["values"][1:3], 1e-9))
            return TimedPolicy(DriftPolicy(arrays["values"][[0, 3]]), plain, x, TimeSettings())
        formulas = {name: stored_formula(text, name, arrays, table.stimuli) for name, text in self._texts.items()}
        response = ResponseParameters(self.response(table), formulas)
        if "weights" in arrays:  # (predictors, columns), without the first of two choices
            nested["weights"] = np.pad(arrays["weights"].T, ((int(response.response.columns == 1), 0), (0, 0)))
        x = arrays["x" if "values" in arrays else "response"]
        factor, settings = float(arrays.get("factor", 1.0)), TimeSettings.of_array(arrays["settings"])
        return TimedPolicy(self.model.from_arrays(nested, table), response, x, settings, factor)


def _scaled(x: Any, logits: Any) -> tuple[Any, float]:
    return jnp.exp(x[0]) * logits, 0.0


def known_evidence(policy: Policy, table: Behaviour) -> Evidence:
    """Return the logits of a model that was fitted before, times a factor that is estimated with the times."""
    rows = each_subject(policy, table.sessions, lambda own, sessions: own.logits_of(sessions))
    return Evidence((FACTOR,), _scaled, widened(np.concatenate(rows)), lambda x: (policy, float(np.exp(x[0]))))
