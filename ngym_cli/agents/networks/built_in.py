"""Built-in networks: gated (`lstm`, `gru`) and leaky rate units (`rnn`, `ctrnn`, `ei_rnn`).

LSTM (Hochreiter & Schmidhuber 1997, doi:10.1162/neco.1997.9.8.1735) and GRU (Cho et al. 2014, arXiv:1406.1078) have
time constants spread over a range of steps, and input weights that open the gates. The GRU has torch's form: the reset
gate acts on the product. Rate units (Yang et al. 2019, doi:10.1038/s41593-018-0310-2) follow

    r(t + dt) = (1 - a) r(t) + a f(W_in u + W r(t) + b + sqrt(2 / a) noise xi),   a = 1 - exp(-dt / tau)

`a` is the exact solution over one step of constant input, so it equals the usual dt / tau for short steps and stays
below 1 for steps as long as the time constant. `rnn` has no leak, and `ei_rnn` follows Dale's law (Song, Yang & Wang
2016, doi:10.1371/journal.pcbi.1004792).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ngym_cli.agents.compiled import loops
from ngym_cli.agents.compiled.steps import leak, scale_of_noise, unpack_weights
from ngym_cli.agents.networks.base import RecurrentNetwork, State, last_steps
from ngym_cli.agents.networks.constraints import balance
from ngym_cli.agents.networks.leaky_pass import run_leaky

#: Bound of the first weights of one input of a gated network; of n inputs sqrt(n) times less.
INPUT_GAIN = 3.0

#: Gain functions of rate units.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh, "relu": torch.relu, "softplus": nn.functional.softplus,
}  # fmt: skip


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
        padded: whether sequences are padded to equal lengths outside of the CPU, instead of packed.
    """

    function: Any
    step_function: Any
    padded = False

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

    def sequence(
        self, seq: Tensor, counts: Sequence[int], state: State, noise: Tensor | None = None, last: bool = True
    ) -> tuple[Tensor, State]:
        """See `RecurrentNetwork.sequence`."""
        if self.padded and not last and not loops.usable(seq):
            return self.in_torch_padded(seq, counts, state), ()
        return super().sequence(seq, counts, state, noise, last)

    def in_torch_padded(self, seq: Tensor, counts: Sequence[int], state: State) -> Tensor:
        """Return the top layer's activity (step, unit) of packed sequences, which are padded with zeros meanwhile."""
        exists = torch.arange(counts[0])[None, :] < torch.tensor(counts)[:, None]
        steps = exists.flatten().nonzero()[:, 0].to(seq.device)
        block = seq.new_zeros(exists.numel(), seq.shape[1]).index_copy(0, steps, seq).view(*exists.shape, -1)
        initial = self._checked(block, counts[0], [array.contiguous() for array in state])
        top = self.function(block, initial, self.flat_weights(), True, self.num_layers, 0.0, False, False, False)[0]
        return top.flatten(0, 1).index_select(0, steps)

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

    def weights(self, layer: int) -> loops.Weights:
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


