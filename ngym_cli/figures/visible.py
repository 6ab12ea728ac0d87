"""The data that a reader sees in a figure, and the refusal of figures that show none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import PolyCollection, QuadMesh
from matplotlib.colors import same_color
from matplotlib.container import BarContainer
from matplotlib.patches import StepPatch

from ngym_cli.figures.style import GREY, Unavailable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

#: Number of data points at which counting stops.
MANY = 1_000


def refuse_empty(figure: Figure, reasons: dict[str, str] | None = None) -> None:
    """Refuse a figure that shows no data, or so little that there is nothing to compare.

    Reference lines (grey, or across the whole panel) and the bands of intervals are not data.

    Args:
        figure: the drawn figure.
        reasons: reasons why parts were left out, by label.

    Raises:
        Unavailable: if the figure or one of its panels has no data, if a panel has a band without a line, if the figure
            shows a single point, or a single curve of trials with one choice.
    """
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>" and axes.axison]
    why = "".join(f"; {label}: {reason}" for label, reason in (reasons or {}).items())
    points = [points_of(axes) for axes in panels]
    if not any(points):
        raise Unavailable(f"the trials give nothing to draw{why}")
    if max(points) == 1:
        raise Unavailable(f"the trials give a single point, nothing to compare{why}")
    for axes, count in zip(panels, points, strict=True):
        if not count:
            bands = any(isinstance(each, PolyCollection) for each in axes.collections)
            what = "only a band, no line" if bands else "no data"
            raise Unavailable(f"the panel {_name(axes)} would show {what}{why}")
    labels = {label for axes in panels for label in axes.get_legend_handles_labels()[1]}
    if len(labels) == 1 and (label := labels.pop()).endswith(" chosen"):
        raise Unavailable(f"all trials are of one kind ({label}), nothing to compare{why}")


def points_of(axes: Axes) -> int:
    """Return the number of visible data points in a panel, at most ``MANY``."""
    count = sum(_points_of_line(line) for line in axes.lines if _in_data(line, axes))
    bars = [bar for container in axes.containers if isinstance(container, BarContainer) for bar in container]
    count += sum(bool(np.isfinite([bar.get_width(), bar.get_height()]).all()) for bar in bars)
    stairs = [patch for patch in axes.patches if isinstance(patch, StepPatch)]
    count += sum(int(np.isfinite(patch.get_data()[0]).sum()) for patch in stairs)
    images = [*axes.images, *(each for each in axes.collections if isinstance(each, QuadMesh))]
    shown = [each for each in images if _known(each.get_array()).any()]
    return min(count + MANY * len(shown), MANY)


def _in_data(line: Line2D, axes: Axes) -> bool:
    return all(line.get_transform().contains_branch_seperately(axes.transData))  # not so for lines across the panel


def _points_of_line(line: Line2D) -> int:
    """Return the number of visible points: all points with markers, else points that are joined to a neighbour."""
    if same_color(line.get_color(), GREY):
        return 0
    known = _known(line.get_xdata()) & _known(line.get_ydata())
    if line.get_marker() in ("None", "none", "", " ", None):
        joined = known[1:] & known[:-1]
        return 0 if line.get_linestyle() in ("None", "none", "", " ") else int(joined.sum()) + bool(joined.any())
    return 0 if line.get_marker() in ("|", "_") else int(known.sum())  # ends of error bars


def _known(values: Any) -> np.ndarray:
    return np.isfinite(np.ma.filled(np.ma.asarray(values, float), np.nan))


def _name(axes: Axes) -> str:
    title = axes.get_title("left") or axes.get_title() or axes.get_ylabel() or axes.get_xlabel()
    return f"'{' '.join(title.split())}'"
