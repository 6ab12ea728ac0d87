"""Common look of all figures."""

from __future__ import annotations

import contextlib
import contextvars
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from neurogym.analysis.psychometric import PsychometricFit
from neurogym.analysis.results import Curve, Estimate
from neurogym.plotting import training
from ngym_cli.errors import check_known
from ngym_cli.runs.summary import performance_of
from ngym_cli.terminal import reference_word

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.container import ErrorbarContainer
    from matplotlib.typing import ColorType
    from numpy.typing import ArrayLike

    from ngym_cli.runs.records import ConditionRecord, EvaluationRow, Summary


#: Style of each reference score, and the distance below which two scores share a line.
LINES = {"chance": ":", "blind": "-.", "ceiling": "--"}
NEAR = 0.02

#: Colours that people with any colour vision tell apart (Okabe & Ito 2008), darkest contrast first.
COLOURS = training.COLOURS
GREY = "#808080"
#: Group id of the bands of intervals, which are not data.
INTERVAL = "interval"
#: Colour of annotations.
NOTE = "#A33000"

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


#: Settings of figures for print: small, thin, sharp.
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

#: Settings by style, and the size of figures relative to the screen style.
STYLES: dict[str, Any] = {"screen": _SETTINGS, "paper": {**_SETTINGS, **_PAPER}}
SCALE = {"screen": 1.0, "paper": 0.7}
_scale = contextvars.ContextVar("scale", default=1.0)


class FigureUnavailableError(Exception):
    """Error for a figure that cannot be drawn from the given trials; the message contains the reason."""


@contextlib.contextmanager
def unavailable_on(error: type[Exception]) -> Iterator[None]:
    """Turn an error of this kind within a block into the reason why a figure cannot be drawn."""
    try:
        yield
    except error as reason:
        raise FigureUnavailableError(str(reason)) from None


@contextlib.contextmanager
def styled(style: str = "screen") -> Iterator[None]:
    """Draw in the style of the toolkit inside a ``with`` block; Matplotlib's settings are restored afterwards.

    The style starts from Matplotlib's own defaults: settings files can name programs, and a ``matplotlibrc`` in the
    current folder may come from anyone.

    Args:
        style: ``screen`` or ``paper``.

    Raises:
        UserError: if the style does not exist.
    """
    check_known("style", style, SCALE)
    token = _scale.set(SCALE[style])
    try:
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(STYLES[style])
            yield
    finally:
        _scale.reset(token)


def colours(n: int) -> list[str]:
    """Return a colour for each of ``n`` series, no colour twice."""
    return list(COLOURS[:n]) if n <= len(COLOURS) else [to_hex(shade) for shade in shades(n)]


def shades(n: int) -> list[tuple[float, float, float, float]]:
    """Return colours for an ordered series, light to dark, distinguishable with any colour vision."""
    return [matplotlib.colormaps["cividis"](x) for x in np.linspace(0.9, 0.0, n)]


def spread(curve: Curve) -> np.ndarray:
    """Return the distances of the ends of intervals from the values, shape (2, points); 0 where unknown or infinite."""
    with np.errstate(invalid="ignore"):
        distances = np.clip([curve.value - curve.low, curve.high - curve.value], 0, None)
    return np.nan_to_num(distances, posinf=0)


def interval_points(axes: Axes, curve: Curve, **options: Any) -> ErrorbarContainer:
    """Draw the points of a ``Curve`` with intervals."""
    values = np.where(np.isfinite(curve.value), curve.value, np.nan)
    return axes.errorbar(curve.x, values, spread(curve), **{"fmt": "o", "markersize": 4, "linewidth": 1, **options})


def interval_bars(axes: Axes, names: Sequence[str], estimates: Sequence[Estimate], **options: Any) -> None:
    """Draw estimates as points with intervals, each above the name."""
    position = options.pop("offset", 0.0) + np.arange(len(names))
    interval_points(axes, Curve.estimates(position, list(estimates), 0), **options)
    category_ticks(axes, names)


