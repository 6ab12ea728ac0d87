"""What an agent sees as an image: a row for each channel, each named group of channels on a scale of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from ngym_cli.figures.wording import channel_names

if TYPE_CHECKING:
    from matplotlib.collections import QuadMesh

#: Channels up to which each has its own name on the axis, beyond which groups have.
MOST_NAMES = 16


def groups(labels: Mapping[str, Any], n: int) -> list[tuple[str, np.ndarray]]:
    """Return the named groups of channels in the order of their first, and what has no name as a group each.

    >>> [(name, list(map(int, where))) for name, where in groups({"fixation": 0, "stimulus": [1, 2]}, 4)]
    [('fixation', [0]), ('stimulus', [1, 2]), ('3', [3])]
    """
    found, taken = [], np.zeros(n, bool)
    for name, where in labels.items():
        indices = np.ravel(list(where) if isinstance(where, range) else where).astype(int)
        indices = indices[(indices < n)]
        if len(indices) and not taken[indices].any():
            found.append((name, indices))
            taken[indices] = True
    found += [(str(index), np.array([index])) for index in np.flatnonzero(~taken)]
    return sorted(found, key=lambda group: int(group[1].min()))


def largest(observations: np.ndarray, labels: Mapping[str, object]) -> np.ndarray:
    """Return the largest absolute value in the group of each channel, 1 where all are zero; shape (channels,).

    Args:
        observations: shape (steps, channels).
        labels: label to index or indices.
    """
    scale = np.ones(observations.shape[1])
    for _, where in groups(labels, observations.shape[1]):
        scale[where] = float(np.abs(observations[:, where]).max(initial=0)) or 1.0
    return scale


def channel_image(
    axes: Axes,
    edges: np.ndarray,
    observations: np.ndarray,
    labels: Mapping[str, object],
    scale: np.ndarray | None = None,
) -> QuadMesh:
    """Draw observations, each group of channels relative to its largest absolute value, which stands at its right.

    Args:
        axes: where to.
        edges: times between which the steps lie, shape (steps + 1,).
        observations: shape (steps, channels).
        labels: label to index or indices.
        scale: largest value of each channel; default from these observations.

    Returns:
        The image, for a colour bar from -1 to 1.
    """
    n = observations.shape[1]
    scale = largest(observations, labels) if scale is None else scale
    image = axes.pcolormesh(edges, np.arange(n + 1), (observations / scale).T, cmap="RdBu_r", vmin=-1, vmax=1,
                            rasterized=True)  # fmt: skip
    axes.invert_yaxis()
    if n <= MOST_NAMES:
        axes.set_yticks(np.arange(n) + 0.5, channel_names(labels, n))
    else:
        named = groups(labels, n)
        axes.set_yticks([where.mean() + 0.5 for _, where in named], [name for name, _ in named])
    return image


def scale_words(axes: Axes, scale: np.ndarray, labels: Mapping[str, object]) -> None:
    """Write the largest absolute value of each group of channels to the right of its rows."""
    for _, where in groups(labels, len(scale)):
        axes.annotate(
            f"{scale[where[0]]:.2g}", (1, where.mean() + 0.5), xycoords=("axes fraction", "data"),
            xytext=(3, 0), textcoords="offset points", va="center", fontsize="small",
        )  # fmt: skip
