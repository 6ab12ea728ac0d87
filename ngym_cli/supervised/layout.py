"""Trials of different lengths side by side, padded, in groups of similar length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: A time step of a recurrent kernel costs about as much as this many sequences in it (measured, LSTM of 64 and 128).
COST_OF_STEP = 16
#: Most groups that a batch is divided into.
MOST_GROUPS = 4


@dataclass(frozen=True)
class Layout:
    """Sequences side by side.

    Attributes:
        rows: (time, sequence) positions in the rows of the batch; padding repeats the last row of a sequence.
        mask: (time, sequence), false on padding.
    """

    rows: np.ndarray
    mask: np.ndarray


def side_by_side(length: np.ndarray) -> list[Layout]:
    """Lay out trials that follow each other in the rows of a batch.

    Args:
        length: Steps of each trial, shape (trials,).

    Returns:
        Groups of sequences, the shortest first; as many as make the whole computation cheapest.

    Example:
        >>> side_by_side(np.array([3, 1]))[0].rows.T.tolist()
        [[3, 3, 3], [0, 1, 2]]
    """
    begin = np.cumsum(length) - length
    order = np.argsort(length, kind="stable")
    bounds = [0, *_cuts(length[order]), len(order)]
    groups = []
    for low, high in zip(bounds, bounds[1:], strict=False):
        chosen = order[low:high]
        step = np.arange(length[chosen].max())[:, None]
        rows = begin[chosen] + np.minimum(step, length[chosen] - 1)
        groups.append(Layout(rows, step < length[chosen]))
    return groups


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
