"""Recurrent networks as discrete dynamical systems ``h' = F(h, x)`` with exact derivatives.

States are vectors: the LSTM's hidden and cell state are concatenated, and so are the layers of a stack. All functions
act on
batches of states, shape (n, units), under one input, shape (inputs,), or one input for each state, shape (n, inputs).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from neurogym.array_types import FloatArray

Function = Callable[[FloatArray], FloatArray]


class System(Protocol):
    """Interface of a discrete dynamical system.

    Attributes:
        units: length of the state vector.
        inputs: number of input channels.
    """

    @property
    def units(self) -> int:
        """Length of the state vector."""

    @property
    def inputs(self) -> int:
        """Number of input channels."""

    def step(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the next states, shape (n, units)."""

    def jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the state, shape (n, units, units); row i is the gradient of unit i."""

    def input_jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the input, shape (n, units, inputs)."""


def _sigmoid(x: FloatArray) -> FloatArray:
    return 0.5 * (1 + np.tanh(0.5 * x))


#: Activation functions and their derivatives as functions of the activation's argument.
ACTIVATIONS: dict[str, tuple[Function, Function]] = {
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "relu": (lambda x: np.maximum(x, 0), lambda x: (x > 0).astype(float)),
    "softplus": (lambda x: np.logaddexp(0, x), _sigmoid),
    "sigmoid": (_sigmoid, lambda x: _sigmoid(x) * (1 - _sigmoid(x))),
    "linear": (lambda x: x, np.ones_like),
}


@dataclass(frozen=True)
class CellSystem:
    """Weights that all cells have, of which the shapes tell the sizes.

    Attributes:
        recurrent: weights of the state; the number of columns is the number of hidden units.
        weights: weights of the input; the number of columns is the number of channels.
    """

    recurrent: FloatArray
    weights: FloatArray

    @property
    def units(self) -> int:
        """Length of the state vector."""
        return self.recurrent.shape[1]

    @property
    def inputs(self) -> int:
        """Number of input channels."""
        return self.weights.shape[1]


