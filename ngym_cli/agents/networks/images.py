"""The front end for images: a small convolutional network, which computes the features of equal images once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d

from ngym_cli.agents.networks import SPATIAL_CHANNELS

#: Standard deviation of an image, of the range of a pixel, below which it is taken for empty.
LEAST_SD = 0.25 / 255

#: Images whose features are remembered by an agent that acts.
REMEMBERED = 1024


class ConvolutionalFront(BaseFeaturesExtractor):
    """Three convolutions, each of which halves the resolution, and a linear layer.

    Pixels are averaged in squares of 2 x 2 first. Images enter twice, unchanged and standardised to mean 0 and s.d. 1,
    so that low contrast is visible as well. A frame of 100 x 100 pixels takes a seventh of the multiplications
    of the network of Mnih et al. 2015 (10.1038/nature14236), which has the same order of layers.

    Args:
        observation_space: images with channels first.
        features_dim: number of output features.
    """

    def __init__(self, observation_space: spaces.Box, features_dim: int = 128) -> None:
        super().__init__(observation_space, features_dim)
        channels = observation_space.shape[0]
        self.convolutions = nn.Sequential(
            nn.Conv2d(2 * channels, 16, 5, stride=2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=2),
            nn.ReLU(),
            nn.Flatten(),
        )
        with torch.no_grad():
            seen: Any = self._convolved(torch.zeros(1, *observation_space.shape))
        self.linear = nn.Sequential(nn.Linear(seen.shape[1], features_dim), nn.ReLU())

    def forward(self, observations: Tensor) -> Tensor:
        """Features (image, feature) of images (image, channel, row, column) between 0 and 1."""
        return self.linear(self._convolved(observations))

    def _convolved(self, observations: Tensor) -> Tensor:
        """Output of the convolutions, flattened."""
        return self.convolutions(halved_and_standardised(observations))


class SpatialFront(BaseFeaturesExtractor):
    """Three convolutions and features of each place of a grid (3 x 3 for 100 x 100 pixels), the same for all places.

    Pixels enter as in `ConvolutionalFront`.

    Args:
        observation_space: images with channels first.

    Attributes:
        grid: numbers of rows and columns of places.
    """

    def __init__(self, observation_space: spaces.Box) -> None:
        super().__init__(observation_space, 1)
        self.convolutions = nn.Sequential(
            nn.Conv2d(2 * observation_space.shape[0], 16, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, ceil_mode=True),
            nn.Conv2d(32, 64, 1),
            nn.ReLU(),
            nn.Conv2d(64, SPATIAL_CHANNELS, 1),
        )
        with torch.no_grad():
            features = self._convolved(torch.zeros(1, *observation_space.shape))
        self.grid = (features.shape[2], features.shape[3])
        self._features_dim = features[0].numel()

    def forward(self, observations: Tensor) -> Tensor:
        """Features (image, place * channel) of images (image, channel, row, column) between 0 and 1."""
        return self._convolved(observations).flatten(2).transpose(1, 2).flatten(1)

    def _convolved(self, observations: Tensor) -> Tensor:
        """Features (image, channel, row, column)."""
        features: Tensor = self.convolutions(halved_and_standardised(observations))
        return features


def halved_and_standardised(observations: Tensor) -> Tensor:
    """Return images at half the resolution, unchanged and standardised, as channels of the same images."""
    images = avg_pool2d(observations, 2)
    sd, mean = torch.std_mean(images, dim=(1, 2, 3), keepdim=True)
    return torch.cat([images, (images - mean) / sd.clamp_min(LEAST_SD)], dim=1)


def distinct(images: np.ndarray, numbers: dict[bytes, int] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Find the different images among many.

    Args:
        images: (image, ...).
        numbers: numbers of images seen before by their content, to which new ones are added; None: none were seen.

    Returns:
        Positions of the first of every new image, and the number of every image (image,).

    Example:
        >>> first, index = distinct(np.array([[3], [5], [3]], np.uint8))
        >>> first.tolist(), index.tolist()
        ([0, 1], [0, 1, 0])
    """
    numbers = {} if numbers is None else numbers
    first, index = list[int](), np.empty(len(images), np.int64)
    for row, image in enumerate(images):
        n = len(numbers)
        index[row] = numbers.setdefault(image.tobytes(), n)
        if index[row] == n:
            first.append(row)
    return np.array(first, np.int64), index


class FeatureCache:
    """Cache of the features of recent images, for an agent with fixed weights.

    Args:
        compute: from images (image, ...) to features (image, feature).
    """

    def __init__(self, compute: Callable[[np.ndarray], np.ndarray]) -> None:
        self.compute = compute
        self._features: dict[bytes, np.ndarray] = {}

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """Return features of images; features of new images are computed together."""
        if len(self._features) > REMEMBERED:
            self._features.clear()
        keys = [image.tobytes() for image in images]
        new = {key: row for row, key in enumerate(keys) if key not in self._features}
        if new:
            self._features.update(zip(new, self.compute(images[list(new.values())]), strict=True))
        return np.stack([self._features[key] for key in keys])
