"""Log-likelihoods of models with few parameters as functions with gradients, for samplers of posteriors."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.agent_policy import AgentPolicy, compiled
from neurogym.behaviour.models.base import Model, Policy, Problem, UnfitError
from neurogym.behaviour.models.one_trial import OneTrial
from neurogym.behaviour.models.parameters import ModelParameter
from neurogym.behaviour.table import Behaviour, padded
from neurogym.messages.options import option


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
    """Log-likelihood of the choices of a learner.

    Args:
        agent: the learner.
        table: sessions of a subject.
    """

    def __init__(self, agent: OneTrial, table: Behaviour):
        self._agent, self._data = agent, padded(table.sessions)
        self.parameters, self._n = agent.parameters(table), len(table.choices)
        self._scan = compiled(agent, self.parameters, self._n)

    def log_likelihood(self, x: FloatArray) -> tuple[float, FloatArray]:
        """See `Likelihood.log_likelihood`."""
        value, slope = self._scan.slope_of(x, self._data)
        return value, slope

    def pointwise(self, x: FloatArray) -> FloatArray:
        """See `Likelihood.pointwise`; second-stage choices count with the first of their trial."""
        rows = self._scan.rows_of(x, self._data).log_likelihood
        return np.asarray(rows[self._data.scored & (self._data.choice >= 0)])

    def policy(self, x: FloatArray) -> AgentPolicy:
        """See `Likelihood.policy`."""
        return AgentPolicy(self._agent, self.parameters, x, self._n)


def likelihood_of_problem(model: Model, problem: Problem) -> Likelihood:
    """Return the log-likelihood of a model for the sessions of a subject.

    Raises:
        UnfitError: for models without such a function, or that do not suit the table.
    """
    samplable: Any = model
    if not hasattr(model, "posterior"):
        raise UnfitError(
            f"{model.name} cannot be sampled ({option('--posterior')}); learners, ddm and models with "
            f"{option('--times')} can"
        )
    likelihood: Likelihood = samplable.posterior(problem)
    return likelihood
