"""How gated networks begin: time constants spread over a range of steps, and input weights that open the gates."""

from __future__ import annotations

import torch
from torch import Tensor, nn

#: Bound of the first weights of one input; of n inputs sqrt(n) times less.
INPUT_GAIN = 3.0


def check_memory(memory: float) -> None:
    """Refuse a longest time constant of less than one step.

    Raises:
        ValueError: if it is.
    """
    if memory < 1:
        raise ValueError(f"memory must be at least 1 step, got {memory}")


@torch.no_grad()
def spread_time_constants(bias: Tensor, memory: float) -> None:
    """Draw the biases of gates that hold, so that what they hold fades with 1 to `memory` steps.

    Tallec & Ollivier 2018, arXiv:1804.11188.

    Args:
        bias: of the gates (unit,), written in place.
        memory: longest time constant (steps).
    """
    bias.uniform_(0, memory - 1).log1p_()


def enlarge_input_weights(weight: Tensor) -> None:
    """Draw the weights of the input (gate * unit, input), large enough for what is seen to open the gates."""
    bound = INPUT_GAIN * weight.shape[1] ** -0.5
    nn.init.uniform_(weight, -bound, bound)
