"""Draw the figure of README.md from the run of ``make demo``.

    make demo && python docs/demo.py

Writes ``docs/static/demo.png``: the learning curve and the psychometric curve of the run, next to each other.
"""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from PIL import Image

import ngym_cli as nc

RUN = "runs/RDM-v0/recurrent_ppo/demo"
OUT = Path(__file__).with_name("static") / "demo.png"
WIDTH, HEIGHT, DPI = 4.4, 3.9, 150  # inches, inches, dots per inch
COLOURS = 64  # enough for few lines and letters, and half the size of the file


def picture(figure: Figure) -> Image.Image:
    """Return a figure as pixels."""
    figure.set_size_inches(WIDTH, HEIGHT)
    written = io.BytesIO()
    figure.savefig(written, format="png", dpi=DPI, bbox_inches=None)
    return Image.open(written).convert("RGB")


def first_panel(figure: Figure) -> Figure:
    """Keep the first panel of a figure and its legend, in the whole width."""
    for axes, legend in zip(figure.axes[1:], figure.legends[1:], strict=True):
        axes.remove()
        legend.remove()
    figure.axes[0].set_subplotspec(GridSpec(1, 1, figure=figure)[0])
    return figure


def main() -> None:
    """Draw both panels and write them as one picture."""
    run = nc.load(RUN)
    panels = [first_panel(run.plot("learning")), run.plot("psychometric")]
    pictures = [picture(panel) for panel in panels]
    whole = Image.new("RGB", (sum(each.width for each in pictures), pictures[0].height))
    for number, each in enumerate(pictures):
        whole.paste(each, (number * each.width, 0))
    whole.quantize(COLOURS).save(OUT, optimize=True)
    print(f"{OUT}: {OUT.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
