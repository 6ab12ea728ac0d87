"""NumPy's generator under the names of the old ``RandomState``, and several generators taken together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

Size = int | tuple[int, ...] | None  #: shape of the values to draw


class LegacyGenerator:
    """Forwards to a :class:`numpy.random.Generator` and adds ``rand``, ``randn``, ``randint`` and ``random_sample``."""

    def __init__(self, generator: np.random.Generator):
        self.generator = generator

    def __getattr__(self, name: str) -> Any:
        """Forward other attributes to the ``Generator``."""
        if name.startswith("__") or name == "generator":
            raise AttributeError(name)
        return getattr(self.generator, name)

    def rand(self, *shape: int) -> float | np.ndarray:
        """Uniform on [0, 1)."""
        return self.generator.random(shape or None)

    def randn(self, *shape: int) -> float | np.ndarray:
        """Standard normal."""
        return self.generator.standard_normal(shape or None)

    def randint(self, low: int, high: int | None = None, size: Size = None) -> float | np.ndarray:
        """Uniform integers, ``high`` excluded."""
        return self.generator.integers(low, high, size=size)

    def seed(self, seed: int | None = None) -> None:
        """Start the generator again from ``seed``."""
        bits = self.generator.bit_generator
        bits.state = type(bits)(seed).state

    def get_state(self, legacy: bool = True) -> dict[str, object]:
        """State of the generator, for :meth:`set_state`; a dictionary, whatever ``legacy`` asks for."""
        return dict(self.generator.bit_generator.state)

    def set_state(self, state: Mapping[str, object]) -> None:
        """Restore a state returned by :meth:`get_state`."""
        self.generator.bit_generator.state = state

    def random_sample(self, size: Size = None) -> float | np.ndarray:
        """Uniform on [0, 1)."""
        return self.generator.random(size)


def generator_of(generator: object) -> np.random.Generator:
    """Convert a seed or an old or new generator to a ``Generator``; an old generator's stream is shared.

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


class Generators:
    """Generators of several sessions; each draws the values of its own trial, as in an unbatched session.

    Args:
        each: One generator for each trial.
    """

    def __init__(self, each: Sequence[np.random.Generator]):
        self.each = each

    def random(self, size: Size) -> np.ndarray:
        """Uniform on [0, 1); the first axis is the trial."""
        return self._drawn("random", size)

    def integers(self, low: int | np.ndarray, high: int | np.ndarray | None = None, size: Size = None) -> np.ndarray:
        """Uniform integers, ``high`` excluded; the first axis is the trial."""
        return self._drawn("integers", size, low, high)

    def choice(self, a: ArrayLike, size: Size = None, p: Sequence[float] | np.ndarray | None = None) -> np.ndarray:
        """Some of several values, with probabilities ``p``; the first axis is the trial."""
        return self._drawn("choice", size, a, p=p)

    def _drawn(self, distribution: str, size: Size, *args: object, **kwargs: object) -> np.ndarray:
        """Values drawn by each generator for its trial.

        Raises:
            ValueError: If the first axis is not the trial.
        """
        shape = (size,) if isinstance(size, (int, np.integer)) else tuple(size or ())
        if shape[:1] != (len(self.each),):
            raise ValueError(f"expected a size with one entry for each of {len(self.each)} trials, got {size!r}")
        of_one = 1, *shape[1:]
        return np.concatenate([getattr(rng, distribution)(*args, size=of_one, **kwargs) for rng in self.each])

    def noise(self, trial: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Standard normal numbers in single precision for rows of the trials ``trial``; shape (rows, *shape)."""
        if not len(trial):
            return np.empty((0, *shape), np.float32)
        counts = np.bincount(trial, minlength=len(self.each)).tolist()
        drawn = [rng.standard_normal((n, *shape), np.float32) for rng, n in zip(self.each, counts, strict=True)]
        noise = np.empty((len(trial), *shape), np.float32)
        noise[np.argsort(trial, kind="stable")] = np.concatenate(drawn)
        return noise


#: Source of random numbers: the generator of a session, or those of several sessions.
RandomSource = np.random.Generator | Generators
