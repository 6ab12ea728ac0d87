"""A model as a user writes it in a file."""

OWN = """
import jax.numpy as jnp
from neurogym.behaviour.models.agents import Agent
from neurogym.behaviour.models.parameters import real


class Mine(Agent):
    w, linear, needs_rewards = real(3.0), False, False

    def logits(self, p, state, trial):
        return jnp.array([0.0, p.w * trial.stimuli[0]])


"""
