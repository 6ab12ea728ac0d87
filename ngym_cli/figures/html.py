"""Self-contained HTML pages: templates of this package, with figures embedded as markup."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure

#: A vector figure larger than this (bytes) is put in as pixels instead, of this resolution (dots per inch).
LARGEST_VECTOR, PIXELS = 400_000, 170

#: Width (inches) up to which a figure is shown in its own size, beyond which as wide as the page.
NARROW = 5.5


def render(template: str, contents: Mapping[str, object]) -> str:
    """Return a page.

    Args:
        template: name of a template of this folder.
        contents: content of the page, by the names used in the template.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ngym_cli", "figures"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template(template).render(contents) + "\n"


class PageFigure(TypedDict):
    """Figure as data for the templates of pages; ``kind`` is narrow or wide."""

    id: str
    caption: str
    picture: Markup
    kind: str


def drawing(figure: Figure, name: str, caption: str) -> PageFigure:
    """Return a figure as data for the templates: name, caption, picture, and narrow or wide."""
    kind = "narrow" if figure.get_figwidth() <= NARROW else "wide"
    return {"id": name, "caption": caption, "picture": inline(figure, name, caption), "kind": kind}


def inline(figure: Figure, name: str, alt: str) -> Markup:
    """Return a figure as markup: vector graphics with letters as paths, or pixels if the graphics would be large."""
    import matplotlib
    from markupsafe import Markup, escape

    from ngym_cli.figures.style import styled

    buffer = io.StringIO()
    with styled(), matplotlib.rc_context({"svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    width = figure.get_figwidth()
    kind = Markup('style="max-width: {}in"').format(f"{width:.2f}") if width <= NARROW else Markup("")
    drawing = buffer.getvalue()
    if len(drawing) > LARGEST_VECTOR:
        pixels = io.BytesIO()
        figure.savefig(pixels, format="png", dpi=PIXELS)
        data = base64.b64encode(pixels.getvalue()).decode()
        return Markup('<img {} alt="{}" src="data:image/png;base64,{}">').format(kind, alt, data)
    drawing = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", drawing[drawing.index("<svg") :], flags=re.DOTALL)
    drawing = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", drawing)  # identifiers are of the whole page
    for _ in ("width", "height"):  # the page sets them
        drawing = re.sub(r'(<svg [^>]*?) (?:width|height)="[^"]*"', r"\1", drawing, count=1)
    # The drawing is matplotlib's own, which escapes the words in it.
    return Markup(drawing.replace("<svg ", f'<svg {kind} role="img" aria-label="{escape(alt)}" ', 1))
