"""Leaky rate units: `rnn`, `ctrnn` and `ei_rnn`.

Rate units (Yang et al. 2019, doi:10.1038/s41593-018-0310-2) follow

    r(t + dt) = (1 - a) r(t) + a f(W_in u + W r(t) + b + sqrt(2 / a) noise xi),   a = 1 - exp(-dt / tau)

`a` is the exact solution over one step of constant input, so it equals the usual dt / tau for short steps and stays
below 1 for steps as long as the time constant. `rnn` has no leak, and `ei_rnn` follows Dale's law (Song, Yang & Wang
2016, doi:10.1371/journal.pcbi.1004792).

`run_leaky` computes packed sequences with an explicit gradient, for devices where each call of torch is costly.
Automatic differentiation of a loop over time launches a dozen kernels per step and sums the gradient of the weights
step by step. There a step is three calls, its gradient four, and the gradient of the weights is a single product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ngym_cli.agents.compiled.steps import leak, scale_of_noise
from ngym_cli.agents.networks.base import RecurrentNetwork, State, last_steps
from ngym_cli.agents.networks.constraints import balance

#: Gain functions of rate units.
GAIN_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "softplus": nn.functional.softplus,
}


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

    def reset_parameters(self) -> None:
        """Draw the initial weights; the recurrent ones are orthogonal."""
        super().reset_parameters()
        for layer in range(self.num_layers):
            nn.init.orthogonal_(self.recurrent_weight(layer))

    def layer_step(self, layer: int, x: Tensor, state: State, noise: Tensor | None) -> State:
        """See `RecurrentNetwork.layer_step`."""
        _, weight, bias, second_bias = self.parameters_of(layer)
        drive = nn.functional.linear(x, weight, bias + second_bias)
        if noise is not None:
            drive = drive + self.noise_scale * noise
        gain, (h,) = GAIN_FUNCTIONS[self.nonlinearity], state
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
        """`sequence` with few calls of torch per step; see `run_leaky`."""
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
    """Plain recurrent network."""

    def __init__(self, input_size: int, hidden_size: int = 64, num_layers: int = 1, activation: str = "tanh") -> None:
        super().__init__(input_size, hidden_size, num_layers, activation, alpha=1.0)


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


class EIRNN(CTRNN):
    """Rectified rate units whose outgoing recurrent weights keep a fixed sign during training.

    The recurrent matrix is `|weight| * mask * sign(from)`, so the signs cannot change. No unit projects to itself.
    Initially the total inhibition that a unit receives balances its total excitation.

    Args:
        input_size: number of input features.
        hidden_size: units per layer.
        num_layers: stacked layers.
        inhibitory: fraction of inhibitory units (the last ones).
        density: fraction of the possible connections that exist, drawn at construction.
        mask: matrix (to, from) of zeros and ones used for every layer in place of a random one.
        leaky: tau, dt and noise as in `CTRNN`.
    """

    sign: Tensor
    signed = True

    def __init__(
        self,
        input_size: int,
        hidden_size: int = 64,
        num_layers: int = 1,
        inhibitory: float = 0.2,
        density: float = 1.0,
        mask: Sequence[Sequence[float]] | None = None,
        **leaky: float,
    ) -> None:
        self.n_inhibitory = round(inhibitory * hidden_size)
        if not 0 < self.n_inhibitory < hidden_size:
            raise ValueError(f"inhibitory={inhibitory} of {hidden_size} units leaves one population empty")
        super().__init__(input_size, hidden_size, num_layers, "relu", **leaky)
        sign = torch.ones(hidden_size)
        sign[-self.n_inhibitory :] = -1
        self.register_buffer("sign", sign)
        for layer in range(num_layers):
            self.register_buffer(f"mask_l{layer}", _connections(hidden_size, density, mask))
        self._balance()

    def reset_parameters(self) -> None:
        """Draw the biases; for the weights see `_balance`, which needs masks and signs."""
        nn.RNN.reset_parameters(self)

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


def run_leaky(
    drive: Tensor, weight: Tensor, initial: Tensor, counts: Sequence[int], alpha: float, activation: str
) -> Tensor:
    """Run a layer ``h' = h + alpha (f(W h + drive) - h)`` over packed sequences.

    Args:
        drive: input, bias and noise of each step (step, unit), packed.
        weight: recurrent weights (to, from).
        initial: first state of each sequence (sequence, unit).
        counts: number of sequences with each step, largest first.
        alpha: fraction of the way to the new value that one step goes.
        activation: "tanh", "relu" or "softplus".

    Returns:
        The activity after each step (step, unit).
    """
    activity: Tensor = _LeakyPass.apply(drive, weight, initial, list(counts), alpha, activation)
    return activity


def _slope(rate: Tensor, activation: str) -> Tensor:
    """Derivative of the gain function where its value is `rate`."""
    if activation == "tanh":
        return 1 - rate * rate
    return (rate > 0).to(rate.dtype) if activation == "relu" else -torch.expm1(-rate)


class _LeakyPass(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, drive: Tensor, weight: Tensor, initial: Tensor, counts: list[int], alpha: float, activation: str
    ) -> Tensor:
        before, activity, rates = torch.empty_like(drive), torch.empty_like(drive), torch.empty_like(drive)
        transposed, state, begin = weight.t(), initial, 0
        for n in counts:
            steps = slice(begin, begin + n)
            before[steps] = state[:n]
            torch.addmm(drive[steps], before[steps], transposed, out=rates[steps])
            rates[steps] = GAIN_FUNCTIONS[activation](rates[steps])
            torch.lerp(before[steps], rates[steps], alpha, out=activity[steps])
            state, begin = activity[steps], begin + n
        ctx.save_for_backward(weight, before, rates)
        ctx.counts, ctx.alpha, ctx.activation = counts, alpha, activation
        return activity

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_activity: Tensor) -> tuple[Tensor | None, ...]:
        weight, before, rates = ctx.saved_tensors
        d_drive = _slope(rates, ctx.activation).mul_(ctx.alpha)
        d_state = d_activity.new_zeros(ctx.counts[0], weight.shape[1])
        end = len(d_activity)
        for n in reversed(ctx.counts):
            steps, carried = slice(end - n, end), d_state[:n]
            carried += d_activity[steps]
            d_drive[steps] *= carried
            carried.addmm_(d_drive[steps], weight, beta=1 - ctx.alpha)
            end -= n
        return d_drive, d_drive.t() @ before, d_state, None, None, None