class LeakyNetwork(RecurrentNetwork, nn.RNN):  # type: ignore[misc]
    """Rate units with a common gain function and a common leak.

    Args:
        input_size: number of input features.
        hidden_size: units per layer.
        num_layers: stacked layers.
        activation: "tanh", "relu" or "softplus".
        alpha: fraction of the way to the new value that one step goes; 1 is no leak.
        noise: standard deviation of the recurrent noise in the units' input.
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int, activation: str, alpha: float, noise: float = 0.0
    ) -> None:
        self.alpha = alpha
        self.noise = noise
        nn.RNN.__init__(self, input_size, hidden_size, num_layers)  # of torch's class only the weights are used
        self.nonlinearity = activation

    @property
    def noise_scale(self) -> float:  # type: ignore[override]
        """See `RecurrentNetwork`."""
        return scale_of_noise(self.noise, self.alpha)

    @property
    def cell(self) -> str:  # type: ignore[override]
        """See `RecurrentNetwork`."""
        return self.nonlinearity

    def layer_step(self, layer: int, x: Tensor, state: State, noise: Tensor | None) -> State:
        """See `RecurrentNetwork.layer_step`."""
        _, weight, bias, second_bias = self.parameters_of(layer)
        drive = nn.functional.linear(x, weight, bias + second_bias)
        if noise is not None:
            drive = drive + self.noise_scale * noise
        gain, (h,) = ACTIVATIONS[self.nonlinearity], state
        return (torch.lerp(h, gain(drive + h @ self.recurrent_weight(layer).t()), self.alpha),)

    def in_torch(
        self, seq: Tensor, counts: Sequence[int], state: State, noise: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """See `RecurrentNetwork.in_torch`; outside of the CPU a layer has an explicit gradient."""
        run = self.in_few_calls if seq.device.type != "cpu" else super().in_torch
        return run(seq, counts, state, noise)

    def in_few_calls(
        self, seq: Tensor, counts: Sequence[int], state: State, noise: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """`sequence` with few calls of torch per step; see `leaky_pass`."""
        after = []
        for layer in range(self.num_layers):
            _, weight, bias, second_bias = self.parameters_of(layer)
            drive = nn.functional.linear(seq, weight, bias + second_bias).to(state[0].dtype)
            if noise is not None:
                drive = drive + self.noise_scale * noise[:, layer]
            recurrent = self.recurrent_weight(layer)
            seq = run_leaky(drive, recurrent, state[0][layer], counts, self.alpha, self.nonlinearity)
            after.append(last_steps(seq, counts))
        return seq, (torch.stack(after),)


class RNN(LeakyNetwork):
    """Plain recurrent network; the recurrent weights start as the identity (relu) or orthogonal (others)."""

    def __init__(self, input_size: int, hidden_size: int = 64, num_layers: int = 1, activation: str = "tanh") -> None:
        super().__init__(input_size, hidden_size, num_layers, activation, alpha=1.0)

    def reset_parameters(self) -> None:
        """Draw the initial weights."""
        super().reset_parameters()
        for layer in range(self.num_layers):
            weight = self.recurrent_weight(layer)
            nn.init.eye_(weight) if self.nonlinearity == "relu" else nn.init.orthogonal_(weight)


class CTRNN(LeakyNetwork):
    """Continuous-time rate network.

    Args:
        input_size: number of input features.
        hidden_size: units per layer.
        num_layers: stacked layers.
        activation: "tanh", "relu" or "softplus".
        tau: time constant of the units (ms).
        dt: time step of the task (ms).
        noise: standard deviation of the recurrent noise.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int = 64,
        num_layers: int = 1,
        activation: str = "relu",
        tau: float = 100.0,
        dt: float = 100.0,
        noise: float = 0.0,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, activation, leak(dt, tau), noise)

    def reset_parameters(self) -> None:
        """Draw the initial weights."""
        super().reset_parameters()
        for layer in range(self.num_layers):
            nn.init.orthogonal_(self.recurrent_weight(layer))


class EIRNN(LeakyNetwork):
    """Rectified rate units whose outgoing recurrent weights keep a fixed sign during training.

    The recurrent matrix is `|weight| * mask * sign(from)`, so the signs cannot change. No unit projects to itself.
    Initially the total inhibition that a unit receives balances its total excitation.

    Args:
        input_size: number of input features.
        hidden_size: units per layer.
        num_layers: stacked layers.
        tau: time constant of the units (ms).
        dt: time step of the task (ms).
        noise: standard deviation of the recurrent noise.
        inhibitory: fraction of inhibitory units (the last ones).
        density: fraction of the possible connections that exist, drawn at construction.
        mask: matrix (to, from) of zeros and ones used for every layer in place of a random one.
    """

    sign: Tensor
    signed = True

    def __init__(
        self,
        input_size: int,
        hidden_size: int = 64,
        num_layers: int = 1,
        tau: float = 100.0,
        dt: float = 100.0,
        noise: float = 0.0,
        inhibitory: float = 0.2,
        density: float = 1.0,
        mask: Sequence[Sequence[float]] | None = None,
    ) -> None:
        self.n_inhibitory = round(inhibitory * hidden_size)
        if not 0 < self.n_inhibitory < hidden_size:
            raise ValueError(f"inhibitory={inhibitory} of {hidden_size} units leaves one population empty")
        super().__init__(input_size, hidden_size, num_layers, "relu", leak(dt, tau), noise)
        sign = torch.ones(hidden_size)
        sign[-self.n_inhibitory :] = -1
        self.register_buffer("sign", sign)
        for layer in range(num_layers):
            self.register_buffer(f"mask_l{layer}", _connections(hidden_size, density, mask))
        self._balance()

    def recurrent_weight(self, layer: int) -> Tensor:
        """The signed matrix (to, from) of a layer."""
        return self.parameters_of(layer)[0].abs() * (self.get_buffer(f"mask_l{layer}") * self.sign)

    def _balance(self) -> None:
        """Draw balanced recurrent weights of spectral radius 1, and input weights."""
        excitatory = slice(self.hidden_size - self.n_inhibitory)
        inhibitory = slice(self.hidden_size - self.n_inhibitory, None)
        for layer in range(self.num_layers):
            weight, from_input, _, _ = self.parameters_of(layer)
            balance(weight, excitatory, inhibitory, self.get_buffer(f"mask_l{layer}") * self.sign)
            nn.init.xavier_uniform_(from_input)


def _connections(units: int, density: float, mask: Sequence[Sequence[float]] | None) -> Tensor:
    if mask is None:
        connections = (torch.rand(units, units) < density).float()
    else:
        connections = torch.as_tensor(mask, dtype=torch.float32)
        if connections.shape != (units, units):
            raise ValueError(f"mask must be {units} x {units} (to, from), got {tuple(connections.shape)}")
    return connections * (1 - torch.eye(units))