def interval_band(axes: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, colour: ColorType) -> None:
    """Draw the intervals around a line as a band."""
    axes.fill_between(x, low, high, alpha=0.22, linewidth=0, color=colour, gid=INTERVAL)


def interval_line(axes: Axes, curve: Curve, colour: ColorType, label: str = "", **options: Any) -> None:
    """Draw a ``Curve`` as a line with a band of intervals."""
    interval_band(axes, curve.x, curve.low, curve.high, colour)
    axes.plot(curve.x, curve.value, color=colour, label=label, **options)


def performance_curve(x: ArrayLike, rows: Sequence[Summary | ConditionRecord | EvaluationRow]) -> Curve:
    """Return the performance with intervals of summaries of evaluations or conditions, at given positions."""
    estimates = [performance_of(row) for row in rows]
    trials = np.array([row["trials"] for row in rows])
    return Curve.estimates(np.asarray(x), estimates, trials)


def fitted_curve(axes: Axes, fit: PsychometricFit, colour: ColorType, band: bool = True) -> None:
    """Draw a fitted psychometric function over the range of its data, with or without the bootstrap band."""
    x = np.linspace(fit.data.x.min(), fit.data.x.max(), 200)
    if band:
        low, high = fit.band(x)
        interval_band(axes, x, low, high, colour)
    axes.plot(x, fit.predict(x), color=colour)


def along_training(axes: Axes, title: str, low: float = 0) -> None:
    """Label axes of performance along training, steps in thousands."""
    axes.set(xlabel="training steps", ylabel="performance", ylim=(low, 1.05), title=title)
    thousands(axes)


def thousands(axes: Axes) -> None:
    """Label steps in thousands, or in millions where there are many."""
    axes.locator_params(axis="x", nbins=7)
    if axes.get_xlim()[1] >= 2e6:
        axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1e6:g}M" if x else "0")
        return
    axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:g}k" if x >= 1000 else f"{x:g}")


def guide(axes: Axes, x: float | None = None, y: float | None = None) -> None:
    """Draw dotted grey lines across a panel, at a position of either axis."""
    style: Any = {"color": GREY, "linestyle": ":", "linewidth": 1, "zorder": 0}
    if x is not None:
        axes.axvline(x, **style)
    if y is not None:
        axes.axhline(y, **style)


def unit_circle(axes: Axes) -> None:
    """Draw the circle on which eigenvalues neither grow nor decay, and name the axes of the complex plane."""
    angle = np.linspace(0, 2 * np.pi, 200)
    axes.plot(np.cos(angle), np.sin(angle), color=GREY, linewidth=0.8, zorder=0)
    axes.set(xlabel="real part", ylabel="imaginary part", aspect="equal")


def dodge(position: int, n: int, distance: float = 0.12) -> float:
    """Return how far the points of one of ``n`` series stand from the middle of a category."""
    return distance * (position - (n - 1) / 2)


def figure_of(axes: Axes) -> Figure:
    """Return the whole figure that axes are in."""
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure


def category_ticks(axes: Axes, names: Sequence[str]) -> None:
    """Write names below the positions 0, 1, 2, ... of an axis, slanted where names would touch.

    Args:
        axes: the axes with the horizontal axis to label.
        names: text below each position; line breaks are kept.
    """
    figure = figure_of(axes)
    position = axes.get_subplotspec()
    columns = position.get_gridspec().ncols if position is not None else 1
    size = 0.6 * matplotlib.rcParams["font.size"]  # points that a letter takes, about
    room = 72 * 0.72 * figure.get_figwidth() / columns / max(len(names), 1)
    longest = max((len(line) for name in names for line in name.split("\n")), default=0)
    if size * (longest + 1) <= room:
        axes.set_xticks(range(len(names)), names)
    else:
        flat = [name.replace("\n", ", ") for name in names]
        steep = 90 if 1.8 * matplotlib.rcParams["font.size"] > room else 35
        axes.set_xticks(
            range(len(names)),
            flat,
            rotation=steep,
            ha="right" if steep < 90 else "center",
            rotation_mode="anchor" if steep < 90 else "default",
        )


