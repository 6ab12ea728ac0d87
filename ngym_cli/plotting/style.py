"""The look that all figures share."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import matplotlib
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure

#: Colours that people with any colour vision tell apart (Okabe & Ito 2008), darkest contrast first.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#808080"

_SETTINGS: Any = {
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.5,
    "pdf.fonttype": 42,
    "savefig.dpi": 150,
    "svg.fonttype": "none",
    "svg.hashsalt": "ngym",
}


class Unavailable(Exception):
    """A figure cannot be drawn from these trials; the message says why."""


def styled() -> AbstractContextManager[None]:
    """Draw in our style inside a ``with`` block; matplotlib's settings are as before after it."""
    return matplotlib.rc_context(_SETTINGS)


def new_figure(
    rows: int = 1, columns: int = 1, width: float = 4.2, height: float = 3.2, **options: Any
) -> tuple[Figure, Any]:
    """Return a figure and its axes (an array unless there is one); no window system is needed."""
    figure = Figure(figsize=(width * columns, height * rows))
    return figure, figure.subplots(rows, columns, **options)


def reference_lines(axes: Axes, chance: float | None, ceiling: float | None) -> None:
    """Draw chance and ceiling as horizontal lines with their names at the right end."""
    for name, value, style in (("chance", chance, ":"), ("ceiling", ceiling, "--")):
        if value is not None:
            axes.axhline(value, color=GREY, linestyle=style, linewidth=1, zorder=0)
            axes.annotate(
                f"{name} {value:.3g}",
                (1, value),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                xytext=(-2, 2),
                ha="right",
                va="bottom",
                color=GREY,
                fontsize=8,
            )
