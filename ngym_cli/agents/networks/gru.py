"""Gated recurrent units (Cho et al. 2014, arXiv:1406.1078), in torch's form: the reset gate acts on the product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from ngym_cli.agents.networks import loops
from ngym_cli.agents.networks.base import RecurrentNetwork, State
from ngym_cli.agents.networks.gates import check_memory, enlarge_input_weights, spread_time_constants


class GRU(RecurrentNetwork, nn.GRU):  # type: ignore[misc]
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

    def __init__(self, input_size: int, hidden_size: int = 64, num_layers: int = 1, memory: float = 30.0) -> None:
        check_memory(memory)
        self.memory = memory
        nn.GRU.__init__(self, input_size, hidden_size, num_layers)

    def reset_parameters(self) -> None:
        """Draw the initial weights; the gates lie in the order reset, update, candidate."""
        super().reset_parameters()
        units = self.hidden_size
        for layer in range(self.num_layers):
            bias: Any = getattr(self, f"bias_hh_l{layer}")
            nn.init.zeros_(getattr(self, f"bias_ih_l{layer}"))
            nn.init.zeros_(bias)
            spread_time_constants(bias[units : 2 * units], self.memory)
        enlarge_input_weights(cast(Tensor, self.weight_ih_l0))

    def in_torch(
        self, seq: Tensor, counts: Sequence[int], state: State, noise: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """See `RecurrentNetwork.in_torch`."""
        packed, h = nn.GRU.forward(self, PackedSequence(seq, torch.tensor(counts)), state[0].contiguous())
        return packed.data, (h,)

    def one_step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """See `RecurrentNetwork.one_step`."""
        top, h = nn.GRU.forward(self, x[None], state[0])
        return top[0], (h,)

    def weights(self, layer: int) -> loops.Weights:
        """See `RecurrentNetwork.weights`; the candidate's parts from the inputs and from h stay apart."""
        gates, names = 2 * self.hidden_size, ("weight_hh", "weight_ih", "bias_ih", "bias_hh")
        w_hh, w_ih, b_ih, b_hh = (getattr(self, f"{name}_l{layer}") for name in names)
        none = [torch.zeros_like(part[gates:]) for part in (w_hh, w_ih, b_ih)]
        from_h = [torch.cat([part[:gates], zero, part[gates:]]) for part, zero in ((w_hh, none[0]), (b_hh, none[2]))]
        return from_h[0], torch.cat([w_ih, none[1]]), torch.cat([b_ih, none[2]]), from_h[1]
