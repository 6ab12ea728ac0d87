"""Leaky rate networks: `rnn` (no leak) and `ctrnn` (Yang et al. 2019, doi:10.1038/s41593-018-0310-2).

    r(t + dt) = (1 - a) r(t) + a f(W_in u + W r(t) + b + sqrt(2 / a) noise xi),   a = 1 - exp(-dt / tau)

`a` is the exact solution over one step of constant input, so it equals the usual dt / tau for short steps and stays
below 1 for steps as long as the time constant. `ei_rnn` follows Dale's law (Song, Yang & Wang 2016,
doi:10.1371/journal.pcbi.1004792).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from ngym_cli.agents.networks.base import RecurrentNetwork, State
from ngym_cli.agents.networks.constraints import balance
from ngym_cli.agents.networks.steps import leak, scale_of_noise

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh, "relu": torch.relu, "softplus": nn.functional.softplus,
}  # fmt: skip


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
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, not {activation!r}")
        if noise < 0:
            raise ValueError(f"recurrent noise must not be negative, got {noise}")
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
        if not 0 < density <= 1:
            raise ValueError(f"density must be in (0, 1], got {density}")
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
        given = (torch.rand(units, units) < density).float()
    else:
        given = torch.as_tensor(mask, dtype=torch.float32)
        if given.shape != (units, units):
            raise ValueError(f"mask must be {units} x {units} (to, from), got {tuple(given.shape)}")
    return given * (1 - torch.eye(units))
