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

    def random_sample(self, size: Any = None) -> Any:
        """Uniform on [0, 1)."""
        return self.generator.random(size)
