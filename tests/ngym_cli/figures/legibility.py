"""Defects of a drawn figure that a reader would see: repeated panels, one look for two curves, texts that overlap."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from ngym_cli.figures.style import GREY


def panels_of(figure):
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>" and axes.axison]


def content_of(axes) -> bytes:
    """Return the data of a panel, whatever the axes are called."""
    lines = [line.get_xydata() for line in axes.lines if line.get_color() != GREY and len(line.get_xydata()) > 2]
    images = [np.asarray(image.get_array()) for image in axes.images]
    images += [np.asarray([arrows.U, arrows.V]) for arrows in axes.collections if hasattr(arrows, "U")]
    return b"|".join(np.nan_to_num(np.asarray(each, float)).round(9).tobytes() for each in (*lines, *images))


def shape_of(axes) -> bytes:
    """Return the heights of the curves of a panel, which is the same for a picture that is moved along the axis."""
    drawn = [line for line in axes.lines if line.get_color() != GREY and len(line.get_ydata()) > 2]
    if not all(np.all(np.diff(np.asarray(line.get_xdata(), float)) > 0) for line in drawn):
        return b""  # a path in a plane
    lines = [line.get_ydata() for line in drawn]
    return b"|".join(np.asarray(each, float)[np.isfinite(np.asarray(each, float))].round(9).tobytes() for each in lines)


def repeated_panels(figure) -> list[str]:
    panels = [axes for axes in panels_of(figure) if len(content_of(axes)) > 100]
    return [
        f"{a.get_title('left')!r} and {b.get_title('left')!r} show the same data"
        for a, b in combinations(panels, 2)
        if content_of(a) == content_of(b) or (len(shape_of(a)) > 100 and shape_of(a) == shape_of(b))
    ]


def repeated_looks(figure) -> list[str]:
    """Return labels of one panel whose curves have the same colour, line style and markers."""
    wrong = []
    for axes in panels_of(figure):
        looks: dict[tuple, str] = {}
        for line in axes.lines:
            label = str(line.get_label())
            if label.startswith("_") or line.get_color() == GREY or not len(line.get_xdata()):
                continue
            face = line.get_markerfacecolor()
            look = (to_hex(line.get_color()), line.get_linestyle(), str(line.get_marker()), str(face))
            if looks.setdefault(look, label) != label:
                wrong.append(f"{looks[look]!r} and {label!r} look the same")
    return wrong


def overlapping_texts(figure) -> list[str]:
    """Return titles and labels of axes whose boxes overlap in the drawn picture, or leave it."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    texts = [figure._suptitle] if figure.get_suptitle() else []
    for axes in panels_of(figure):
        places = ("left", "center", "right")
        texts += [
            each for position, each in zip(places, (axes._left_title, axes.title, axes._right_title), strict=True)
        ]
        texts += [axes.xaxis.label, axes.yaxis.label]
    boxes = [(each.get_text(), each.get_window_extent(renderer)) for each in texts if each.get_text().strip()]
    wrong = []
    for (a, box), (b, second) in combinations(boxes, 2):
        width = min(box.x1, second.x1) - max(box.x0, second.x0)
        height = min(box.y1, second.y1) - max(box.y0, second.y0)
        if width > 2 and height > 2:
            wrong.append(f"{a!r} overlaps {b!r}")
    wide, high = canvas.get_width_height()
    wrong += [f"{a!r} leaves the figure" for a, box in boxes if box.x0 < -3 or box.x1 > wide + 3 or box.y1 > high + 3]
    return wrong


def defects_of(figure) -> list[str]:
    """Return all of these."""
    return repeated_panels(figure) + repeated_looks(figure) + overlapping_texts(figure)
