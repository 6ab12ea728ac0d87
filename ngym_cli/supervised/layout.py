"""Trials of different lengths side by side, padded, in groups of similar length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ngym_cli.algorithms.segments import similar


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
    groups = []
    for chosen in similar(length):
        step = np.arange(length[chosen].max())[:, None]
        rows = begin[chosen] + np.minimum(step, length[chosen] - 1)
        groups.append(Layout(rows, step < length[chosen]))
    return groups
