"""Cutting a rollout into training sequences: contiguous, without a reset inside, at most `bptt` steps long.

A recurrent kernel is fast only over whole sequences. A sequence is cut where the state resets, so that nothing inside
it needs attention; sequences of a minibatch are divided into groups of similar length, padded to the longest of their
group, and the padding is masked out of the loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

#: A time step of a recurrent kernel costs about as much as this many sequences in it (measured, LSTM of 64 and 128).
COST_OF_STEP = 16
#: Most groups that a minibatch is divided into.
MOST_GROUPS = 4


@dataclass(frozen=True)
class Segments:
    """Contiguous stretches of a rollout: `length` steps of environment `env` from step `begin` on."""

    env: np.ndarray
    begin: np.ndarray
    length: np.ndarray

    def __len__(self) -> int:
        """Number of segments."""
        return len(self.env)

    def __getitem__(self, index: np.ndarray | slice) -> Segments:
        """Some of the segments."""
        return Segments(self.env[index], self.begin[index], self.length[index])


@dataclass(frozen=True)
class Padded:
    """Sequences side by side.

    Attributes:
        steps: (time, sequence) positions in the rollout flattened over (time, environment); padding repeats the last.
        mask: (time, sequence), false on padding.
        begin, env: (sequence,), where each starts.
    """

    steps: np.ndarray
    mask: np.ndarray
    begin: np.ndarray
    env: np.ndarray


def cut(starts: np.ndarray, bptt: int | None = None) -> Segments:
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
        parts = -(-length // bptt)
        offset = (np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)) * bptt
        first = np.repeat(first, parts) + offset
        length = np.minimum(np.repeat(length, parts) - offset, bptt)
    return Segments(first // n_steps, first % n_steps, length)


def minibatches(segments: Segments, n: int, rng: np.random.Generator) -> Iterator[Segments]:
    """Deal whole segments at random into at most `n` minibatches of nearly equal numbers of steps."""
    segments = segments[rng.permutation(len(segments))]
    ends = np.cumsum(segments.length)
    targets = ends[-1] * np.arange(1, n) / n
    bounds = np.unique([0, *np.searchsorted(ends, targets, side="left") + 1, len(segments)])
    for low, high in zip(bounds, bounds[1:], strict=False):
        yield segments[low:high]


def pad(segments: Segments, n_envs: int, multiple: int = 1) -> Padded:
    """Lay segments side by side, padded to the longest.

    Args:
        segments: at least one.
        n_envs: environments of the rollout.
        multiple: the number of sequences is filled up to a multiple of this with masked copies, because a compiled
            kernel is prepared anew for every new shape.
    """
    fill = -len(segments) % multiple
    rows = np.append(np.arange(len(segments)), np.zeros(fill, int))
    env, begin, length = segments.env[rows], segments.begin[rows], segments.length[rows]
    offset = np.arange(length.max())[:, None]
    steps = (begin + np.minimum(offset, length - 1)) * n_envs + env
    length[len(segments) :] = 0
    return Padded(steps, offset < length, begin, env)


def similar(length: np.ndarray) -> list[np.ndarray]:
    """Divide sequences into groups of similar length, as many as make the whole computation cheapest.

    Args:
        length: steps of each sequence.

    Returns:
        Indices of the sequences in each group, the shortest first.

    Example:
        >>> [len(group) for group in similar(np.array([100] * 20 + [2] * 30))]
        [30, 20]
    """
    order = np.argsort(length, kind="stable")
    bounds = [0, *_cuts(length[order]), len(order)]
    return [order[low:high] for low, high in zip(bounds, bounds[1:], strict=False)]


def side_by_side(segments: Segments, n_envs: int, multiple: int = 1) -> list[Padded]:
    """Lay segments side by side in groups of similar length; arguments as in `pad`."""
    return [pad(segments[chosen], n_envs, multiple) for chosen in similar(segments.length)]


def _cuts(ordered: np.ndarray) -> list[int]:
    """Where to divide trials ordered by length: repeatedly at the place that saves most, if it saves anything."""
    cuts: list[int] = []
    while len(cuts) < MOST_GROUPS - 1:
        bounds = [0, *sorted(cuts), len(ordered)]
        places = [(_saving(ordered[low:high]), low) for low, high in zip(bounds, bounds[1:], strict=False)]
        (saving, at), low = max(places)
        if saving <= 0:
            break
        cuts.append(low + at)
    return sorted(cuts)


def _saving(ordered: np.ndarray) -> tuple[float, int]:
    """What the best division of one group into two saves, and where it is."""
    at = np.flatnonzero(np.diff(ordered)) + 1
    if not len(at):
        return 0.0, 0
    n, longest, shorter = len(ordered), ordered[-1], ordered[at - 1]
    whole = longest * (COST_OF_STEP + n)
    divided = shorter * (COST_OF_STEP + at) + longest * (COST_OF_STEP + n - at)
    best = int(np.argmin(divided))
    return float(whole - divided[best]), int(at[best])
