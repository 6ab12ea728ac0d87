"""Penalties on activity and weights that any objective of learning can be given, and counts of idle units."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from ngym_cli.agents.networks.policy import RecurrentPolicy

#: Largest absolute activity of a silent unit.
SILENT = 1e-3


@dataclass(frozen=True)
class Penalties:
    """Weights of penalties that are added to a loss; 0 for none.

    Attributes:
        l1_rate: on mean absolute activity.
        l2_rate: on mean squared activity, the metabolic cost of Song et al. 2016.
        l1_weight: on mean absolute input, recurrent and output weights, effective weights where constrained.
        l2_weight: on mean squared weights.
        participation: on the fraction of dimensions that activity occupies; negative spreads activity.
    """

    l1_rate: float = 0.0
    l2_rate: float = 0.0
    l1_weight: float = 0.0
    l2_weight: float = 0.0
    participation: float = 0.0

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Names of the penalties."""
        return tuple(each.name for each in fields(cls))

    def __bool__(self) -> bool:
        """Whether there is any penalty."""
        return any(astuple(self))

    def __call__(self, policy: RecurrentPolicy, rates: Tensor) -> Tensor:
        """Sum of all penalties.

        Args:
            policy: the penalised policy.
            rates: activity of the actor's top layer (step, unit).
        """
        total = rates.new_zeros(())
        if self.l1_rate or self.l2_rate:
            total = self.l1_rate * rates.abs().mean() + self.l2_rate * rates.square().mean()
        if self.participation:
            total = total + self.participation * participation(rates) / rates.shape[-1]
        return total + self.on_weights(policy) if self.l1_weight or self.l2_weight else total

    def on_weights(self, policy: RecurrentPolicy) -> Tensor:
        """Penalty on every weight matrix of the acting network, summed over matrices."""
        matrices = [*policy.networks[0].matrices(), policy.action_net.weight]
        return torch.stack(
            [self.l1_weight * matrix.abs().mean() + self.l2_weight * matrix.square().mean() for matrix in matrices]
        ).sum()


def participation(rates: Tensor) -> Tensor:
    """Participation ratio of activity (step, unit): (sum of variances)^2 / sum of squared covariance eigenvalues."""
    centred = rates - rates.mean(0)
    covariance = centred.t() @ centred / len(rates)
    return covariance.diagonal().sum().square() / covariance.square().sum().clamp_min(1e-12)


def silent_units(rates: np.ndarray) -> int:
    """Return the number of units whose activity (..., unit) never leaves zero."""
    return int((np.abs(rates).max(tuple(range(rates.ndim - 1))) < SILENT).sum())
