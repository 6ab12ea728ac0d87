"""Common parts of gated networks: time constants spread over a range of steps, input weights that open the gates."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ngym_cli.agents.networks.base import RecurrentNetwork

#: Bound of the first weights of one input; of n inputs sqrt(n) times less.
INPUT_GAIN = 3.0


class GatedNetwork(RecurrentNetwork):
    """Base of networks with gates; torch's own class follows among the bases: `class GRU(GatedNetwork, nn.GRU)`.

    Args:
        input_size: number of input features.
        hidden_size: units per layer.
        num_layers: stacked layers.
        memory: time constants (steps) of the gates that hold are spread from 1 to this, so that what they hold fades
            with as many steps (Tallec & Ollivier 2018, arXiv:1804.11188).

    Raises:
        ValueError: if `memory` is less than one step.
    """

    def __init__(self, input_size: int, hidden_size: int = 64, num_layers: int = 1, memory: float = 30.0) -> None:
        if memory < 1:
            raise ValueError(f"memory must be at least 1 step, got {memory}")
        self.memory = memory
        super().__init__(input_size, hidden_size, num_layers)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw the initial weights: torch's own, biases of the gates, then input weights that open the gates."""
        super().reset_parameters()  # type: ignore[misc]
        for layer in range(self.num_layers):
            _, _, bias, second_bias = self.parameters_of(layer)
            nn.init.zeros_(bias)
            nn.init.zeros_(second_bias)
            self.holding_gate(second_bias).uniform_(0, self.memory - 1).log1p_()
        weight = self.parameters_of(0)[1]
        bound = INPUT_GAIN * weight.shape[1] ** -0.5
        nn.init.uniform_(weight, -bound, bound)

    def holding_gate(self, bias: Tensor) -> Tensor:
        """Biases (unit,) of the gate that holds the state; in torch the second gate of LSTM and GRU."""
        return bias[self.hidden_size : 2 * self.hidden_size]

    def flat_weights(self) -> list[Tensor]:
        """Effective weights in the order of torch's own functions."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return [getattr(self, f"{name}_l{layer}") for layer in range(self.num_layers) for name in names]
