"""Gated recurrent units (Cho et al. 2014, arXiv:1406.1078), in torch's form: the reset gate acts on the product."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from ngym_cli.agents.networks import loops
from ngym_cli.agents.networks.base import RecurrentNetwork, State


class GRU(RecurrentNetwork, nn.GRU):  # type: ignore[misc]
    """`torch.nn.GRU` behind the common interface."""

    cell = "gru"

    def __init__(self, input_size: int, hidden_size: int = 64, num_layers: int = 1) -> None:
        nn.GRU.__init__(self, input_size, hidden_size, num_layers)

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
