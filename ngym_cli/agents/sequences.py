"""Sequences of different lengths in arrays over (time, environment): cut, dealt into minibatches and packed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np


class PackedSteps(NamedTuple):
    """Steps of sequences: the first step of each, then the second of all that are long enough.

    Attributes:
        steps: (step,) row of each step.
        counts: (time,) how many sequences have this step.
        first: (sequence,) row of the first step of each, the longest sequence first.
    """

    steps: np.ndarray
    counts: np.ndarray
    first: np.ndarray


@dataclass(frozen=True)
class Sequences:
    """Sequences of steps in arrays that are flattened over (time, environment).

    Attributes:
        first: row of the first step of each sequence, time * environments + environment.
        length: steps of each.
        stride: rows from a step to the next of the same sequence, the number of environments.
    """

    first: np.ndarray
    length: np.ndarray
    stride: int = 1

    @classmethod
    def in_a_row(cls, length: np.ndarray) -> Sequences:
        """Return sequences of these lengths, one after the other."""
        return cls(np.cumsum(length) - length, length)

    def __len__(self) -> int:
        """Number of sequences."""
        return len(self.first)

    def __getitem__(self, index: np.ndarray | slice) -> Sequences:
        """Some of the sequences."""
        return Sequences(self.first[index], self.length[index], self.stride)

    @property
    def n_steps(self) -> int:
        """Steps of all sequences."""
        return int(self.length.sum())

    def longest_first(self) -> Sequences:
        """Return the sequences by their lengths, equally long ones in their order."""
        return self[np.argsort(-self.length, kind="stable")]

    def pack(self) -> PackedSteps:
        """Lay sequences side by side.

        Example:
            >>> packed = Sequences.in_a_row(np.array([1, 3])).pack()
            >>> packed.steps.tolist(), packed.counts.tolist()
            ([1, 0, 2, 3], [2, 1, 1])
        """
        longest_first = self.longest_first()
        first, time = longest_first.first, np.arange(longest_first.length[0])[:, None]
        within = time < longest_first.length
        return PackedSteps((first + self.stride * time)[within], np.count_nonzero(within, axis=1), first)


def cut(starts: np.ndarray, bptt: int | None = None) -> Sequences:
    """Cut at every start and, counted from there, every `bptt` steps.

    Args:
        starts: bool (time, environment), true where the state resets before the step.
        bptt: longest stretch that gradients flow back through; None for no limit within the rollout.

    Example:
        >>> sequences = cut(np.array([[1], [0], [0], [1], [0]], bool), bptt=2)
        >>> sequences.first.tolist(), sequences.length.tolist()
        ([0, 2, 3], [2, 1, 2])
    """
    n_steps, n_envs = starts.shape
    cuts = starts.T.copy()
    cuts[:, 0] = True
    first = np.flatnonzero(cuts)
    length = np.diff(np.append(first, n_steps * n_envs))
    if bptt is not None:
        pieces = -(-length // bptt)
        offset = (np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)) * bptt
        first = np.repeat(first, pieces) + offset
        length = np.minimum(np.repeat(length, pieces) - offset, bptt)
    return Sequences(first % n_steps * n_envs + first // n_steps, length, n_envs)


def minibatches(sequences: Sequences, n: int, rng: np.random.Generator) -> list[Sequences]:
    """Deal whole sequences at random into at most `n` minibatches of nearly equal numbers of steps."""
    sequences = sequences[rng.permutation(len(sequences))]
    ends = np.cumsum(sequences.length)
    targets = ends[-1] * np.arange(1, n) / n
    bounds = np.unique([0, *np.searchsorted(ends, targets, side="left") + 1, len(sequences)])
    return [sequences[low:high] for low, high in pairwise(bounds)]
