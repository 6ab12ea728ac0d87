"""A figure as the numbers that it shows, small enough to be kept in a record, and the figure drawn again from them.

What is kept are points, lines, areas, bars, intervals and words of each panel, to four digits: what a reader could read
off the figure. No trial and no training is needed to draw it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

#: Most points of a line or the edge of an area that are kept; those of a fitted curve are many more.
POINTS = 60

Drawing = dict[str, Any]


def as_numbers(figure: Any) -> Drawing:
    """Return what a figure shows as plain data.

    Raises:
        TypeError: If it shows what is not kept, as images.
    """
    below = [
        {"words": [text.get_text() for text in legend.get_texts()], "columns": legend._ncols}  # no other way to ask
        for legend in figure.legends
    ]
    panels = [_panel(axes) for axes in figure.axes]
    return {"size": _rounded(figure.get_size_inches()), "panels": panels, "below": below}


def from_numbers(drawing: Drawing) -> Any:
    """Return the figure of ``as_numbers``; the style is that of the moment."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=drawing["size"])
    panels = drawing["panels"]
    rows, columns, *_ = panels[0]["place"]
    grid = figure.add_gridspec(rows, columns, **panels[0]["ratios"])
    for panel in panels:
        _, _, top, bottom, left, right = panel["place"]
        _draw(figure.add_subplot(grid[top:bottom, left:right]), panel)
    handles = {label: handle for axes in figure.axes for handle, label in zip(*_entries(axes), strict=True)}
    for number, below in enumerate(drawing["below"]):
        side = "left" if number == 0 else "right"
        entries = [handles.get(" ".join(words.split("\n")), _nothing()) for words in below["words"]]
        figure.legend(entries, below["words"], loc=f"outside lower {side}", ncols=below["columns"], handlelength=1.5)
    return figure


def _entries(axes: Any) -> tuple[list[Any], list[str]]:
    handles, labels = axes.get_legend_handles_labels()
    return handles, labels


def _nothing() -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none")


def _panel(axes: Any) -> dict[str, Any]:
    """Return what one panel shows."""
    cell = axes.get_subplotspec()
    grid = cell.get_gridspec()
    legend = axes.get_legend()
    return {
        "place": [grid.nrows, grid.ncols, cell.rowspan.start, cell.rowspan.stop, cell.colspan.start, cell.colspan.stop],
        "ratios": {
            name: _rounded(ratios)
            for name, ratios in (("height_ratios", grid.get_height_ratios()), ("width_ratios", grid.get_width_ratios()))
        },
        "title": axes.get_title(loc="left") or axes.get_title(),
        "x": _axis(axes, "x"),
        "y": _axis(axes, "y"),
        "legend": legend is not None,
        "parts": list(_artists(axes)),
    }


def _axis(axes: Any, name: str) -> dict[str, Any]:
    from matplotlib.ticker import FixedFormatter, FuncFormatter, NullLocator

    axis = getattr(axes, f"{name}axis")
    axis_data = {
        "label": axis.get_label_text(),
        "range": _rounded(getattr(axes, f"get_{name}lim")(), 6),
        "scale": axis.get_scale(),
        "named": bool(axis.get_tick_params()["labelbottom" if name == "x" else "labelleft"]),
    }
    if isinstance(axis.get_major_formatter(), FixedFormatter | FuncFormatter):
        ticks = axis.get_major_ticks(len(axis.get_majorticklocs()))
        words = [text.get_text() for text in axis.get_majorticklabels()]
        axis_data["ticks"] = _rounded(axis.get_majorticklocs())
        axis_data["words"] = words
        axis_data["rotation"] = float(ticks[0].label1.get_rotation()) if ticks else 0.0
    axis_data["minor"] = not isinstance(axis.get_minor_locator(), NullLocator)
    return axis_data


