"""Draw the figures of README.md: training, the inside of a network, and a comparison with monkeys.

    make demo
    ngym run --config experiments/papers/roitman2002/reaction_time.toml --name reaction-time
    python docs/demo.py

Writes ``train.png`` and ``understand.png`` from the first run and ``compare.png`` from the second to ``docs/static/``.
"""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from PIL import Image

import ngym_cli as nc

STATIC = Path(__file__).with_name("static")
DATA = Path(__file__).parents[1] / "experiments" / "data" / "roitman_shadlen_2002.csv"
WIDTH, HEIGHT, DPI = 4.0, 3.6, 150  # inches, inches, dots per inch
COLOURS = 64  # enough for few lines and letters, and half the size of the file


def first_panel(figure: Figure, title: str, labels: dict[str, str]) -> Figure:
    """Keep the first panel of a figure, in the whole width, with a short legend.

    Args:
        figure: figure with several panels.
        title: title of the panel.
        labels: words of the legend by the beginning of the label that they replace.
    """
    axes = figure.axes[0]
    for panel in figure.axes[1:]:
        panel.remove()
    for legend in list(figure.legends):
        legend.remove()
    axes.set_subplotspec(GridSpec(1, 1, figure=figure)[0])
    handles, names = axes.get_legend_handles_labels()
    entries = {
        text: next(handle for handle, name in zip(handles, names, strict=True) if name.startswith(start))
        for start, text in labels.items()
    }
    axes.set_title(title, loc="left")
    figure.legend(entries.values(), entries.keys(), loc="outside lower left", ncols=2, fontsize="small", frameon=False)
    return figure


def write(figure: Figure, name: str) -> None:
    """Write a figure to the folder of pictures."""
    figure.set_size_inches(WIDTH, HEIGHT)
    written = io.BytesIO()
    figure.savefig(written, format="png", dpi=DPI, bbox_inches=None)
    path = STATIC / f"{name}.png"
    Image.open(written).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Draw the three figures."""
    trained = nc.load("demo")
    along_training = {name: name for name in ("training", "evaluation", "ceiling", "chance")}
    write(first_panel(trained.plot("learning"), "performance along training", along_training), "train")
    directions = {
        "choice 1 is right, coherence 51.2": "left, coherence 51.2 %",
        "choice 2 is right, coherence 51.2": "right, coherence 51.2 %",
        "choice 1 is right, coherence 6.4": "left, coherence 6.4 %",
        "choice 2 is right, coherence 6.4": "right, coherence 6.4 %",
    }
    write(first_panel(trained.plot("trajectories"), "population activity", directions), "understand")
    compared = nc.load("reaction-time").evaluate(6000, compare=DATA, columns=DATA.with_suffix(".toml"))
    subjects = {"reaction-time": "network", "roitman": "two monkeys"}
    write(first_panel(compared.comparison.plot(), "choices of a network and of monkeys", subjects), "compare")


if __name__ == "__main__":
    main()
