"""An algorithm of your own: a subclass of a built-in algorithm, or any algorithm of Stable-Baselines3."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ngym_cli import RecurrentA2C


class MyAlgorithm(RecurrentA2C):
    """Recurrent actor-critic with a penalty on large predicted values.

    Args:
        policy: chosen by the run.
        env: chosen by the run.
        value_penalty: weight of the mean squared predicted value.
        kwargs: all that the base class takes; hyperparameters of the base class can be set, too.
    """

    # Named arguments are set with --set NAME=VALUE. Keep **kwargs: the run gives seed, device and the network with it.
    def __init__(self, policy: Any, env: Any, value_penalty: float = 0.01, **kwargs: Any) -> None:
        self.value_penalty = value_penalty
        super().__init__(policy, env, **kwargs)

    def loss(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Return what is minimised on a minibatch, and the numbers that are logged."""
        loss, numbers = super().loss(batch)
        values, _, _ = self.policy.evaluate_sequences(batch.sequences, batch.actions)
        return loss + self.value_penalty * values.square().mean(), numbers

    # What else training depends on is saved and restored with own_state() and set_own_state(state).
