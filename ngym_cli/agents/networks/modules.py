"""Modules of torch as cells: `nn.RNNCell`, `nn.GRUCell`, `nn.LSTMCell`, and modules from input and state to both."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ngym_cli.agents.networks.base import State
from ngym_cli.agents.networks.cell import Cell, StateError


class ModuleCell(Cell):
    """Cell around a module whose ``forward`` takes an input and a state.

    The module returns its new state, as the cells of torch do, or a pair of an output of ``units`` numbers and the new
    state. The network is read out from the output, or from the first array of the state.

    Args:
        module: class of the module, called with the numbers of inputs and units.
        inputs: number of inputs of a step.
        units: number of units.
        **options: further arguments of the module. Its attribute ``state_sizes`` has the sizes of its state; by default
            a single array of ``units`` numbers.
    """

    def __init__(self, module: type[nn.Module], inputs: int, units: int, **options: Any) -> None:
        super().__init__(inputs, units)
        self.module = module(inputs, units, **options)
        declared: Any = getattr(self.module, "state_sizes", None)
        inner = (units, units) if issubclass(module, nn.LSTMCell) else (units,) if declared is None else tuple(declared)
        self._has_output = not issubclass(module, nn.RNNCell | nn.GRUCell | nn.LSTMCell)
        self.state_sizes = (units, *inner) if self._has_output else inner

    def step(self, x: Tensor, state: State) -> State:
        """See `Cell.step`.

        Raises:
            StateError: if the module does not return an output and a state.
        """
        inner = state[1:] if self._has_output else state
        result: Any = self.module(x, inner[0] if len(inner) == 1 else inner)
        if not self._has_output:
            return (result,) if isinstance(result, Tensor) else tuple(result)
        if not isinstance(result, tuple) or len(result) != 2:
            raise StateError("forward(input, state) must return a pair of output and new state")
        output, after = result
        return (output, *((after,) if isinstance(after, Tensor) else tuple(after)))
