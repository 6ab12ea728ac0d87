"""Gated recurrent units (Cho et al. 2014, arXiv:1406.1078), in torch's form: the reset gate acts on the product."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ngym_cli.agents.networks import loops
from ngym_cli.agents.networks.base import State
from ngym_cli.agents.networks.gates import GatedNetwork
from ngym_cli.agents.networks.steps import unpack_weights


class GRU(GatedNetwork, nn.GRU):  # type: ignore[misc]
    """`torch.nn.GRU` behind the common interface.

    Args:
        input_size: number of input features.
        hidden_size: units per layer.
        num_layers: stacked layers.
        memory: time constants (steps) that the update gates begin with are spread from 1 to this, as in the LSTM
            (Tallec & Ollivier 2018, arXiv:1804.11188). The weights of the input begin as large as there: with torch's,
            a weak stimulus is hardly seen, and evidence that fades within two steps is not summed.
    """

    cell = "gru"

    def in_torch(
        self, seq: Tensor, counts: Sequence[int], state: State, noise: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """See `RecurrentNetwork.in_torch`."""
        h, weights = state[0].contiguous(), self.flat_weights()
        top, h = torch.gru(seq, torch.tensor(counts), h, weights, True, self.num_layers, 0.0, False, False)
        return top, (h,)

    def one_step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """See `RecurrentNetwork.one_step`."""
        top, h = torch.gru(x[None], state[0], self.flat_weights(), True, self.num_layers, 0.0, False, False, False)
        return top[0], (h,)

    def weights(self, layer: int) -> loops.Weights:
        """See `RecurrentNetwork.weights`; the candidate's parts from the inputs and from h stay separate."""
        w_hh, w_ih, b_ih, b_hh = unpack_weights(torch, self.hidden_size, self.parameters_of(layer))
        return w_hh, w_ih, b_ih, b_hh
