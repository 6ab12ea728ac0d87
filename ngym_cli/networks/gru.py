"""Gated recurrent units (Cho et al. 2014, arXiv:1406.1078), in torch's form: the reset gate acts on the product."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from ngym_cli.networks.base import RecurrentNetwork, State


class GRU(RecurrentNetwork, nn.GRU):  # type: ignore[misc]
    """`torch.nn.GRU` behind the common interface."""

    cell = "gru"

    def __init__(self, input_size: int, hidden_size: int = 64, num_layers: int = 1) -> None:
        """See the class."""
        nn.GRU.__init__(self, input_size, hidden_size, num_layers)

    def in_torch(
        self, seq: Tensor, counts: Sequence[int], state: State, noise: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """See `RecurrentNetwork.in_torch`."""
        packed, h = nn.GRU.forward(self, PackedSequence(seq, torch.tensor(counts)), state[0].contiguous())
        return packed.data, (h,)

    def joint_weight(self, layer: int) -> Tensor:
        """See `RecurrentNetwork.joint_weight`; the candidate's parts from the inputs and from h stay apart."""
        w_ih, w_hh = getattr(self, f"weight_ih_l{layer}"), getattr(self, f"weight_hh_l{layer}")
        b_ih, b_hh = getattr(self, f"bias_ih_l{layer}")[:, None], getattr(self, f"bias_hh_l{layer}")[:, None]
        gates = 2 * self.hidden_size
        both = torch.cat([w_hh, w_ih, b_ih + b_hh], dim=1)[:gates]
        from_input = torch.cat([torch.zeros_like(w_hh[gates:]), w_ih[gates:], b_ih[gates:]], dim=1)
        from_h = torch.cat([w_hh[gates:], torch.zeros_like(w_ih[gates:]), b_hh[gates:]], dim=1)
        return torch.cat([both, from_input, from_h])
