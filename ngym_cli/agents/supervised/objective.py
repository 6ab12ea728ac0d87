"""Objective of supervised learning: the loss of the answers, and penalties on rates and weights."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ngym_cli.agents.networks.categorical import Categorical
from ngym_cli.agents.networks.policy import RecurrentPolicy


def losses(outputs: Tensor, targets: Tensor, discrete: bool) -> Tensor:
    """The loss of each step (steps,): cross-entropy in nats, or squared error summed over components.

    Args:
        outputs: Action preferences or values (steps, action).
        targets: Ground truth, (steps,) or (steps, action).
        discrete: Whether actions are discrete.
    """
    if discrete:
        return -Categorical.apply(outputs, targets)[0]
    return (outputs - targets).square().sum(-1)


def weight_matrices(policy: RecurrentPolicy) -> Iterator[Tensor]:
    """Input, recurrent and output weights of the acting network; with Dale's law, the effective weights."""
    yield from policy.networks[0].matrices()
    yield policy.action_net.weight


def penalty_on_weights(policy: RecurrentPolicy, l1: float, l2: float) -> Tensor:
    """Return l1 * mean |w| + l2 * mean w^2 of each matrix, summed over matrices."""
    matrices = weight_matrices(policy)
    return torch.stack([l1 * matrix.abs().mean() + l2 * matrix.square().mean() for matrix in matrices]).sum()


def penalty_on_rates(rates: Tensor, l1: float, l2: float) -> Tensor:
    """l1 * mean |r| + l2 * mean r^2 over units and steps.

    Args:
        rates: Activity (steps, unit).
        l1: Of absolute rates.
        l2: Of squared rates, the metabolic cost of Song et al. 2016.
    """
    return l1 * rates.abs().mean() + l2 * rates.square().mean()
