"""Figures of what the units of a network did."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from neurogym.plotting.training import COLOURS, SETTINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_traces(
    traces: Sequence[np.ma.MaskedArray],
    title: str,
    figsize: tuple[float, float] | None = None,
    neurons: Sequence[int] | None = None,
    mean: bool = False,
) -> tuple[Figure, np.ndarray]:
    """Draw traces of units, with a panel for each unit.

    Args:
        traces: Shape (steps, units), one per trial.
        title: Of the figure.
        figsize: Inches; default 3 by 2 for each panel.
        neurons: Units to draw; default all.
        mean: Whether to draw the mean over trials in place of every trial.

    Raises:
        ValueError: If nothing was recorded or a unit does not exist.
    """
    import matplotlib.pyplot as plt

    if not traces:
        raise ValueError(f"{title}: nothing has been recorded yet; layers in training mode are not (model.eval())")
    units = traces[0].shape[1]
    shown = list(range(units) if neurons is None else neurons)
    if not shown or not all(0 <= unit < units for unit in shown):
        raise ValueError(f"neurons must be some of 0 to {units - 1}, got {neurons!r}")
    columns = math.ceil(math.sqrt(len(shown)))
    rows = math.ceil(len(shown) / columns)
    stack = np.ma.stack(list(traces))
    with plt.rc_context(SETTINGS):
        figure, axes = plt.subplots(
            rows, columns, figsize=figsize or (3 * columns, 2 * rows), squeeze=False, sharex=True, layout="constrained"
        )
        for axis, unit in zip(axes.flat, shown, strict=False):
            lines = stack[:, :, unit].mean(axis=0)[None] if mean else stack[:, :, unit]
            for line in lines:
                axis.plot(np.arange(1, len(line) + 1), line, color=COLOURS[0], lw=1.5 if mean else 0.5)
            axis.set_title(f"unit {unit}")
            axis.xaxis.get_major_locator().set_params(integer=True)
        for axis in list(axes.flat)[len(shown) :]:
            axis.set_visible(False)
        figure.supxlabel("step in the trial")
        figure.supylabel("activity")
        figure.suptitle(f"{title}, {'mean of ' if mean else ''}{len(traces)} trials")
    return figure, axes
