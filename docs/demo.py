"""Draw the figures of README.md and the guide: training, activity, a comparison with monkeys, a trial, levels.

    make demo
    ngym run --config experiments/papers/roitman2002/reaction_time.toml --name reaction-time
    python docs/demo.py

Writes ``train.png``, ``understand.png``, ``levels.png`` and ``trial.gif`` from the first run, ``compare.png`` from the
second, to ``docs/static/``.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from PIL import Image

import ngym_cli as nc
from ngym_cli.figures import style

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


def levels(summary: dict[str, Any]) -> Figure:
    """Draw a performance, with its interval, next to chance, no-stimulus baseline and ceiling."""
    names = ("chance", "chance among answers", "no-stimulus baseline", "ceiling", "the network")
    values = [summary[key] for key in ("chance", "chance_among_answers", "blind", "ceiling", "performance")]
    low, high = summary["performance_ci"]
    figure = Figure(layout="constrained")
    axes = figure.add_subplot()
    axes.barh(names, values, color=[*["0.75"] * 4, style.COLOURS[0]], height=0.6)
    axes.errorbar(values[-1], names[-1], xerr=[[values[-1] - low], [high - values[-1]]], fmt="none", ecolor="black")
    for row, value in enumerate(values):
        axes.text(0.02, row, f"{value:.3f}", va="center", color="white" if row == 4 else "black")
    axes.set(xlim=(0, 1), xlabel="performance")
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def main() -> None:
    """Draw the figures."""
    trained = nc.load("demo")
    along_training = {name: name for name in ("training", "evaluation", "ceiling", "chance")}
    write(first_panel(trained.plot("learning"), "performance along training", along_training), "train")
    directions = {
        "choice 1 is correct, coherence 51.2": "left, coherence 51.2 %",
        "choice 2 is correct, coherence 51.2": "right, coherence 51.2 %",
        "choice 1 is correct, coherence 6.4": "left, coherence 6.4 %",
        "choice 2 is correct, coherence 6.4": "right, coherence 6.4 %",
    }
    write(first_panel(trained.plot("trajectories"), "population activity", directions), "understand")
    write(levels(trained.evaluate().summary), "levels")
    nc.watch("demo", trials=1, out=STATIC / "trial.gif", overwrite=True)
    compared = nc.load("reaction-time").evaluate(6000, compare=DATA, columns=DATA.with_suffix(".toml"))
    subjects = {"reaction-time": "network", "roitman": "two monkeys"}
    write(first_panel(compared.comparison.plot(), "choices of a network and of monkeys", subjects), "compare")


if __name__ == "__main__":
    main()
