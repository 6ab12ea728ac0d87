"""Gated networks, `lstm` and `gru`, behind the common interface.

LSTM (Hochreiter & Schmidhuber 1997, doi:10.1162/neco.1997.9.8.1735) and GRU (Cho et al. 2014, arXiv:1406.1078) have
time constants spread over a range of steps, and input weights that open the gates. The GRU has torch's form: the reset
gate acts on the product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ngym_cli.agents.compiled import autograd
from ngym_cli.agents.compiled.steps import unpack_weights
from ngym_cli.agents.networks.base import RecurrentNetwork, State

#: Bound of the first weights of one input of a gated network; of n inputs sqrt(n) times less.
INPUT_GAIN = 3.0


class GatedNetwork(RecurrentNetwork):
    """Base of networks with gates; torch's own class follows among the bases: `class GRU(GatedNetwork, nn.GRU)`.

    Args:
        input_size: number of input features.
        hidden_size: units per layer.
        num_layers: stacked layers.
        memory: time constants (steps) of the gates that hold are spread from 1 to this, so that what they hold fades
            with as many steps (Tallec & Ollivier 2018, arXiv:1804.11188).

    Attributes:
        function: torch's function of the network, for packed sequences and for others.
        step_function: torch's function of a single step of a layer.
    """

    function: Any
    step_function: Any

    def __init__(self, input_size: int, hidden_size: int = 64, num_layers: int = 1, memory: float = 30.0) -> None:
        self.memory = memory
        super().__init__(input_size, hidden_size, num_layers)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw the initial weights: torch's own, biases of the gates, then input weights that open the gates."""
        super().reset_parameters()  # type: ignore[misc]
        for layer in range(self.num_layers):
            _, _, bias, second_bias = self.parameters_of(layer)
            nn.init.zeros_(bias)
            nn.init.zeros_(second_bias)
            self.holding_gate(second_bias).uniform_(0, self.memory - 1).log1p_()
        weight = self.parameters_of(0)[1]
        bound = INPUT_GAIN * weight.shape[1] ** -0.5
        nn.init.uniform_(weight, -bound, bound)

    def holding_gate(self, bias: Tensor) -> Tensor:
        """Biases (unit,) of the gate that holds the state; in torch the second gate of LSTM and GRU."""
        return bias[self.hidden_size : 2 * self.hidden_size]

    def in_torch(
        self, seq: Tensor, counts: Sequence[int], state: State, noise: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """See `RecurrentNetwork.in_torch`; torch's own function takes packed sequences as a whole."""
        initial = self._checked(seq, counts[0], [array.contiguous() for array in state])
        weights, n = self.flat_weights(), self.num_layers
        top, *after = self.function(seq, torch.tensor(counts), initial, weights, True, n, 0.0, False, False)
        return top, tuple(after)

    def one_step(self, x: Tensor, state: State, noise: Tensor | None = None) -> tuple[Tensor, State]:
        """See `RecurrentNetwork.one_step`."""
        initial = self._checked(x, x.shape[0], list(state))
        weights, n = self.flat_weights(), self.num_layers
        top, *after = self.function(x[None], initial, weights, True, n, 0.0, False, False, False)
        return top[0], tuple(after)

    def _checked(self, inputs: Tensor, n: int, state: list[Tensor]) -> list[Tensor] | Tensor:
        """Return the state of n sequences as torch's function takes it; that of the LSTM reads beyond wrong arrays."""
        if inputs.shape[-1] != self.input_size:
            raise ValueError(f"expected {self.input_size} features, got {inputs.shape[-1]}")
        if state[0].shape[1] != n:
            raise ValueError(f"expected states of {n} sequences, got {state[0].shape[1]}")
        return state if self.n_states > 1 else state[0]

    def flat_weights(self) -> list[Tensor]:
        """Effective weights in the order of torch's own functions."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return [getattr(self, f"{name}_l{layer}") for layer in range(self.num_layers) for name in names]

    def layer_step(self, layer: int, x: Tensor, state: State, noise: Tensor | None) -> State:
        """See `RecurrentNetwork.layer_step`."""
        recurrent, inputs, bias, second_bias = self.parameters_of(layer)
        after = self.step_function(x, state if self.n_states > 1 else state[0], inputs, recurrent, bias, second_bias)
        return tuple(after) if self.n_states > 1 else (after,)


class GRU(GatedNetwork, nn.GRU):  # type: ignore[misc]
    """`torch.nn.GRU` behind the common interface.

    Args:
        input_size: number of input features.
        hidden_size: units per layer.
        num_layers: stacked layers.
        memory: time constants (steps) that the update gates begin with are spread from 1 to this, as in the LSTM
            (Tallec & Ollivier 2018, arXiv:1804.11188). The weights of the input begin as large as there: with torch's,
            a weak stimulus is hardly seen, and evidence that fades within two steps is not summed.
    """

    cell = "gru"
    function = staticmethod(torch.gru)
    step_function = staticmethod(torch.gru_cell)

    def weights(self, layer: int) -> autograd.Weights:
        """See `RecurrentNetwork.weights`; the candidate's parts from the inputs and from h stay separate."""
        w_hh, w_ih, b_ih, b_hh = unpack_weights(torch, self.hidden_size, self.parameters_of(layer))
        return w_hh, w_ih, b_ih, b_hh


class LSTM(GatedNetwork, nn.LSTM):  # type: ignore[misc]
    """`torch.nn.LSTM` behind the common interface; the state is `(h, c)`.

    Args:
        input_size: number of input features.
        hidden_size: units per layer.
        num_layers: stacked layers.
        memory: time constants (steps) that the gates begin with are spread from 1 to this: what is held fades this
            slowly and is overwritten as slowly (Tallec & Ollivier 2018, arXiv:1804.11188). Without it delays of 20
            steps are hardly ever bridged. What is seen opens the gates, so the weights of the input begin large.
    """

    n_states = 2
    cell = "lstm"
    function = staticmethod(torch.lstm)
    step_function = staticmethod(torch.lstm_cell)

    def reset_parameters(self) -> None:
        """Draw the initial weights; each unit is overwritten as slowly as the unit forgets."""
        super().reset_parameters()
        for layer in range(self.num_layers):
            bias = self.parameters_of(layer)[3]
            with torch.no_grad():
                bias[: self.hidden_size] = -self.holding_gate(bias)
