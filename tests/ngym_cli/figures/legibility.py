"""Defects of a drawn figure that a reader would see.

Repeated and bare panels, one look for two curves, texts that overlap, data outside of what is shown.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.text import Text

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
    """Return steps and heights of the curves of a panel, which are the same for a picture moved along the axis."""
    drawn = [line.get_xydata() for line in axes.lines if line.get_color() != GREY and len(line.get_ydata()) > 2]
    curves = [np.asarray(each, float) for each in drawn]
    curves = [each[np.isfinite(each).all(axis=1)] for each in curves]
    steps = [np.diff(each[:, 0]) for each in curves]
    if any((step <= 0).any() for step in steps):
        return b""  # a path in a plane
    pieces = [piece for step, each in zip(steps, curves, strict=True) for piece in (step, each[:, 1])]
    return b"|".join(piece.round(9).tobytes() for piece in pieces)


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


def titles_of(axes) -> list[Text]:
    """Return the titles of a panel: left, centre and right."""
    return [child for child in axes.get_children() if isinstance(child, Text) and child not in axes.texts]


def overlapping_texts(figure) -> list[str]:
    """Return titles and labels of axes whose boxes overlap in the drawn picture, or leave it."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    texts = list(figure.texts)
    for axes in panels_of(figure):
        texts += [*titles_of(axes), axes.xaxis.label, axes.yaxis.label]
        texts += [each for each in axes.texts if each.get_window_extent(renderer).y0 > axes.bbox.y1]  # names of periods
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


def _points(axes) -> list[np.ndarray]:
    """Return the finite points of each curve of a panel as fractions of the panel, shapes (points, 2)."""
    curves = []
    for line in axes.lines:
        points = np.asarray(line.get_xydata(), float)
        points = points[np.isfinite(points).all(axis=1)]
        if line.get_color() != GREY and len(points) > 2 and line.get_transform() == axes.transData:
            curves.append(axes.transAxes.inverted().transform(axes.transData.transform(points)))
    return curves


def unseen_data(figure) -> list[str]:
    """Return panels with curves outside of their limits, or squeezed into a corner by something far away."""
    wrong = []
    for axes in panels_of(figure):
        curves = _points(axes)
        if not curves:
            continue
        points = np.concatenate(curves)
        title = axes.get_title("left") or axes.get_title() or axes.get_ylabel()
        outside = ((points < -0.02) | (points > 1.02)).any(axis=1).mean()
        if outside > 0.1 and "not shown" not in " ".join(title.split()):  # points far away, which the title counts
            wrong.append(f"{outside:.0%} of the curves of {title!r} lie outside of the panel")
        if not shape_of(axes) and 0 < np.ptp(points, axis=0).max() < 0.1:  # paths in a plane
            wrong.append(f"the paths of {title!r} fill less than a tenth of the panel")
    return wrong


def bare_panels(figure) -> list[str]:
    """Return panels with bars of no length, and no number beside them, alone."""
    bare = []
    for axes in panels_of(figure):
        sizes = [abs(each.get_width() * each.get_height()) for each in axes.patches if hasattr(each, "get_height")]
        drawn = axes.lines or axes.images or axes.collections or any(text.get_text() for text in axes.texts)
        if sizes and not max(sizes) and not drawn:
            bare.append(f"{axes.get_title('left')!r} has bars of no length alone")
    return bare


def defects_of(figure) -> list[str]:
    """Return all of these."""
    return [
        defect
        for look in (repeated_panels, repeated_looks, overlapping_texts, unseen_data, bare_panels)
        for defect in look(figure)
    ]
