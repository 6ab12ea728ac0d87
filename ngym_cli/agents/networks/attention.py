"""Recurrent attention, `attention`: gaze at the places that resemble a remembered template.

Search for a shown object needs the same comparison at every place (Duncan & Humphreys 1989; Desimone & Duncan 1995,
10.1146/annurev.ne.18.030195.001205). A long short-term memory learns it for each place anew; here all places share it.
"""

from __future__ import annotations

from functools import partial
from math import isqrt, log

import torch
from torch import Tensor, nn

from ngym_cli.agents.networks.base import State
from ngym_cli.agents.networks.cell import Cell, CellNetwork
from ngym_cli.errors import UserError

#: Factor on positions, which lie between -1 and 1, as inputs of the memory.
POSITION_GAIN = 4.0


class TemplateAttention(Cell):
    """Long short-term memory that sees what lies at the attended places, and where.

    Each place is attended by the softmax of minus the squared distance between its features and a template. The memory
    reads the attended features, the attended position and the largest value of each feature over all places. A gate
    writes these largest values, the features of an object that is seen alone, into the template.

    Args:
        inputs: features of all places, one place after the other.
        units: units of the memory.
        channels: features of a place; places are rows of a square grid where there are several, else lie on a line.
        memory: time constants (steps) that the gates of the memory begin with are spread from 1 to this, and that of
            the template is this.
    """

    def __init__(self, inputs: int, units: int, channels: int = 1, memory: float = 10.0) -> None:
        super().__init__(inputs, units)
        channels = channels if inputs % channels == 0 else 1
        self.channels, self.state_sizes = channels, (units, units, channels)
        positions = place_positions(inputs // channels, channels > 1)
        self.register_buffer("positions", positions, persistent=False)
        self.cell = nn.LSTMCell(2 * channels + positions.shape[1], units)
        self.gate = nn.Linear(units + 2 * channels, 1)
        self.sharpness = nn.Parameter(torch.zeros(1))
        with torch.no_grad():
            self.cell.bias_ih.zero_()
            self.cell.bias_hh.zero_()
            self.cell.bias_hh[units : 2 * units].uniform_(0, memory - 1).log1p_()
            self.gate.bias.fill_(-log(memory))

    def step(self, x: Tensor, state: State) -> State:
        """See `Cell.step`; the state is activity, memory and template."""
        activity, memory, template = state
        features = x.unflatten(-1, (-1, self.channels))
        distance = (features - template[:, None]).square().sum(-1)
        attention = torch.softmax(-distance * self.sharpness.exp(), -1)
        glimpse = (attention[:, :, None] * features).sum(1)
        position = attention @ self.get_buffer("positions")
        largest = features.amax(1)
        seen = torch.cat([glimpse, POSITION_GAIN * position, largest], 1)
        activity, memory = self.cell(seen, (activity, memory))
        written = torch.sigmoid(self.gate(torch.cat([activity, largest, glimpse], 1)))
        return activity, memory, torch.lerp(template, largest, written)


def place_positions(n: int, is_grid: bool) -> Tensor:
    """Return positions between -1 and 1, (place, 2) of the rows of a square grid, or (place, 1) on a line.

    Args:
        n: number of places.
        is_grid: whether places lie on a grid, if their number is a square.

    Example:
        >>> place_positions(4, True).tolist()
        [[-0.5, 0.5], [0.5, 0.5], [-0.5, -0.5], [0.5, -0.5]]
    """
    side = isqrt(n) if is_grid and isqrt(n) ** 2 == n else n
    centers = (torch.arange(side) + 0.5) / side * 2 - 1
    if side == n:
        return centers[:, None]
    return torch.stack([centers.repeat(side), -centers.repeat_interleave(side)], 1)


def build(input_size: int, units: int, layers: int, channels: int = 1, memory: float = 10.0) -> CellNetwork:
    """Make the network.

    Args:
        input_size: number of input features.
        units: units per layer.
        layers: stacked layers, a single one where a place has several features.
        channels: features of a place.
        memory: see `TemplateAttention`.

    Raises:
        UserError: for several layers above an image.
    """
    if layers > 1 and channels > 1:
        raise UserError(f"network attention has a single layer above an image, not {layers}")
    return CellNetwork(partial(TemplateAttention, channels=channels, memory=memory), input_size, units, layers)
