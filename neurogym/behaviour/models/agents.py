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

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.agent_policy import AgentPolicy, ChoiceLikelihood, gathered
from neurogym.behaviour.models.base import Fitted, Model, Problem
from neurogym.behaviour.models.evidence import Evidence, Slope, as_columns
from neurogym.behaviour.models.maxima import fit_together
from neurogym.behaviour.models.one_trial import OneTrial
from neurogym.behaviour.models.parameters import scale_notes
from neurogym.behaviour.models.scan import scan_of
from neurogym.behaviour.table import Behaviour, padded


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
        """See `Model.evidence_of`: value differences (Pedersen, Frank & Biele 2017, 10.3758/s13423-016-1199-y)."""
        parameters, data = self.parameters(table), padded(table.sessions)
        inside = np.arange(data.choice.shape[1]) < data.lengths[:, None]
        scan = scan_of(self, parameters, len(table.choices))

        def slope(x: FloatArray) -> Slope:
            rows, slopes = scan.derivatives_of(x, data)
            jacobian = np.moveaxis(as_columns(np.moveaxis(slopes.logits[inside], -1, 0), columns), 0, -1)
            value = as_columns(rows.logits[inside], columns)
            return Slope(value, jacobian, float(rows.second.sum()), slopes.second.sum((0, 1)))

        return Evidence(parameters, slope, lambda x: (AgentPolicy(self, parameters, x, len(table.choices)), 1.0))

    def log_likelihoods(self, tables: Sequence[Behaviour]) -> Callable[[Any], Any]:
        """See `Model.log_likelihoods`."""
        return scan_of(self, self.parameters(tables[0]), len(tables[0].choices)).together(gathered(tables))

    def posterior(self, problem: Problem) -> ChoiceLikelihood:
        """Return the log-likelihood of the sessions of a problem."""
        return ChoiceLikelihood(self, problem.table)

    def to_arrays(self, policy: AgentPolicy) -> dict[str, FloatArray]:
        """See `Model.to_arrays`."""
        return {"x": policy.x}

    def from_arrays(self, arrays: Mapping[str, FloatArray], table: Behaviour) -> AgentPolicy:
        """See `Model.from_arrays`."""
        return AgentPolicy(self, self.parameters(table), arrays["x"], len(table.choices))
