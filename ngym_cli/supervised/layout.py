"""Trials of different lengths side by side, padded, in groups of similar length."""

from __future__ import annotations

import numpy as np

from ngym_cli.algorithms import segments
from ngym_cli.algorithms.segments import Padded, Segments


def side_by_side(length: np.ndarray) -> list[Padded]:
    """Lay out trials that follow each other in the rows of a batch.

    Args:
        length: Steps of each trial, shape (trials,).

    Returns:
        Groups of sequences, the shortest first; as many as make the whole computation cheapest. Their steps are rows of
        the batch.

    Example:
        >>> side_by_side(np.array([3, 1]))[0].steps.T.tolist()
        [[3, 3, 3], [0, 1, 2]]
    """
    one_stretch = np.zeros(len(length), int)
    return segments.side_by_side(Segments(one_stretch, np.cumsum(length) - length, length), n_envs=1)
