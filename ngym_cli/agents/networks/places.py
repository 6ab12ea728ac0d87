"""Population code of continuous actions: a probability for each place of a grid, in place of the mean of the action.

Where several responses are possible and the mean of these is wrong, squared error asks for the mean; cross-entropy
among places asks for the most probable response.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from ngym_cli.errors import UserError

#: Largest number of places of a grid.
MOST_PLACES = 4096


class PlaceCode(nn.Linear):
    """Read-out with a preference for each place of a regular grid; the output is the response at the preferred place.

    The response is the mean of the most probable place and its neighbours, weighted by probability, and the target of
    learning is divided among the places around it in proportion to nearness, so that responses between places are
    exact as well.

    Args:
        units: number of inputs.
        space: bounded continuous action space.
        places: places along each component, from the lowest to the highest value.

    Raises:
        UserError: if the space has no such grid, or the grid has too many places.
    """

    centers: Tensor
    low: Tensor
    spacing: Tensor

    def __init__(self, units: int, space: spaces.Space[Any], places: int) -> None:
        if not isinstance(space, spaces.Box) or not space.is_bounded():
            raise UserError("places: the actions of the task are not continuous with bounds")
        n_axes = prod(space.shape)
        if n_axes * np.log(places) > np.log(MOST_PLACES):
            raise UserError(f"places={places}: a grid of {n_axes} axes has more than {MOST_PLACES:,} places")
        super().__init__(units, places**n_axes)
        self.places = places
        low, high = (torch.from_numpy(bound.astype(np.float32)).flatten() for bound in (space.low, space.high))
        spacing = (high - low) / (places - 1)
        steps = torch.cartesian_prod(*[torch.arange(places)] * n_axes).view(-1, n_axes)
        for name, array in (("centers", low + spacing * steps), ("low", low), ("spacing", spacing)):
            self.register_buffer(name, array, persistent=False)
        nn.init.orthogonal_(self.weight, 0.01)
        nn.init.zeros_(self.bias)

    def follow(self, rows: int, columns: int) -> None:
        """Set the weights of attention: the preference for a response is the attention to the same part of the image.

        Learning starts from here. From small random weights it may find the opposite sign, by which responses avoid
        what is attended, and keep it.

        Args:
            rows: rows of the image, from the highest to the lowest second component of the response. The last units
                are attention to the places of the image, row by row.
            columns: columns of the image, from the lowest to the highest first component.

        Raises:
            ValueError: if responses do not have two components.
        """
        if self.centers.shape[1] != 2:
            raise ValueError(f"responses have {self.centers.shape[1]} components, not 2")
        across, up = ((self.centers - self.low) / (self.spacing * (self.places - 1))).unbind(-1)
        column = (across * columns).long().clamp(max=columns - 1)
        row = ((1 - up) * rows).long().clamp(max=rows - 1)
        with torch.no_grad():
            self.weight[:, -rows * columns :] = nn.functional.one_hot(row * columns + column, rows * columns)

    def forward(self, x: Tensor) -> Tensor:
        """Return responses (..., component) to activity (..., unit)."""
        return self.decode(self.preferences(x))

    def preferences(self, x: Tensor) -> Tensor:
        """Return the preference for each place (..., place) at activity (..., unit)."""
        return super().forward(x)

    def decode(self, preferences: Tensor) -> Tensor:
        """Return responses (..., component) of preferences (..., place)."""
        best = self.centers[preferences.argmax(-1)]
        near = ((self.centers - best.unsqueeze(-2)).abs() < 1.5 * self.spacing).all(-1)
        weights = torch.softmax(preferences, -1) * near
        return (weights / weights.sum(-1, keepdim=True)) @ self.centers

    def encode(self, responses: Tensor) -> Tensor:
        """Return the share of each place (..., place) in responses (..., component); shares sum to 1."""
        position = ((responses - self.low) / self.spacing).clamp(0, self.places - 1)
        grid = torch.arange(self.places, device=responses.device)
        shares = (1 - (position[..., None] - grid).abs()).clamp_min(0)
        joint = shares[..., 0, :]
        for axis in range(1, shares.shape[-2]):
            joint = (joint[..., :, None] * shares[..., axis, None, :]).flatten(-2)
        return joint

    def losses(self, preferences: Tensor, responses: Tensor) -> Tensor:
        """Return the cross-entropy (nats) of correct responses (..., component) for preferences (..., place)."""
        return -(self.encode(responses) * torch.log_softmax(preferences, -1)).sum(-1)
