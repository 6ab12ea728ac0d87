"""Recurrent attention, `attention`: each place of an image is compared with a remembered template.

Search for a shown object needs the same comparison at every place (Duncan & Humphreys 1989; Desimone & Duncan 1995,
10.1146/annurev.ne.18.030195.001205). A long short-term memory learns it for each place anew; here all places share it.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from ngym_cli.agents.networks.base import State
from ngym_cli.agents.networks.cell import Cell, CellNetwork
from ngym_cli.errors import UserError


class TemplateAttention(Cell):
    """Long short-term memory that attends to the places of an image that resemble a template.

    Attention is the softmax over places of minus the squared distance between the features of a place and a linear
    function of the template. The memory reads the attended features and the largest value of each feature over all
    places; a gate of the memory writes these largest values, the features of an object that is seen alone, into the
    template. The first units are those of the memory, the last units are the logarithms of attention, a unit for each
    place, so that the read-out learns directly where the template is.

    Args:
        inputs: features of all places, one place after the other.
        units: units of the memory and of attention together.
        channels: features of a place.
        memory: time constants (steps) that the gates of the memory begin with are spread from 1 to this.
        template: time constant (steps) that the template begins with; it is never shorter than half of this, so that a
            single step does not replace the template.

    Raises:
        UserError: if there are no more units than places.
    """

    def __init__(self, inputs: int, units: int, channels: int, memory: float = 30.0, template: float = 10.0) -> None:
        super().__init__(inputs, units)
        places = inputs // channels
        if units <= places:
            raise UserError(f"network attention needs more units than the image has places ({places}), not {units}")
        self.channels, self.n_memory = channels, units - places
        self.state_sizes = (units, self.n_memory, channels)
        self.fastest = min(1.0, 2 / template)
        self.cell = nn.LSTMCell(2 * channels, self.n_memory)
        self.gate = nn.Linear(self.n_memory, 1)
        self.key = nn.Linear(channels, channels)
        with torch.no_grad():
            self.cell.bias_ih.zero_()
            self.cell.bias_hh.zero_()
            self.cell.bias_hh[self.n_memory : 2 * self.n_memory].uniform_(0, memory - 1).log1p_()
            self.gate.weight.zero_()
            self.gate.bias.zero_()
            nn.init.eye_(self.key.weight)
            self.key.bias.zero_()

    def step(self, x: Tensor, state: State) -> State:
        """See `Cell.step`; the state is activity, cell state of the memory, and template."""
        activity, memory, template = state
        features = x.unflatten(-1, (-1, self.channels))
        distance = (features - self.key(template)[:, None]).square().sum(-1)
        attention = torch.log_softmax(-distance, -1)
        largest = features.amax(1)
        attended = (attention.exp()[:, :, None] * features).sum(1)
        hidden, memory = self.cell(torch.cat([attended, largest], 1), (activity[:, : self.n_memory], memory))
        written = self.fastest * torch.sigmoid(self.gate(hidden))
        return torch.cat([hidden, attention], 1), memory, torch.lerp(template, largest, written)


def build(
    input_size: int, units: int, layers: int, channels: int, memory: float = 30.0, template: float = 10.0
) -> CellNetwork:
    """Make the network.

    Args:
        input_size: number of input features.
        units: units of the memory and of attention together.
        layers: stacked layers, which must be 1.
        channels: features of a place.
        memory: see `TemplateAttention`.
        template: see `TemplateAttention`.

    Raises:
        UserError: for several layers, or if there are no more units than places.
    """
    if layers > 1:
        raise UserError(f"network attention has a single layer, not {layers}")
    cell = partial(TemplateAttention, channels=channels, memory=memory, template=template)
    return CellNetwork(cell, input_size, units, layers)
