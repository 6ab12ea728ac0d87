"""Log-likelihoods of models with few parameters as functions with gradients, for samplers of posteriors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from neurogym.analysis.regression import log_softmax
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.agents import Agent, AgentPolicy, gathered, likelihood_of, trial_logits
from neurogym.behaviour.models.base import Model, Policy, Problem, UnfitError
from neurogym.behaviour.models.diffusion import Diffusion
from neurogym.behaviour.models.own import FunctionModel, FunctionPolicy
from neurogym.behaviour.models.parameters import ModelParameter
from neurogym.behaviour.models.pavlovian import CuePolicy, GoNoGo
from neurogym.behaviour.models.timed import TimedPosterior
from neurogym.behaviour.models.with_times import TimedModel
from neurogym.behaviour.table import Behaviour, padded

#: Step of central differences, in units of the s.d. of the priors.
PRIOR_STEP = 1e-4

#: Function from points (subjects, parameters) to log-likelihoods (subjects,) and their gradients, shaped as the points.
SubjectLikelihoods = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


class Likelihood(Protocol):
    """Log-likelihood of the sessions of a subject in the unbounded scale."""

    parameters: tuple[ModelParameter, ...]

    def log_likelihood(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-likelihood and its gradient at a point."""

    def pointwise(self, x: FloatArray) -> FloatArray:
        """Return the log-likelihood of each trial at a point, shape (trials,)."""

    def policy(self, x: FloatArray) -> Policy:
        """Return the behaviour at a point."""


class ChoiceLikelihood:
    """Log-likelihood of choices; the gradient is made of central differences.

    Args:
        parameters: of the model.
        trials: log-likelihood of each trial, shape (points, trials), at points (points, parameters).
        policy: behaviour at a point.
    """

    def __init__(
        self,
        parameters: Sequence[ModelParameter],
        trials: Callable[[FloatArray], FloatArray],
        policy: Callable[[FloatArray], Policy],
    ):
        self.parameters, self._trials, self.policy = tuple(parameters), trials, policy

    def log_likelihood(self, x: FloatArray) -> tuple[float, FloatArray]:
        """See `Likelihood.log_likelihood`."""
        values, gradients = _differences(lambda points: self._trials(points[0]).sum(1)[None], self.parameters, x[None])
        return float(values[0]), gradients[0]

    def pointwise(self, x: FloatArray) -> FloatArray:
        """See `Likelihood.pointwise`."""
        return np.asarray(self._trials(x[None])[0])


def likelihood_of_problem(model: Model, problem: Problem) -> Likelihood:
    """Return the log-likelihood of a model for the sessions of a subject.

    Raises:
        UnfitError: for models without such a function, or that do not suit the table.
    """
    if isinstance(model, Diffusion | TimedModel):
        return timed_posterior(model, problem)
    if isinstance(model, Agent):
        return _agent(model, _as_seen(model, problem.table))
    if isinstance(model, FunctionModel):
        return _function(model, problem.table)
    raise UnfitError(f"{model.name} cannot be sampled (--posterior); learners, ddm and functions of your own can")


def likelihoods_of_subjects(
    model: Model, tables: Sequence[Behaviour], likelihoods: Sequence[Likelihood]
) -> SubjectLikelihoods:
    """Return the log-likelihoods of a model for several subjects; those of learners are stepped together.

    Args:
        model: the model.
        tables: sessions of each subject.
        likelihoods: of the model for each table, see `likelihood_of_problem`.
    """
    if isinstance(model, Agent):
        data = gathered([_as_seen(model, each) for each in tables])
        parameters, rows = likelihoods[0].parameters, np.arange(len(tables))
        trials = likelihood_of(model, parameters, data, len(tables[0].choices))
        return lambda x: _differences(lambda points: trials(rows, points), parameters, x)

    def one_by_one(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        values, gradients = np.zeros(len(x)), np.zeros(x.shape)
        for k, likelihood in enumerate(likelihoods):
            values[k], gradients[k] = likelihood.log_likelihood(x[k])
        return values, gradients

    return one_by_one


def _differences(
    values_at: Callable[[FloatArray], FloatArray], parameters: Sequence[ModelParameter], x: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return log-likelihoods and their gradients by central differences at points (subjects, parameters).

    Args:
        values_at: log-likelihoods (subjects, points) at points (subjects, points, parameters).
        parameters: of the model.
        x: the points.
    """
    d, steps = x.shape[1], PRIOR_STEP * np.array([each.sd for each in parameters])
    offsets = np.concatenate([np.zeros((1, d)), np.diag(steps), -np.diag(steps)])
    values = values_at(x[:, None] + offsets)
    return values[:, 0], (values[:, 1 : d + 1] - values[:, d + 1 :]) / (2 * steps)


def timed_posterior(model: Diffusion | TimedModel, problem: Problem) -> TimedPosterior:
    """Return the posterior of a model of choices and times."""
    if isinstance(model, TimedModel) and not model.takes_prior:
        raise UnfitError(f"{model.name} cannot be sampled (--posterior): its choices are fitted before its times")
    return model.posterior(problem)


def _as_seen(agent: Agent, table: Behaviour) -> Behaviour:
    """Return a table with the stimuli that a learner sees: of a go/no-go learner, the cue."""
    return agent.with_cue_stimuli(table) if isinstance(agent, GoNoGo) else table


def _agent(agent: Agent, table: Behaviour) -> ChoiceLikelihood:
    parameters, n = agent.parameters(table), len(table.choices)
    data = padded(table.sessions)
    run, valid = trial_logits(agent, parameters, data, n), data.scored & (data.choice >= 0)
    chosen = data.choice[valid]

    def trials(x: FloatArray) -> FloatArray:
        logits, extra = run(x)
        rows = log_softmax(logits)[:, valid][:, np.arange(len(chosen)), chosen]
        rows[:, :1] += extra[:, None]  # second-stage choices count with the first trial
        return np.asarray(rows)

    kind = CuePolicy if isinstance(agent, GoNoGo) else AgentPolicy
    return ChoiceLikelihood(parameters, trials, lambda x: kind(agent, parameters, x, n))


def _function(model: FunctionModel, table: Behaviour) -> ChoiceLikelihood:
    logits, choice = model.logits_of(table), table.join("scored_choice")
    valid = choice >= 0

    def trials(x: FloatArray) -> FloatArray:
        rows = [log_softmax(logits(point))[valid, choice[valid]] for point in x]
        return np.stack(rows)

    return ChoiceLikelihood(model.parameters, trials, lambda x: FunctionPolicy(model, x, table))
