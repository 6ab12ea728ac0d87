"""Objective of supervised learning: the loss of the answers."""

from __future__ import annotations

from torch import Tensor

from ngym_cli.agents.networks.categorical import Categorical


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
