"""Leaky rate networks: `rnn` (no leak) and `ctrnn` (Yang et al. 2019, doi:10.1038/s41593-018-0310-2).

    r(t + dt) = (1 - a) r(t) + a f(W_in u + W r(t) + b + sqrt(2 / a) noise xi),   a = 1 - exp(-dt / tau)

`a` is the exact solution over one step of constant input, so it equals the usual dt / tau for short steps and stays
below 1 for steps as long as the time constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from ngym_cli.agents.networks.base import RecurrentNetwork, State, last_steps
from ngym_cli.agents.networks.steps import leak, scale_of_noise

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": torch.relu}


class LeakyNetwork(RecurrentNetwork, nn.RNN):  # type: ignore[misc]
    """Rate units with a common gain function and a common leak.

    Args:
        input_size: number of input features.
        hidden_size: units per layer.
        num_layers: stacked layers.
        activation: "tanh" or "relu".
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
        nn.RNN.__init__(self, input_size, hidden_size, num_layers, nonlinearity=activation)

    @property
    def noise_scale(self) -> float:  # type: ignore[override]
        """See `RecurrentNetwork`."""
        return scale_of_noise(self.noise, self.alpha)

    @property
    def cell(self) -> str:  # type: ignore[override]
        """See `RecurrentNetwork`."""
        return self.nonlinearity

    def in_torch(
        self, seq: Tensor, counts: Sequence[int], state: State, noise: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """See `RecurrentNetwork.in_torch`."""
        gain, last = ACTIVATIONS[self.nonlinearity], []
        for layer in range(self.num_layers):
            drive = self._drive(seq, layer)
            if noise is not None:
                drive = drive + self.noise_scale * noise[:, layer]
            weight, h, steps = self.recurrent_weight(layer).t(), state[0][layer], []
            for step in drive.split(list(counts)):
                h = torch.lerp(h[: len(step)], gain(step + h[: len(step)] @ weight), self.alpha)
                steps.append(h)
            seq = torch.cat(steps)
            last.append(last_steps(seq, counts))
        return seq, (torch.stack(last),)

    def one_step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """See `RecurrentNetwork.one_step`."""
        gain, after = ACTIVATIONS[self.nonlinearity], []
        for layer in range(self.num_layers):
            h = state[0][layer]
            x = torch.lerp(h, gain(self._drive(x, layer) + h @ self.recurrent_weight(layer).t()), self.alpha)
            after.append(x)
        return x, (torch.stack(after),)

    def _drive(self, seq: Tensor, layer: int) -> Tensor:
        """Input of a layer from the layer below, biases included (step, unit)."""
        _, weight, bias, second_bias = self.parameters_of(layer)
        return nn.functional.linear(seq, weight, bias + second_bias)


class RNN(LeakyNetwork):
    """Plain recurrent network; the recurrent weights start orthogonal (tanh) or as the identity (relu)."""

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
        activation: "tanh" or "relu".
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
