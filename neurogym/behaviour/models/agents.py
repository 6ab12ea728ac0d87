"""Models with a few parameters and an update after each trial: one trial of one session, without further axes.

    import jax.numpy as jnp
    from neurogym.behaviour.models.agents import Agent
    from neurogym.behaviour.models.parameters import positive, rate

    class DualRate(Agent):
        fast, slow, beta = rate(), rate(), positive(3.0)

        def begin(self, p, n):
            return {"f": jnp.zeros(n), "s": jnp.zeros(n)}

        def logits(self, p, state, trial):
            return p.beta * (state.f + state.s)

        def update(self, p, state, trial):
            error = trial.chosen * (trial.reward - state.f - state.s)
            return {"f": state.f + p.fast * error, "s": state.s + p.slow * error}

Everything else follows: bias and weights of stimuli, likelihood with gradients, fits of many subjects and folds at
once, intervals, groups, posteriors, simulations and a response that takes time (see `neurogym.behaviour.models.scan`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.agent_policy import AgentPolicy, ChoiceLikelihood
from neurogym.behaviour.models.base import Fitted, Model, Problem
from neurogym.behaviour.models.evidence import Evidence, learner_evidence
from neurogym.behaviour.models.maxima import fit_together
from neurogym.behaviour.models.one_trial import OneTrial
from neurogym.behaviour.models.parameters import scale_notes
from neurogym.behaviour.table import Behaviour


class Agent(OneTrial, Model):
    """A model of choices with a state that each trial updates; `OneTrial` lists what a subclass declares."""

    takes_prior = True
    passes = True

    def fit(self, problems: Sequence[Problem]) -> list[Fitted]:
        """See `Model.fit`."""
        for each in problems:
            self.check(each.table)
        fits = fit_together(self, problems)
        depending = [each.name for each in self.own if each.per_outcome or each.in_outcomes]
        for each, fit in zip(problems, fits, strict=True):
            fit.notes.extend(scale_notes(each.table, depending, fit.parameters))
        return fits

    def evidence_of(self, table: Behaviour, columns: int) -> Evidence:
        """See `Model.evidence_of`."""
        return learner_evidence(self, table, columns)

    def posterior(self, problem: Problem) -> ChoiceLikelihood:
        """Return the log-likelihood of the sessions of a problem."""
        return ChoiceLikelihood(self, problem.table)

    def to_arrays(self, policy: AgentPolicy) -> dict[str, FloatArray]:
        """See `Model.to_arrays`."""
        return {"x": policy.x}

    def from_arrays(self, arrays: Mapping[str, FloatArray], table: Behaviour) -> AgentPolicy:
        """See `Model.from_arrays`."""
        return AgentPolicy(self, self.parameters(table), arrays["x"], len(table.choices))
