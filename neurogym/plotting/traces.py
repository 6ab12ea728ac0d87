"""Figures of what the units of a network did."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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


if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME_SIZES = (7, 6, 5)  #: of names on the y axis (points)


def legend_beside(ax: Axes) -> None:
    """Draw the legend next to the panel, without overlap."""
    columns = int(np.ceil(len(ax.get_legend_handles_labels()[1]) / 7))
    ax.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1.0, 1.05), borderaxespad=0.2, ncols=columns)


def name_ticks(ax: Axes, names: Mapping[float, str], join: bool = True) -> None:
    """Names at places on the y axis, smaller where there is little room.

    Args:
        ax: The panel, with everything drawn.
        names: Place to name.
        join: Whether names that would touch even so share one label; else only the first of them is written.
    """
    limits = [*ax.get_ylim(), *names]
    figure: Any = ax.get_figure(root=True)
    inches = figure.get_figheight() / len(figure.axes)
    point = (max(limits) - min(limits)) / (72 * 0.6 * inches)  # the panel without its margins
    groups: list[list[float]] = []
    for size in NAME_SIZES:
        groups = _apart(sorted(names), 1.25 * size * point, join)
        if len(groups) == len(names):
            break
    labels = [[names[place] for place in group] for group in groups]
    places = [float(np.mean(group)) if join else group[0] for group in groups]
    ax.set_yticks(places, [_joined(group) if join else group[0] for group in labels], fontsize=size)


def _apart(places: Sequence[float], room: float, chain: bool) -> list[list[float]]:
    """Group places; different groups (or their first places) are at least ``room`` apart."""
    groups: list[list[float]] = []
    for place in places:
        if groups and place - groups[-1][-1 if chain else 0] < room:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} ... {names[-1]}"