@dataclass(frozen=True)
class Leaky(CellSystem):
    """Leaky or plain recurrent units, ``h' = (1 - alpha) h + alpha f(W h + U x + b)``.

    Attributes:
        recurrent: ``W``, shape (units, units).
        weights: ``U``, shape (units, inputs).
        bias: ``b``, shape (units,).
        activation: name of ``f`` in `ACTIVATIONS`.
        alpha: fraction of the way to the steady state in one step; 1 for units without leak.
    """

    bias: FloatArray
    activation: str = "tanh"
    alpha: float = 1.0

    def _drive(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        return states @ self.recurrent.T + inputs @ self.weights.T + self.bias

    def _slope(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        return self.alpha * ACTIVATIONS[self.activation][1](self._drive(states, inputs))

    def step(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the next states, shape (n, units)."""
        return (1 - self.alpha) * states + self.alpha * ACTIVATIONS[self.activation][0](self._drive(states, inputs))

    def jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the state, shape (n, units, units)."""
        return self._slope(states, inputs)[:, :, None] * self.recurrent + (1 - self.alpha) * np.eye(self.units)

    def input_jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the input, shape (n, units, inputs)."""
        return self._slope(states, inputs)[:, :, None] * self.weights


@dataclass(frozen=True)
class GRU(CellSystem):
    """Gated recurrent unit in the form of ``torch.nn.GRU`` (Cho et al. 2014, arXiv 1406.1078).

    Attributes:
        recurrent: weights of the state, gates r, z, then the candidate, shape (3 * units, units).
        weights: weights of the input, shape (3 * units, inputs).
        bias_inputs: biases next to the input weights, shape (3 * units,).
        bias_recurrent: biases next to the recurrent weights, shape (3 * units,).
    """

    bias_inputs: FloatArray
    bias_recurrent: FloatArray

    def _gates(self, states: FloatArray, inputs: FloatArray) -> tuple[FloatArray, ...]:
        """Return reset gate, update gate, candidate and the candidate's recurrent part, each of shape (n, units)."""
        from_state = np.split(states @ self.recurrent.T + self.bias_recurrent, 3, axis=-1)
        driven = np.broadcast_to(inputs @ self.weights.T + self.bias_inputs, (len(states), 3 * self.units))
        from_input = np.split(driven, 3, axis=-1)
        r, z = (_sigmoid(a + b) for a, b in zip(from_state[:2], from_input[:2], strict=True))
        return r, z, np.tanh(from_input[2] + r * from_state[2]), from_state[2]

    def step(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the next states, shape (n, units)."""
        _, z, candidate, _ = self._gates(states, inputs)
        return (1 - z) * candidate + z * states

    def _slopes(self, states: FloatArray, inputs: FloatArray) -> tuple[FloatArray, ...]:
        """Return z and the derivatives of the next state by the arguments of r, z and the candidate, and r."""
        r, z, candidate, recurrent = self._gates(states, inputs)
        by_candidate = (1 - z) * (1 - candidate**2)
        return z, by_candidate * recurrent * r * (1 - r), (states - candidate) * z * (1 - z), by_candidate, r

    def jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the state, shape (n, units, units)."""
        z, by_r, by_z, by_candidate, r = self._slopes(states, inputs)
        w_r, w_z, w_c = np.split(self.recurrent, 3)
        result = by_r[:, :, None] * w_r + by_z[:, :, None] * w_z + (by_candidate * r)[:, :, None] * w_c
        result[:, np.arange(self.units), np.arange(self.units)] += z
        return result

    def input_jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the input, shape (n, units, inputs)."""
        _, by_r, by_z, by_candidate, _ = self._slopes(states, inputs)
        slopes = zip((by_r, by_z, by_candidate), np.split(self.weights, 3), strict=True)
        return np.sum([slope[:, :, None] * block for slope, block in slopes], axis=0)


@dataclass(frozen=True)
class LSTM(CellSystem):
    """Long short-term memory in the form of ``torch.nn.LSTM``.

    Source: Hochreiter & Schmidhuber 1997, 10.1162/neco.1997.9.8.1735. The state is hidden state and cell state
    concatenated, of length 2 * hidden units.

    Attributes:
        recurrent: weights of the hidden state, gates i, f, candidate, o, shape (4 * hidden, hidden).
        weights: weights of the input, shape (4 * hidden, inputs).
        bias: sum of the biases, shape (4 * hidden,).
    """

    bias: FloatArray

    @property
    def units(self) -> int:
        """Length of the state: twice the number of hidden units."""
        return 2 * self.recurrent.shape[1]

    def _gates(self, states: FloatArray, inputs: FloatArray) -> tuple[FloatArray, ...]:
        n = self.recurrent.shape[1]
        h, c = states[:, :n], states[:, n:]
        drive = h @ self.recurrent.T + inputs @ self.weights.T + self.bias
        gates = _sigmoid(drive)  # of all four at once: calls take longer than the products
        i, f, g, o = gates[:, :n], gates[:, n : 2 * n], np.tanh(drive[:, 2 * n : 3 * n]), gates[:, 3 * n :]
        return i, f, g, o, c, f * c + i * g

    def step(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the next states, shape (n, units)."""
        *_, o, _, cell = self._gates(states, inputs)
        return np.concatenate([o * np.tanh(cell), cell], axis=1)

    def _derivatives(self, states: FloatArray, inputs: FloatArray, weights: FloatArray) -> tuple[FloatArray, ...]:
        """Return derivatives of hidden and cell state by what the weights multiply, and the factor to hidden."""
        i, f, g, o, c, cell = self._gates(states, inputs)
        w_i, w_f, w_g, w_o = np.split(weights, 4)
        slopes = ((g * i * (1 - i), w_i), (c * f * (1 - f), w_f), (i * (1 - g**2), w_g))
        of_cell = np.sum([slope[:, :, None] * block for slope, block in slopes], axis=0)
        squashed = np.tanh(cell)
        to_hidden = o * (1 - squashed**2)
        of_hidden = to_hidden[:, :, None] * of_cell + (squashed * o * (1 - o))[:, :, None] * w_o
        return of_hidden, of_cell, to_hidden, f

    def jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the state, shape (n, units, units)."""
        of_hidden, of_cell, to_hidden, f = self._derivatives(states, inputs, self.recurrent)
        hidden = self.recurrent.shape[1]
        result = np.zeros((len(states), 2 * hidden, 2 * hidden))
        result[:, :hidden, :hidden], result[:, hidden:, :hidden] = of_hidden, of_cell
        k = np.arange(hidden)
        result[:, k, hidden + k], result[:, hidden + k, hidden + k] = to_hidden * f, f
        return result

    def input_jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the input, shape (n, units, inputs)."""
        return np.concatenate(self._derivatives(states, inputs, self.weights)[:2], axis=1)


@dataclass(frozen=True)
class Stack:
    """Layers in a row: each layer receives the new hidden state of the layer below.

    Attributes:
        layers: from the input upwards.
        hidden: number of hidden units of each layer, the part of its state that the next layer receives.
    """

    layers: Sequence[System]
    hidden: Sequence[int]

    @property
    def units(self) -> int:
        """Length of the concatenated state."""
        return sum(layer.units for layer in self.layers)

    @property
    def inputs(self) -> int:
        """Number of input channels."""
        return self.layers[0].inputs

    def _parts(self, states: FloatArray) -> list[FloatArray]:
        return np.split(states, np.cumsum([layer.units for layer in self.layers])[:-1], axis=1)

    def step(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the next states, shape (n, units)."""
        layer_inputs, result = inputs, []
        for layer, hidden, block in zip(self.layers, self.hidden, self._parts(states), strict=True):
            result.append(layer.step(block, layer_inputs))
            layer_inputs = result[-1][:, :hidden]
        return np.concatenate(result, axis=1)

    def _derivatives(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the state and, in the last columns, by the input, layer by layer."""
        n, layer_inputs, first = len(states), inputs, 0
        result = np.zeros((n, self.units, self.units + self.inputs))
        below = np.zeros((n, self.inputs, self.units + self.inputs))
        below[:, :, self.units :] = np.eye(self.inputs)
        for layer, hidden, block in zip(self.layers, self.hidden, self._parts(states), strict=True):
            rows = result[:, first : first + layer.units]
            rows += layer.input_jacobian(block, layer_inputs) @ below
            rows[:, :, first : first + layer.units] += layer.jacobian(block, layer_inputs)
            layer_inputs, below = layer.step(block, layer_inputs)[:, :hidden], rows[:, :hidden]
            first += layer.units
        return result

    def jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the state, shape (n, units, units)."""
        return self._derivatives(states, inputs)[:, :, : self.units]

    def input_jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the input, shape (n, units, inputs)."""
        return self._derivatives(states, inputs)[:, :, self.units :]


@dataclass(frozen=True)
class FiniteDifferences:
    """System of any step function, with central differences in place of exact derivatives.

    Attributes:
        function: ``h' = F(h, x)``: takes states, shape (n, units), and inputs, shape (inputs,) or (n, inputs).
        units: length of the state vector.
        inputs: number of input channels.
        size: half the distance of the two points of a difference.
    """

    function: Callable[[FloatArray, FloatArray], FloatArray]
    units: int
    inputs: int
    size: float = field(default=1e-5, kw_only=True)

    def step(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the next states, shape (n, units)."""
        return np.asarray(self.function(states, inputs), float)

    def jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the state, shape (n, units, units)."""
        return self._differences(self.step, states, np.broadcast_to(inputs, (len(states), self.inputs)))

    def input_jacobian(self, states: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the derivatives by the input, shape (n, units, inputs)."""
        every = np.broadcast_to(inputs, (len(states), self.inputs))
        return self._differences(lambda x, h: self.step(h, x), every, states)

    def _differences(
        self, function: Callable[[FloatArray, FloatArray], FloatArray], varied: FloatArray, constant: FloatArray
    ) -> FloatArray:
        """Return central differences by the first argument of a function, shape (n, units, varied columns)."""
        n, columns = varied.shape
        around, second = np.repeat(varied, columns, axis=0), np.repeat(constant, columns, axis=0)
        nudge = np.tile(self.size * np.eye(columns), (n, 1))
        slopes = (function(around + nudge, second) - function(around - nudge, second)) / (2 * self.size)
        return slopes.reshape(n, columns, self.units).swapaxes(1, 2)


def trajectories(
    system: System, inputs: FloatArray, start: FloatArray | None = None, silenced: Sequence[int] = ()
) -> FloatArray:
    """Return the states of a system along given inputs, shape (steps, trials, units).

    Args:
        system: the network.
        inputs: shape (steps, trials, channels).
        start: states before the first step, shape (trials, units); zeros by default.
        silenced: units that are set to 0 after each step.
    """
    state = np.zeros((inputs.shape[1], system.units)) if start is None else start
    visited = np.zeros((len(inputs), *state.shape))
    for k, seen in enumerate(inputs):
        state = system.step(state, seen)
        state[:, list(silenced)] = 0
        visited[k] = state
    return visited
