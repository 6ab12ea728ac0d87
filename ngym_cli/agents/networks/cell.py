"""Base class of users' own network cells, and the recurrent network that stacks such cells.

A cell is a step in plain torch:

    class Leaky(Cell):
        def __init__(self, inputs, units, alpha=0.2):
            super().__init__(inputs, units)
            self.alpha = alpha
            self.read, self.recur = nn.Linear(inputs, units), nn.Linear(units, units)

        def step(self, x, state):
            (h,) = state
            return (torch.lerp(h, torch.tanh(self.read(x) + self.recur(h)), self.alpha),)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ngym_cli.agents.networks.base import ConstrainedWeights, RecurrentNetwork, State, WeightKind
from ngym_cli.config.extensions import user_errors
from ngym_cli.errors import UserError

#: Environments in the step with which a new cell is tried.
TRIED = 2


class StateError(ValueError):
    """A cell whose state does not have the promised form."""


class Cell(nn.Module):
    """Base class of network cells; a subclass defines ``step`` and makes the parameters in ``__init__``.

    Further keyword arguments of ``__init__`` are set with ``--network-arg NAME=VALUE``; an argument ``dt`` receives the
    time step of the task (ms).

    Args:
        inputs: number of inputs of a step.
        units: number of units, the size of the activity.

    Attributes:
        state_sizes: size of each array of the state, as in ``(units, order)``; None for a single array of ``units``
            numbers. The first array is the activity: the network is read out from it, and recordings keep it.
    """

    state_sizes: Sequence[int] | None = None

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.inputs, self.units = inputs, units

    def step(self, x: Tensor, state: State) -> State:
        """Return the state after a step.

        Args:
            x: inputs, shape (environments, inputs).
            state: arrays of shape (environments, size), one for each of ``state_sizes``; zeros at the beginning.

        Returns:
            New arrays of the same shapes. The given arrays must not be changed.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define step(self, x, state)")


def sizes_of(cell: object, units: int) -> tuple[int, ...]:
    """Return the sizes of the state of a cell.

    Raises:
        StateError: if ``state_sizes`` is not a list of positive whole numbers that begins with ``units``.
    """
    declared = getattr(cell, "state_sizes", None)
    sizes = (units,) if declared is None else (declared,) if isinstance(declared, int) else declared
    try:
        sizes = tuple(int(size) for size in sizes)
    except (TypeError, ValueError):
        raise StateError(f"state_sizes must be a list of whole numbers, as in (units, 8), not {declared!r}") from None
    if not sizes or min(sizes) < 1:
        raise StateError(f"state_sizes must be positive whole numbers, not {declared!r}")
    if sizes[0] != units:
        first = f"the first of state_sizes is the activity and must be units ({units}), not {sizes[0]}"
        raise StateError(f"{first}; put the other arrays after it")
    return sizes


def check_state(after: object, sizes: Sequence[int], n: int) -> None:
    """Refuse a returned state of a wrong form.

    Args:
        after: result of ``step``.
        sizes: sizes of the state.
        n: number of environments.

    Raises:
        StateError: says what ``step`` must return.
    """
    expected = ", ".join(f"({n}, {size})" for size in sizes)
    if after is None:
        raise StateError("step returned nothing; it must return the new state, a tuple of arrays")
    if isinstance(after, Tensor):
        raise StateError("step must return a tuple of arrays, as in `return (h,)`, not a single array")
    if not isinstance(after, tuple | list) or not all(isinstance(array, Tensor) for array in after):
        raise StateError(f"step must return a tuple of torch tensors, not {type(after).__name__}")
    shapes = ", ".join(str(tuple(array.shape)) for array in after)
    if len(after) != len(sizes):
        description = f"{len(sizes)} array{'s' * (len(sizes) != 1)} of shape {expected}"
        raise StateError(f"step must return the whole state, {description}; it returned {len(after)} of shape {shapes}")
    if any(tuple(array.shape) != (n, size) for array, size in zip(after, sizes, strict=True)):
        raise StateError(f"step must return arrays of shape {expected}, not {shapes} ({n} environments)")


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


