"""Units without connections to one another."""

import torch
from torch import Tensor, nn

from ngym_cli.agents.networks.cell import Cell


class Autapses(Cell):
    """Units that excite themselves and nothing else; weights of their own activity begin between 0 and 1.

    Args:
        inputs: number of inputs.
        units: number of units.
    """

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__(inputs, units)
        self.read = nn.Linear(inputs, units)
        self.own = nn.Parameter(torch.rand(units))

    def step(self, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the activity after a step."""
        (h,) = state
        return (torch.tanh(self.read(x) + self.own * h),)
