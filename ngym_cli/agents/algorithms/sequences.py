"""Training sequences: rollouts cut at resets, dealt into minibatches and packed.

A training sequence is contiguous, without a reset inside, and at most `bptt` steps long, because a recurrent kernel is
fast only over whole sequences. The sequences of a minibatch are packed, so that there is no padding to compute or to
mask out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PackedRollout:
    """Rollout cut into contiguous sequences, to be packed: `length` steps of environment `env` from step `begin` on."""

    env: np.ndarray
    begin: np.ndarray
    length: np.ndarray

    def __len__(self) -> int:
        """Number of segments."""
        return len(self.env)

    def __getitem__(self, index: np.ndarray | slice) -> PackedRollout:
        """Some of the segments."""
        return PackedRollout(self.env[index], self.begin[index], self.length[index])

    def first(self, n_envs: int) -> np.ndarray:
        """Index of the first step of each segment in a rollout flattened over (time, environment)."""
        return self.begin * n_envs + self.env


@dataclass(frozen=True)
class Minibatches:
    """PackedRollout of several minibatches; minibatch k is the range from `begin[k]` to before `begin[k + 1]`."""

    segments: PackedRollout
    begin: np.ndarray

    def __len__(self) -> int:
        """Number of minibatches."""
        return len(self.begin) - 1

    def __iter__(self) -> Iterator[PackedRollout]:
        """Iterate over the minibatches."""
        return (self.segments[low:high] for low, high in zip(self.begin, self.begin[1:], strict=False))

    @property
    def longest_first(self) -> np.ndarray:
        """An order of all segments, in which the longest of each minibatch come first."""
        return np.lexsort((-self.segments.length, np.repeat(np.arange(len(self)), np.diff(self.begin))))


@dataclass(frozen=True)
class PackedSteps:
    """Steps of sequences of different lengths: the first step of each, then the second of all that are long enough.

    Attributes:
        steps: (step,) where each step is found.
        counts: (time,) how many sequences have this step.
        first: (sequence,) where the first step of each is found, the longest sequence first.
    """

    steps: np.ndarray
    counts: np.ndarray
    first: np.ndarray


def cut(starts: np.ndarray, bptt: int | None = None) -> PackedRollout:
    """Cut at every start and, counted from there, every `bptt` steps.

    Args:
        starts: bool (time, environment), true where the state resets before the step.
        bptt: longest stretch that gradients flow back through; None for no limit within the rollout.

    Example:
        >>> segments = cut(np.array([[1], [0], [0], [1], [0]], bool), bptt=2)
        >>> segments.begin.tolist(), segments.length.tolist()
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
    return PackedRollout(first // n_steps, first % n_steps, length)


def minibatches(segments: PackedRollout, n: int, rng: np.random.Generator) -> Minibatches:
    """Deal whole segments at random into at most `n` minibatches of nearly equal numbers of steps."""
    segments = segments[rng.permutation(len(segments))]
    ends = np.cumsum(segments.length)
    targets = ends[-1] * np.arange(1, n) / n
    return Minibatches(segments, np.unique([0, *np.searchsorted(ends, targets, side="left") + 1, len(segments)]))


def pack(length: np.ndarray, first: np.ndarray | None = None, stride: int = 1) -> PackedSteps:
    """Lay sequences side by side.

    Args:
        length: steps of each.
        first: row of the first step of each sequence; by default sequences are contiguous.
        stride: from a step to the next of the same sequence.

    Example:
        >>> packed = pack(np.array([1, 3]))
        >>> packed.steps.tolist(), packed.counts.tolist()
        ([1, 0, 2, 3], [2, 1, 1])
    """
    first = np.cumsum(length) - length if first is None else first
    order = np.argsort(-length, kind="stable")
    first, length = first[order], length[order]
    time = np.arange(length[0])[:, None]
    within = time < length
    return PackedSteps((first + stride * time)[within], np.count_nonzero(within, axis=1), first)
