"""Go/no-go learning with a go bias and a Pavlovian bias (Guitart-Masip et al. 2012, 10.1016/j.neuroimage.2012.04.024).

Choice 1 is go. For each cue s, Q(s, a) += alpha (rho r - Q(s, a)) for the action that was chosen and V(s) += alpha
(rho r - V(s)). The weight of go is Q(s, go) + b + pi V(s), that of no-go Q(s, no-go); a share xi of responses is
random. The cue of a trial takes the place of the stimuli of other models.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from neurogym.behaviour.models.agents import Agent
from neurogym.behaviour.models.base import UnfitError
from neurogym.behaviour.models.one_trial import State, Trial, Values
from neurogym.behaviour.models.parameters import positive, rate, real, unit
from neurogym.behaviour.table import Behaviour
from neurogym.messages.options import option

#: Most cues of a task.
CUES = 12


class GoNoGo(Agent):
    """Go/no-go learner; see the module."""

    alpha, rho = rate(), positive(4.0, 0.8, per_outcome=True)
    b, pi, xi = real(1.5), real(1.0), unit(-2.5, 1.2)
    linear, sees_cue, two_choices = False, True, True

    def check(self, table: Behaviour) -> None:
        """See `Agent.check`."""
        super().check(table)
        cue = table.join("cue")
        if not (cue >= 0).any() or cue.max() >= CUES:
            raise UnfitError(f"{self.name} needs a column of at most {CUES} cues ({option('--cue COLUMN')})")

    def begin(self, p: Values, n: int) -> State:
        """See `Agent.begin`."""
        return {"q": jnp.zeros((CUES, n)), "v": jnp.zeros(CUES)}

    def logits(self, p: Values, state: Values, trial: Trial) -> Any:
        """See `Agent.logits`."""
        cue = jax.nn.one_hot(trial.cue, CUES)
        weight = cue @ state.q + jnp.array([0.0, 1.0]) * (p.b + p.pi * (cue @ state.v))
        return jnp.logaddexp(jnp.log1p(-p.xi) + jax.nn.log_softmax(weight), jnp.log(p.xi / 2))

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """See `Agent.update`."""
        visited, outcome = p.alpha * jax.nn.one_hot(trial.cue, CUES), p.rho * trial.reward
        return {
            "q": state.q + visited[:, None] * trial.chosen * (outcome - state.q),
            "v": state.v + visited * (outcome - state.v),
        }
