"""Number of data points in a figure, and the refusal of figures without data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ngym_cli.figures.style import INTERVAL, FigureUnavailableError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.transforms import Transform
    from numpy.typing import ArrayLike


#: Number of data points at which counting stops.
ENOUGH_POINTS = 1_000


def refuse_empty(figure: Figure, reasons: dict[str, str] | None = None) -> None:
    """Refuse a figure that shows no data, or so little that there is nothing to compare.

    References (drawn behind the data, with a zorder of at most 0, or across the whole panel) and the bands of intervals
    (``style.interval_band``) are not data.

    Args:
        figure: the drawn figure.
        reasons: reasons why parts were left out, by label.

    Raises:
        FigureUnavailableError: if the figure or one of its panels has no data, if a panel has a band without a line, if
            the figure shows a single point, or a single curve of trials with one choice.
    """
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>" and axes.axison]
    details = "".join(f"; {label}: {reason}" for label, reason in (reasons or {}).items())
    points = [points_of(axes) for axes in panels]
    if not any(points):
        raise FigureUnavailableError(f"nothing to draw in these trials{details}")
    if max(points) == 1:
        raise FigureUnavailableError(f"the trials give a single point, nothing to compare{details}")
    for axes, count in zip(panels, points, strict=True):
        if not count:
            bands = any(each.get_gid() == INTERVAL for each in axes.collections)
            defect = "only a band, no line" if bands else "no data"
            raise FigureUnavailableError(f"the panel {_name(axes)} would show {defect}{details}")
    labels = {label for axes in panels for label in axes.get_legend_handles_labels()[1]}
    if len(labels) == 1 and (label := labels.pop()).endswith(" chosen"):
        raise FigureUnavailableError(f"all trials are of one kind ({label}), nothing to compare{details}")


def points_of(axes: Axes) -> int:
    """Return the number of visible data points in a panel, at most ``ENOUGH_POINTS``."""
    from matplotlib.container import BarContainer, ErrorbarContainer

    bars = [bar for container in axes.containers if isinstance(container, BarContainer) for bar in container]
    errors = [
        each for container in axes.containers if isinstance(container, ErrorbarContainer) for each in container[2]
    ]
    count = sum(_points_of_line(line) for line in axes.lines if _in_data(line.get_transform(), axes))
    count += sum(bool(np.isfinite([bar.get_width(), bar.get_height()]).all()) for bar in bars)
    count += sum(_points_of_patch(patch, axes) for patch in axes.patches if patch not in bars)
    count += sum(_points_of_collection(each, axes) for each in axes.collections if each not in errors)
    count += sum(ENOUGH_POINTS for image in axes.images if _finite(image.get_array()).any())
    return min(count, ENOUGH_POINTS)


def _in_data(transform: Transform, axes: Axes) -> bool:
    return all(transform.contains_branch_seperately(axes.transData))  # not so for lines across the panel


def _is_reference(artist: Artist) -> bool:
    """Return whether an artist is hidden, a band of an interval, or drawn behind the data."""
    return not artist.get_visible() or artist.get_gid() == INTERVAL or artist.get_zorder() <= 0


def _points_of_line(line: Line2D) -> int:
    """Return the number of visible points: all points with markers, else points that are joined to a neighbour."""
    if _is_reference(line):
        return 0
    finite = _finite(line.get_xdata()) & _finite(line.get_ydata())
    if line.get_marker() in ("None", "none", "", " ", None):
        joined = finite[1:] & finite[:-1]
        return 0 if line.get_linestyle() in ("None", "none", "", " ") else int(joined.sum()) + bool(joined.any())
    return 0 if line.get_marker() in ("|", "_") else int(finite.sum())  # ends of error bars


def _points_of_patch(patch: Patch, axes: Axes) -> int:
    """Return the number of steps, or the corners of a polygon; 1 for a patch of another form."""
    from matplotlib.patches import Polygon, StepPatch

    if isinstance(patch, StepPatch):
        return int(np.isfinite(patch.get_data()[0]).sum())
    # the transform of a patch without the patch's own position and size
    if _is_reference(patch) or not _in_data(patch.get_data_transform(), axes):
        return 0
    corners = np.asarray(patch.get_path().vertices, float)
    finite = corners[np.isfinite(corners).all(axis=1)]
    if not isinstance(patch, Polygon):
        return int(len(finite) == len(corners))
    return len(finite) if len(finite) and np.ptp(finite, axis=0).all() else 0  # a flat polygon is an empty histogram


def _points_of_collection(collection: Collection, axes: Axes) -> int:
    """Return the number of markers, line segments, or corners of areas; ``ENOUGH_POINTS`` for a grid of values."""
    from matplotlib.collections import LineCollection, PathCollection, PolyCollection, QuadMesh

    if _is_reference(collection):
        return 0
    if isinstance(collection, QuadMesh):
        return ENOUGH_POINTS if _finite(collection.get_array()).any() else 0
    if hasattr(collection, "do_3d_projection"):
        return ENOUGH_POINTS
    offsets: np.ndarray = np.ma.filled(np.ma.asarray(collection.get_offsets(), float), np.nan)
    if isinstance(collection, PathCollection) or len(offsets) > 1:
        counts = collection.get_array()  # of a grid of hexagons
        if isinstance(collection, PolyCollection) and counts is not None and not np.any(counts):
            return 0
        return int(np.isfinite(offsets).all(axis=1).sum())
    if not _in_data(collection.get_transform(), axes):
        return 0
    paths = [np.isfinite(np.asarray(path.vertices, float)).all(axis=1) for path in collection.get_paths()]
    if isinstance(collection, LineCollection):
        return sum(bool(len(finite) and finite.all()) for finite in paths)
    return sum(int(finite.sum()) for finite in paths)


def _finite(values: ArrayLike | None) -> np.ndarray:
    return np.isfinite(np.ma.filled(np.ma.asarray(values, float), np.nan))


def _name(axes: Axes) -> str:
    title = axes.get_title("left") or axes.get_title() or axes.get_ylabel() or axes.get_xlabel()
    return f"'{' '.join(title.split())}'"
