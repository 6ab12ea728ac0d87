"""A model of choices of your own: one trial of one session, fitted to animals by ``ngym fit``.

Any class works: with ``fit(problems)`` as in ``neurogym.behaviour.models.base.Model``, named in the same way.
"""

from __future__ import annotations

import jax.numpy as jnp

from neurogym.behaviour.models.agents import Agent
from neurogym.behaviour.models.one_trial import State, Trial, Values
from neurogym.behaviour.models.parameters import positive, rate, real


class MyModel(Agent):
    """Learn values of the options, with a tendency to repeat the last choice.

    A bias and a weight of each stimulus are added to the logits; ``linear = False`` leaves both out, and
    ``needs_rewards = False`` allows tables without rewards.
    """

    alpha, beta, stickiness = rate(), positive(3.0), real()

    def begin(self, p: Values, n: int) -> State:
        """Return the state before the first trial of a session with ``n`` choices."""
        return {"q": jnp.zeros(n), "last": jnp.zeros(n)}

    def logits(self, p: Values, state: Values, trial: Trial) -> jnp.ndarray:
        """Return the logits of the choices; of the trial, ``trial.stimuli`` and ``trial.cue`` are known."""
        return p.beta * state.q + p.stickiness * state.last

    def update(self, p: Values, state: Values, trial: Trial) -> State:
        """Return the state after a trial, given ``trial.chosen`` (1 for the choice, else 0) and ``trial.reward``.

        A missed trial leaves the state as it is. Conditions are written with ``jnp.where``.
        """
        return {"q": state.q + p.alpha * trial.chosen * (trial.reward - state.q), "last": trial.chosen}
