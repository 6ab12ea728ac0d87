"""Long short-term memory (Hochreiter & Schmidhuber 1997, doi:10.1162/neco.1997.9.8.1735)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ngym_cli.agents.networks.base import State
from ngym_cli.agents.networks.gates import GatedNetwork


class LSTM(GatedNetwork, nn.LSTM):  # type: ignore[misc]
    """`torch.nn.LSTM` behind the common interface; the state is `(h, c)`.

    Args:
        input_size: number of input features.
        hidden_size: units per layer.
        num_layers: stacked layers.
        memory: time constants (steps) that the gates begin with are spread from 1 to this: what is held fades this
            slowly and is overwritten as slowly (Tallec & Ollivier 2018, arXiv:1804.11188). Without it delays of 20
            steps are hardly ever bridged. What is seen opens the gates, so the weights of the input begin large.
    """

    n_states = 2
    cell = "lstm"

    def reset_parameters(self) -> None:
        """Draw the initial weights; each unit is overwritten as slowly as the unit forgets."""
        super().reset_parameters()
        for layer in range(self.num_layers):
            bias = self.parameters_of(layer)[3]
            with torch.no_grad():
                bias[: self.hidden_size] = -self.holding_gate(bias)

    def in_torch(
        self, seq: Tensor, counts: Sequence[int], state: State, noise: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """See `RecurrentNetwork.in_torch`."""
        before, weights = [part.contiguous() for part in state], self.flat_weights()
        top, h, c = torch.lstm(seq, torch.tensor(counts), before, weights, True, self.num_layers, 0.0, False, False)
        return top, (h, c)

    def one_step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """See `RecurrentNetwork.one_step`."""
        weights, n = self.flat_weights(), self.num_layers
        top, h, c = torch.lstm(x[None], list(state), weights, True, n, 0.0, False, False, False)
        return top[0], (h, c)