class CellNetwork(RecurrentNetwork):
    """Layers of a user's own cell behind the interface of every recurrent network, in plain torch.

    Args:
        build: makes a cell from its number of inputs and units.
        input_size: number of input features.
        hidden_size: units per layer.
        num_layers: stacked layers; each reads the activity of the layer below.

    Raises:
        StateError: if a step of the cell does not return its state.
    """

    def __init__(
        self, build: Callable[[int, int], nn.Module], input_size: int, hidden_size: int, num_layers: int
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self._build = build
        self._connections: list[ConstrainedWeights] | None = None
        widths = [input_size] + [hidden_size] * (num_layers - 1)
        self.cells = nn.ModuleList(build(width, hidden_size) for width in widths)
        sizes = {sizes_of(cell, hidden_size) for cell in self.cells}
        if len(sizes) > 1:
            raise StateError("the layers have states of different sizes; state_sizes must not depend on inputs")
        self._sizes = sizes.pop()
        self.n_states = len(self._sizes)
        if not any(weight.requires_grad for weight in self.parameters()):
            raise StateError("the cell has no parameters; make them in __init__ with nn.Parameter or nn.Linear")
        for width, cell in zip(widths, self.cells, strict=True):
            like = next(cell.parameters(), next(self.parameters()))
            step: Any = cell.step
            with torch.no_grad():
                after = step(like.new_zeros(TRIED, width), tuple(like.new_zeros(TRIED, size) for size in self._sizes))
            check_state(after, self._sizes, TRIED)

    @property
    def state_sizes(self) -> tuple[int, ...]:
        """See ``RecurrentNetwork``."""
        return self._sizes

    def layer_step(self, layer: int, x: Tensor, state: State, noise: Tensor | None) -> State:
        """See ``RecurrentNetwork.layer_step``."""
        step: Any = self.cells[layer].step
        return tuple(step(x, state))

    def connections(self) -> Iterator[ConstrainedWeights]:
        """See ``RecurrentNetwork.connections``; the shape of a parameter says what kind it is."""
        if self._connections is None:  # found once, before constraints rename parameters
            self._connections = [
                weights for layer, cell in enumerate(self.cells) for weights in self._constrained_weights(layer, cell)
            ]
        return iter(self._connections)

    def _constrained_weights(self, layer: int, cell: nn.Module) -> Iterator[ConstrainedWeights]:
        inputs = self.hidden_size + 1  # differs from the number of units, so that shapes tell
        with torch.random.fork_rng(devices=()):
            probe = dict(self._build(inputs, self.hidden_size).named_parameters())
        flipped = any(weight.ndim == 2 and weight.shape[0] == inputs for weight in probe.values())
        for path, parameter in probe.items():
            owner, _, name = path.rpartition(".")
            kind: WeightKind = "bias" if parameter.ndim < 2 else "recurrent"
            if parameter.ndim == 2 and parameter.shape[0 if flipped else 1] == inputs:
                kind = "input"
            yield ConstrainedWeights(kind, cell.get_submodule(owner), name, layer, flipped and parameter.ndim == 2)

    def matrices(self) -> Iterator[Tensor]:
        """See ``RecurrentNetwork.matrices``."""
        return (weights.tensor for weights in self.connections() if weights.kind != "bias")


def build_network(cls: type, name: str, input_size: int, units: int, layers: int, **options: object) -> CellNetwork:
    """Make the network of a user's own cell.

    Args:
        cls: class of the cell.
        name: reference of the cell, for messages.
        input_size: number of input features.
        units: units per layer.
        layers: stacked layers.
        **options: further arguments of the cell.

    Raises:
        UserError: if the cell cannot be made or stepped.
    """
    make = cls if callable(getattr(cls, "step", None)) else partial(ModuleCell, cls)
    with user_errors(f"network {name}"):
        try:
            return CellNetwork(lambda inputs, n: make(inputs, n, **options), input_size, units, layers)
        except StateError as error:
            raise UserError(f"network {name}: {error}") from error