def legend_below(axes: Axes, columns: int = 1, side: str = "left") -> None:
    """Put the legend of axes below the figure, with long labels folded.

    Args:
        axes: the axes with the legend.
        columns: number of columns of entries.
        side: ``left`` or ``right``.
    """
    figure = figure_of(axes)
    handles, labels = axes.get_legend_handles_labels()
    half = 0.5 if side == "right" else 1.0
    folded = [_folded(label, half * figure.get_figwidth() / columns) for label in labels]
    position: Any = f"outside lower {side}"
    legend: Any = figure.legend(handles, folded, loc=position, ncols=columns, handlelength=1.5)
    legend.set_gid(f"below {side}")
    legend.given = handles, folded  # what stands in it, should lines be added


def _folded(text: str, width: float) -> str:
    """Return text with line breaks, so that lines are not wider than a number of inches."""
    return "\n".join(textwrap.wrap(text, max(int(15 * width / _scale.get()) - 4, 20)))


def set_titles(figure: Figure) -> None:
    """Capitalise the titles of a figure and of all panels, and fold texts that are wider than the panel."""
    for axes in figure.axes:
        position = axes.get_subplotspec()
        columns = 1.0 if position is None else position.get_gridspec().ncols / len(position.colspan)
        width = figure.get_figwidth() / columns
        titles = {axes.get_title(position) for position in ("left", "center", "right")}
        for text in axes.get_children():
            if isinstance(text, Text) and text.get_text() in titles:
                title = _folded_lines(text.get_text(), 0.85 * width if columns > 1 else width)
                text.set_text(title[:1].upper() + title[1:])
        axes.set_xlabel(_folded_lines(axes.get_xlabel(), 0.8 * width))
    if figure.get_suptitle():
        title = _folded_lines(figure.get_suptitle(), figure.get_figwidth())
        figure.suptitle(title[:1].upper() + title[1:], fontsize="medium")


def _folded_lines(text: str, width: float) -> str:
    return "\n".join(_folded(line, width) for line in text.split("\n"))


def footnote(figure: Figure, lines: Sequence[str]) -> None:
    """Write lines below a figure, under the legend if present."""
    if not lines:
        return
    handles: list[Artist] = []
    labels: list[str] = []
    legend: Any
    for legend in figure.legends:
        if legend.get_gid() == "below left":
            handles, labels = legend.given
            legend.remove()
    folded = [_folded(line, figure.get_figwidth()) for line in lines]
    empty = Line2D([], [], linestyle="none")
    position: Any = "outside lower left"
    legend = figure.legend([*handles, *[empty] * len(lines)], [*labels, *folded], loc=position, handlelength=1.5)
    legend.set_gid("below left")
    for text in legend.get_texts()[len(labels) :]:
        text.set_color(NOTE)


def new_figure(
    rows: int = 1, columns: int = 1, width: float = 4.2, height: float = 3.2, **options: Any
) -> tuple[Figure, Any]:
    """Return a figure and the axes (an array unless there is only a single panel); no window system is needed."""
    scale = _scale.get()
    figure = Figure(figsize=(scale * width * columns, scale * height * rows))
    return figure, figure.subplots(rows, columns, **options)


def reference_lines(axes: Axes, references: Mapping[str, float | None]) -> None:
    """Draw chance, no-stimulus baseline and ceiling as horizontal lines that the legend names.

    Args:
        axes: axes to draw on.
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
        text = f"{', '.join(reference_word(name) for name in names)} {value:.3g}"
        axes.axhline(value, color=GREY, linestyle=LINES[names[-1]], linewidth=1, zorder=0, label=text)
