"""Helpers of wrappers that select trials: choices, random draws, and blocks of trials."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike


def choices_of(env: gym.Env, wrapper: str) -> np.ndarray:
    """Values that the ground truth of a task can take, shape (choices,).

    Raises:
        AttributeError: If the task has no finite set of them, or takes no ground truth.
    """
    task: Any = env.unwrapped
    try:
        choices = np.asarray(task.choices)
        if task.conditions and "ground_truth" not in task.conditions:
            raise AttributeError(f"{type(task).__name__} does not take one ground truth for a trial")
    except AttributeError as error:
        raise AttributeError(f"{wrapper} needs a task with choices (a finite ground truth): {error}") from None
    return choices


def probability_rows(values: Iterable[ArrayLike], n: int) -> np.ndarray:
    """Return probabilities with a row per trial, from any accepted format; shape (n, ...)."""
    return np.stack([np.asarray(value, dtype=float) for value in values]) if n else np.zeros((0, 0))


def check_probabilities(p: np.ndarray, choices: int, name: str) -> None:
    """Refuse rows that are no distributions over the choices.

    Raises:
        ValueError: If the width is wrong, an entry is negative, or a row does not sum to 1.
    """
    if p.shape[-1] != choices:
        raise ValueError(f"{name} needs {choices} entries in each row, one per choice; got {p.shape[-1]}")
    if np.any(p < 0) or np.any(np.abs(p.sum(axis=-1) - 1) > 1e-10):
        raise ValueError(f"each row of {name} must be non-negative and sum to 1, got {p.tolist()}")


def restrict(p: np.ndarray, choices: np.ndarray, active: Iterable[ArrayLike]) -> np.ndarray:
    """Rows with the choices that are not ``active`` taken out; shape as ``p``.

    Args:
        p: Shape (n, choices).
        choices: Values of the ground truth.
        active: For each row the values in play.
    """
    restricted = p * np.stack([np.isin(choices, np.asarray(some)) for some in active])
    empty = restricted.sum(axis=1) == 0
    restricted[empty] = np.stack([np.isin(choices, np.asarray(some)) for some in active])[empty]
    return restricted / restricted.sum(axis=1, keepdims=True)


Item = TypeVar("Item")


def remembered(window: list[Item], value: Item, most: int) -> list[Item]:
    """A window over the last trials with one trial more; it has at most ``most`` entries."""
    return [*window, value][-most:]


class BlockClock:
    """Clock that determines the first trial of each block.

    Args:
        duration: Trials in a block; or, between 0 and 1, the probability at each trial that a new block begins; or
            ``(low, high)``, a number of trials drawn uniformly, ends included.
        name: Name of the argument, for messages.

    Raises:
        TypeError: If the duration is none of these.
        ValueError: If it is out of range.
    """

    state = ("left",)

    def __init__(self, duration: float | tuple[int, int], name: str = "block_dur"):
        self.p, self.low, self.high = 0.0, 1, 1
        if isinstance(duration, bool) or not isinstance(duration, (int, np.integer, float, tuple)):
            raise TypeError(f"{name} must be an int, a float or a tuple of two ints, not {duration!r}")
        if isinstance(duration, tuple):
            if any(isinstance(end, bool) or not isinstance(end, (int, np.integer)) for end in duration):
                raise TypeError(f"{name} takes two whole numbers of trials, got {duration!r}")
            if len(duration) != 2 or not 1 <= duration[0] <= duration[1]:
                raise ValueError(f"{name} takes (low, high) with 1 <= low <= high, got {duration!r}")
            self.low, self.high = int(duration[0]), int(duration[1])
        elif isinstance(duration, float):
            if not 0 < duration < 1:
                raise ValueError(f"{name} as a probability must lie between 0 and 1, got {duration!r}")
            self.p = duration
        elif duration < 1:
            raise ValueError(f"{name} must be at least 1 trial, got {duration!r}")
        else:
            self.low = self.high = int(duration)
        self.left = 0

    @property
    def lengths(self) -> tuple[int, int, float | None]:
        """Fewest and most trials of a block, and the probability of an end in place of a number (else None)."""
        return self.low, self.high, self.p or None

    def start(self, rng: np.random.Generator) -> None:
        """Begin the first block."""
        self.left = int(rng.integers(self.low, self.high + 1))

    def changes(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Whether a new block begins at each of the next ``n`` trials, shape (n,)."""
        if self.p:
            return rng.random(n) < self.p
        begins = np.zeros(n, bool)
        at = self.left
        while at < n:
            begins[at] = True
            at += int(rng.integers(self.low, self.high + 1))
        self.left = at - n
        return begins
