"""NumPy's generator under the names of the old ``RandomState``."""

from __future__ import annotations

from typing import Any

import numpy as np


class LegacyGenerator:
    """Forwards to a :class:`numpy.random.Generator` and adds ``rand``, ``randn``, ``randint`` and ``random_sample``."""

    def __init__(self, generator: np.random.Generator):
        self.generator = generator

    def __getattr__(self, name: str) -> Any:
        """Everything that a Generator has."""
        if name.startswith("__") or name == "generator":
            raise AttributeError(name)
        return getattr(self.generator, name)

    def rand(self, *shape: int) -> Any:
        """Uniform on [0, 1)."""
        return self.generator.random(shape or None)

    def randn(self, *shape: int) -> Any:
        """Standard normal."""
        return self.generator.standard_normal(shape or None)

    def randint(self, low: int, high: int | None = None, size: Any = None) -> Any:
        """Uniform integers, ``high`` excluded."""
        return self.generator.integers(low, high, size=size)

    def seed(self, seed: int | None = None) -> None:
        """Start the generator again from ``seed``."""
        bits = self.generator.bit_generator
        bits.state = type(bits)(seed).state

    def get_state(self, legacy: bool = True) -> dict[str, Any]:
        """State of the generator, for :meth:`set_state`; a dictionary, whatever ``legacy`` asks for."""
        return dict(self.generator.bit_generator.state)

    def set_state(self, state: Any) -> None:
        """Go on from a state that :meth:`get_state` gave."""
        self.generator.bit_generator.state = state

    def random_sample(self, size: Any = None) -> Any:
        """Uniform on [0, 1)."""
        return self.generator.random(size)


def generator_of(generator: Any) -> np.random.Generator:
    """A generator of today from one of today, an old one, or a seed; an old one shares its stream.

    Raises:
        TypeError: If it is none of these.
    """
    if isinstance(generator, LegacyGenerator):
        return generator.generator
    if isinstance(generator, np.random.RandomState):
        return np.random.Generator(generator._bit_generator)
    if isinstance(generator, np.random.Generator):
        return generator
    if generator is None or isinstance(generator, (int, np.integer)):
        return np.random.default_rng(generator)
    raise TypeError(f"rng must be a Generator, a RandomState or a seed, not {generator!r}")
