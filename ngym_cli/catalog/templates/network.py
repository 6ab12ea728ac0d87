"""A network cell of your own. Edit the example line by line and run ``ngym check`` after each step."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ngym_cli import Cell


class MyNetwork(Cell):
    """Fast units that read a slow trace of themselves.

    Args:
        inputs: number of inputs of a step.
        units: number of fast units, whose activity is read out.
        traces: number of slow traces.
        rate: fraction of the way that a trace goes to its new value in a step.
    """

    # Arguments after ``units`` are set with --network-arg NAME=VALUE. An argument ``dt`` receives the time step (ms).
    def __init__(self, inputs: int, units: int, traces: int = 8, rate: float = 0.1) -> None:
        super().__init__(inputs, units)
        # Sizes of the arrays of the state; the first is the activity. Leave this line out for a single array.
        self.state_sizes = (units, traces)
        self.rate = rate
        # Parameters are made here, never in ``step``; fixed arrays with self.register_buffer(name, tensor).
        self.read = nn.Linear(inputs, units)
        self.recur = nn.Linear(units + traces, units, bias=False)
        self.write = nn.Linear(units, traces, bias=False)
        nn.init.orthogonal_(self.recur.weight)

    def step(self, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the new state, arrays (environments, size); x has the shape (environments, inputs)."""
        activity, trace = state
        activity = torch.tanh(self.read(x) + self.recur(torch.cat([activity, trace], dim=1)))
        # New arrays, not changes in place: gradients flow back through the old ones.
        trace = torch.lerp(trace, self.write(activity), self.rate)
        return activity, trace
