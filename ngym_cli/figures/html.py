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

#: Width on the page of an inch of a figure, in rem: the same for all figures, so that all type has one size.
REM_PER_INCH = 5.6


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
    """Figure as data for the templates of pages."""

    id: str
    caption: str
    picture: Markup


def drawing(figure: Figure, name: str, caption: str) -> PageFigure:
    """Return a figure as data for the templates."""
    return {"id": name, "caption": caption, "picture": inline(figure, name, caption)}


def inline(figure: Figure, name: str, alt: str) -> Markup:
    """Return a figure as markup: vector graphics with texts as text, or pixels if the graphics would be large."""
    import matplotlib
    from markupsafe import Markup, escape

    from ngym_cli.figures.style import styled

    buffer = io.StringIO()
    with styled(), matplotlib.rc_context({"svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    drawing = buffer.getvalue()
    if len(drawing) > LARGEST_VECTOR:
        pixels = io.BytesIO()
        figure.savefig(pixels, format="png", dpi=PIXELS)
        return picture(pixels.getvalue(), alt, PIXELS)
    drawing = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", drawing[drawing.index("<svg") :], flags=re.DOTALL)
    drawing = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", drawing)  # identifiers are of the whole page
    for _ in ("width", "height"):  # the page sets them
        drawing = re.sub(r'(<svg [^>]*?) (?:width|height)="[^"]*"', r"\1", drawing, count=1)
    # The drawing is matplotlib's own, which escapes the words in it.
    width = Markup('style="width: {}rem"').format(f"{REM_PER_INCH * figure.get_figwidth():.1f}")
    return Markup(drawing.replace("<svg ", f'<svg {width} role="img" aria-label="{escape(alt)}" ', 1))


def picture(data: bytes, alt: str, dots: int) -> Markup:
    """Return a PNG picture as markup, as wide as a figure of the same number of inches.

    Args:
        data: content of the file.
        alt: description.
        dots: resolution (dots per inch).
    """
    from markupsafe import Markup

    inches = int.from_bytes(data[16:20], "big") / dots  # width in the header of the file
    style, coded = f"width: {REM_PER_INCH * inches:.1f}rem", base64.b64encode(data).decode()
    return Markup('<img style="{}" alt="{}" src="data:image/png;base64,{}">').format(style, alt, coded)