def _artists(axes: Any) -> Iterator[dict[str, Any]]:
    """Yield what is drawn in a panel, from the bottom upwards."""
    from matplotlib.collections import LineCollection, PathCollection, PolyCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle
    from matplotlib.text import Annotation

    labels = _labels_of_groups(axes)
    for artist in axes.get_children():
        label = labels.get(artist, artist.get_label())
        label = "" if str(label).startswith("_") else str(label)
        usual = {"label": label, "order": float(artist.get_zorder()), **_opacity(artist)}
        if isinstance(artist, Line2D):
            yield {"kind": "line", **usual, **_line(artist, axes)}
        elif isinstance(artist, PolyCollection):
            colour = _colour(artist.get_facecolor()[0])
            yield from ({"kind": "area", **usual, "colour": colour, **_area(path)} for path in artist.get_paths())
        elif isinstance(artist, LineCollection):
            ends = [_rounded(segment.ravel()) for segment in artist.get_segments() if len(segment)]
            style = {"colour": _colour(artist.get_edgecolor()[0]), "width": float(artist.get_linewidth()[0])}
            yield {"kind": "intervals", **usual, **style, "ends": ends}
        elif isinstance(artist, PathCollection):
            places = np.ma.getdata(artist.get_offsets())
            yield {
                "kind": "points",
                **usual,
                "colour": _colour(artist.get_facecolor()[0]),
                "x": _rounded(places[:, 0]),
                "y": _rounded(places[:, 1]),
            }
        elif isinstance(artist, Annotation):
            yield {"kind": "words", **usual, **_words(artist)}
        elif isinstance(artist, Rectangle) and artist is not axes.patch:
            box = _rounded([artist.get_x(), artist.get_y(), artist.get_width(), artist.get_height()])
            yield {"kind": "bar", **usual, "colour": _colour(artist.get_facecolor()), "box": box}
        elif type(artist).__name__ in ("AxesImage", "QuadMesh", "StepPatch"):
            raise TypeError(f"a figure with {type(artist).__name__} is not kept as numbers")


def _labels_of_groups(axes: Any) -> dict[Any, str]:
    """Return the label of points with intervals and of bars, which stands on the group, for its first part."""
    labels = {}
    for group in axes.containers:
        first = group.lines[0] if hasattr(group, "lines") else group.patches[0] if len(group.patches) else None
        if first is not None:
            labels[first] = group.get_label()
    return labels


def _opacity(artist: Any) -> dict[str, float]:
    return {} if artist.get_alpha() is None else {"alpha": float(artist.get_alpha())}


def _line(line: Any, axes: Any) -> dict[str, Any]:
    """Return a line; one across the whole panel says so."""
    x, y = (np.asarray(values, float) for values in line.get_data())
    across = {"across": "y"} if line.get_transform() == axes.get_yaxis_transform(which="grid") else {}
    across = {"across": "x"} if line.get_transform() == axes.get_xaxis_transform(which="grid") else across
    marker = str(line.get_marker())
    if marker == "None" and len(x) > POINTS:
        indices = np.unique(np.linspace(0, len(x) - 1, POINTS).astype(int))
        x, y = x[indices], y[indices]
    style = {"colour": _colour(line.get_color()), "style": line.get_linestyle(), "width": float(line.get_linewidth())}
    marks = {} if marker == "None" else {"marker": marker, "size": float(line.get_markersize())}
    return {**style, **marks, **across, "x": _rounded(x), "y": _rounded(y)}


def _area(path: Any) -> dict[str, Any]:
    """Return the lower and upper edge of an area between two lines."""
    corners = path.vertices
    n = (len(corners) - 3) // 2
    lower, upper = corners[1 : n + 1], corners[n + 2 : 2 * n + 2][::-1]
    indices = np.unique(np.linspace(0, n - 1, min(n, POINTS)).astype(int))
    return {"x": _rounded(lower[indices, 0]), "low": _rounded(lower[indices, 1]), "high": _rounded(upper[indices, 1])}


def _words(note: Any) -> dict[str, Any]:
    coordinates = note.xycoords if isinstance(note.xycoords, str) else list(note.xycoords)
    offset = note.anncoords if isinstance(note.anncoords, str) else list(note.anncoords)
    return {
        "text": note.get_text(),
        "at": _rounded(note.xy),
        "coordinates": coordinates,
        "from": _rounded(note.get_position()),
        "beside": offset,
        "colour": _colour(note.get_color()),
        "ha": note.get_ha(),
        "va": note.get_va(),
        "size": float(note.get_fontsize()),
    }


