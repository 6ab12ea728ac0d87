"""The look that all figures share."""

from __future__ import annotations

import contextlib
import contextvars
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure

#: How each score of another agent is drawn, and how near two are that share a line.
LINES = {"chance": ":", "blind": "-.", "ceiling": "--"}
NEAR = 0.02

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


#: What a figure for print has differently: small, thin, sharp.
_PAPER: Any = {
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "font.size": 7,
    "legend.fontsize": 6.5,
    "lines.linewidth": 1.0,
    "lines.markersize": 4,
    "savefig.dpi": 400,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
}

#: Settings by the name of the style, and how large its figures are beside those for the screen.
STYLES: dict[str, Any] = {"screen": _SETTINGS, "paper": {**_SETTINGS, **_PAPER}}
SCALE = {"screen": 1.0, "paper": 0.7}
_scale = contextvars.ContextVar("scale", default=1.0)


class Unavailable(Exception):
    """A figure cannot be drawn from these trials; the message says why."""


@contextlib.contextmanager
def styled(style: str = "screen") -> Iterator[None]:
    """Draw in our style inside a ``with`` block; matplotlib's settings are as before after it.

    Args:
        style: ``screen`` or ``paper``.
    """
    token = _scale.set(SCALE[style])
    try:
        with matplotlib.rc_context(STYLES[style]):
            yield
    finally:
        _scale.reset(token)


def shades(n: int) -> list[Any]:
    """Return colours for an ordered series, light to dark, told apart with any colour vision."""
    return [matplotlib.colormaps["cividis"](x) for x in np.linspace(0.9, 0.0, n)]


def interval_points(axes: Axes, curve: Any, **options: Any) -> Any:
    """Draw the points of a ``Curve`` with their intervals."""
    spread = np.nan_to_num(np.clip([curve.value - curve.low, curve.high - curve.value], 0, None))
    return axes.errorbar(curve.x, curve.value, spread, **{"fmt": "o", "markersize": 4, "linewidth": 1, **options})


def interval_bars(axes: Axes, names: Sequence[str], estimates: Sequence[Any], **options: Any) -> None:
    """Draw estimates as points with intervals above their names."""
    values, lows, highs = (np.array([getattr(e, part) for e in estimates]) for part in ("value", "low", "high"))
    spread = np.nan_to_num(np.clip([values - lows, highs - values], 0, None))
    place = options.pop("offset", 0.0) + np.arange(len(names))
    axes.errorbar(place, values, spread, **{"fmt": "o", "markersize": 4, "linewidth": 1, **options})
    axes.set_xticks(range(len(names)), names)


def legend_below(axes: Axes, columns: int = 1, side: str = "left") -> None:
    """Put the legend of axes below the figure, its words folded so that they fit.

    Args:
        axes: whose legend.
        columns: entries side by side.
        side: ``left`` or ``right``.
    """
    figure: Any = axes.get_figure(root=True)
    handles, labels = axes.get_legend_handles_labels()
    half = 0.5 if side == "right" else 1.0
    letters = int(15 * half * figure.get_figwidth() / (_scale.get() * columns)) - 4
    folded = ["\n".join(textwrap.wrap(label, max(letters, 20))) for label in labels]
    place: Any = f"outside lower {side}"
    figure.legend(handles, folded, loc=place, ncols=columns, handlelength=1.5)


def new_figure(
    rows: int = 1, columns: int = 1, width: float = 4.2, height: float = 3.2, **options: Any
) -> tuple[Figure, Any]:
    """Return a figure and its axes (an array unless there is one); no window system is needed."""
    scale = _scale.get()
    figure = Figure(figsize=(scale * width * columns, scale * height * rows))
    return figure, figure.subplots(rows, columns, **options)


def reference_lines(axes: Axes, references: Mapping[str, float | None]) -> None:
    """Draw chance, blind score and ceiling as horizontal lines with their names at the right end.

    Args:
        axes: where to.
        references: value of each by name, None where not known; those that are nearly equal share a line.
    """
    lines: list[tuple[float, list[str]]] = []
    for name, value in references.items():
        if value is None:
            continue
        near = next((words for at, words in lines if abs(at - value) < NEAR), None)
        if near is None:
            lines.append((value, [name]))
        else:
            near.append(name)
    for value, names in lines:
        axes.axhline(value, color=GREY, linestyle=LINES[names[-1]], linewidth=1, zorder=0)
        axes.annotate(
            f"{', '.join(names)} {value:.3g}",
            (1, value),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            xytext=(-2, 2),
            ha="right",
            va="bottom",
            color=GREY,
            fontsize=8,
        )
