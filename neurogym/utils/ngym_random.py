"""Random durations and values under the names of NeuroGym; :mod:`neurogym.sampling.distributions` does the work."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from neurogym.sampling.distributions import KINDS as DISTRIBUTIONS
from neurogym.sampling.distributions import Distribution, exponential
from neurogym.sampling.generator import RandomSource

__all__ = ["DISTRIBUTIONS", "TruncExp", "random_number_fn", "random_number_name", "trunc_exp"]


def trunc_exp(rng: RandomSource, vmean: float, vmin: float = 0.0, vmax: float = math.inf) -> float:
    """Draw from an exponential with scale ``vmean`` before truncation to [vmin, vmax); ``vmax`` if vmin >= vmax."""
    return float(exponential(rng, 1, vmean, vmin, vmax)[0])


class TruncExp:
    """Callable truncated exponential with a separate generator.

    Args:
        vmean: Scale before truncation (ms).
        vmin: Smallest value (ms).
        vmax: Bound above (ms); the result if ``vmin >= vmax``.
    """

    def __init__(self, vmean: float, vmin: float = 0.0, vmax: float = math.inf):
        self.vmean, self.vmin, self.vmax = vmean, vmin, vmax
        self.rng = np.random.default_rng()

    def seed(self, seed: int | None = None) -> None:
        """Start the stream of values again from ``seed``."""
        self.rng = np.random.default_rng(seed)

    def __call__(self) -> float:
        """The next value."""
        return trunc_exp(self.rng, self.vmean, self.vmin, self.vmax)


def random_number_fn(dist: str, args: object, rng: RandomSource) -> Callable[[], float]:
    """A function of no arguments that draws from the distribution.

    Raises:
        ValueError: If the distribution or its arguments are unknown.
    """
    described = Distribution.of((dist, args))
    return lambda: float(described.sample(rng, 1)[0])


def random_number_name(dist: str, args: Sequence[float] | float) -> str:
    """Describe a specification in words, such as ``"uniform between 200 and 600"``.

    Raises:
        ValueError: If the distribution is unknown.
    """
    described = Distribution.of((dist, args))
    return f"constant {described.phrase()}" if dist == "constant" else described.phrase()
