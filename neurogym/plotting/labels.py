"""Legends and names in figures, placed without overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

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
