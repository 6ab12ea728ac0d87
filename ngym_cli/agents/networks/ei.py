"""Excitatory-inhibitory network under Dale's law (Song, Yang & Wang 2016, doi:10.1371/journal.pcbi.1004792)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ngym_cli.agents.networks.constraints import balance
from ngym_cli.agents.networks.leaky import LeakyNetwork
from ngym_cli.agents.networks.steps import leak


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