def _colour(colour: Any) -> str:
    from matplotlib.colors import to_hex

    return str(to_hex(colour))


def _rounded(values: Any, digits: int = 4) -> list[float | None]:
    """Return numbers to so many digits; None where there is none."""
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in np.asarray(values, float)]


def _numbers(values: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], float)


def _draw(axes: Any, panel: dict[str, Any]) -> None:
    """Draw one panel again."""
    for name in ("x", "y"):
        getattr(axes, f"set_{name}scale")(panel[name]["scale"])
    for artist in panel["parts"]:
        _PARTS[artist["kind"]](axes, artist, _usual(artist))
    axes.set_title(panel["title"])
    for name in ("x", "y"):
        axis_data, axis = panel[name], getattr(axes, f"{name}axis")
        axis.set_label_text(axis_data["label"])
        getattr(axes, f"set_{name}lim")(axis_data["range"])
        if "ticks" in axis_data:
            slanted = 0 < axis_data["rotation"] < 90
            turned = {
                "rotation": axis_data["rotation"],
                **({"ha": "right", "rotation_mode": "anchor"} if slanted else {}),
            }
            axis.set_ticks(axis_data["ticks"], axis_data["words"], **turned)
        if not axis_data["named"]:
            axis.set_tick_params(labelbottom=False, labelleft=False)
        if not axis_data["minor"]:
            axis.minorticks_off()
    if panel["legend"]:
        axes.legend()


def _usual(artist: dict[str, Any]) -> dict[str, Any]:
    options = {"zorder": artist["order"], "color": artist.get("colour")}
    options |= {"alpha": artist["alpha"]} if "alpha" in artist else {}
    return options | ({"label": artist["label"]} if artist["label"] else {})


def _draw_line(axes: Any, artist: dict[str, Any], usual: dict[str, Any]) -> None:
    style = {"linestyle": artist["style"], "linewidth": artist["width"], **usual}
    if artist.get("across") == "y":
        axes.axhline(artist["y"][0], **style)
    elif artist.get("across") == "x":
        axes.axvline(artist["x"][0], **style)
    else:
        marks = {"marker": artist["marker"], "markersize": artist["size"]} if "marker" in artist else {}
        axes.plot(_numbers(artist["x"]), _numbers(artist["y"]), **marks, **style)


def _draw_area(axes: Any, artist: dict[str, Any], usual: dict[str, Any]) -> None:
    axes.fill_between(*(_numbers(artist[name]) for name in ("x", "low", "high")), linewidth=0, **usual)


def _draw_intervals(axes: Any, artist: dict[str, Any], usual: dict[str, Any]) -> None:
    from matplotlib.collections import LineCollection

    segments = [_numbers(ends).reshape(-1, 2) for ends in artist["ends"]]
    axes.add_collection(LineCollection(segments, linewidths=artist["width"], **usual))


def _draw_points(axes: Any, artist: dict[str, Any], usual: dict[str, Any]) -> None:
    axes.scatter(_numbers(artist["x"]), _numbers(artist["y"]), **usual)


def _draw_words(axes: Any, artist: dict[str, Any], usual: dict[str, Any]) -> None:
    at, coordinates = (
        tuple(artist[name]) if isinstance(artist[name], list) else artist[name] for name in ("coordinates", "beside")
    )
    axes.annotate(
        artist["text"],
        artist["at"],
        artist["from"],
        xycoords=at,
        textcoords=coordinates,
        ha=artist["ha"],
        va=artist["va"],
        fontsize=artist["size"],
        zorder=artist["order"],
        color=artist["colour"],
    )


def _draw_bar(axes: Any, artist: dict[str, Any], usual: dict[str, Any]) -> None:
    from matplotlib.patches import Rectangle

    left, bottom, width, height = _numbers(artist["box"])
    axes.add_patch(Rectangle((left, bottom), width, height, **usual))


_PARTS = {
    "line": _draw_line,
    "area": _draw_area,
    "intervals": _draw_intervals,
    "points": _draw_points,
    "words": _draw_words,
    "bar": _draw_bar,
}
