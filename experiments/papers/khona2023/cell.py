"""Units without connections to one another, and units on a sheet that are connected to near ones."""

import torch
from torch import Tensor, nn
from torch.nn import functional

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


class Sheet(Cell):
    """Units on a square sheet without edges, each connected to the units that are nearest to it.

    Args:
        inputs: number of inputs.
        units: number of units, a square number.
        share: share of all units that a unit is connected to, itself among them; 1 connects all.

    Raises:
        ValueError: If the number of units is not a square number.
    """

    def __init__(self, inputs: int, units: int, share: float = 0.1) -> None:
        super().__init__(inputs, units)
        side = round(units**0.5)
        if side**2 != units:
            raise ValueError(f"a sheet needs a square number of units, got {units}; {side**2} is near")
        line = torch.arange(side)
        position = torch.cartesian_prod(line, line)
        distances = (position[:, None] - position).abs()
        distance = torch.minimum(distances, side - distances).float().norm(dim=-1)
        reach = distance[0].sort().values[max(1, round(share * units)) - 1]
        self.register_buffer("near", (distance <= reach).float())
        self.read = nn.Linear(inputs, units)
        scale = self.near[0].sum() ** -0.5
        self.recurrent = nn.Parameter((2 * torch.rand(units, units) - 1) * scale)

    def step(self, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the activity after a step."""
        (h,) = state
        return (torch.tanh(self.read(x) + functional.linear(h, self.recurrent * self.near)),)
