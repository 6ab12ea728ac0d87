"""Figures of training, from what a Monitor saved, and of the units of a network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.recording.files import concatenate_files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
SETTINGS: Any = {
    "font.size": 8,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def save_figure(figure: Figure, fname: str | Path | None) -> None:
    """Save a figure (as PNG unless Matplotlib knows the name's extension) and close the figure."""
    if not fname:
        return
    import matplotlib.pyplot as plt

    path = Path(fname)
    if path.suffix.lstrip(".").lower() not in figure.canvas.get_supported_filetypes():
        path = path.with_name(path.name + ".png")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=300)
    plt.close(figure)


def plot_rew_across_training(
    folder: str | Path,
    window: float = 500,
    ax: Axes | None = None,
    fkwargs: dict[str, Any] | None = None,
    ytitle: str = "",
    legend: bool = False,
    zline: bool = False,
    metric_name: str = "reward",
) -> Figure:
    """Draw a metric that a Monitor saved, smoothed over trials.

    Args:
        folder: The Monitor's folder of a run.
        window: Trials to average over, or a fraction of all trials if less than 1.
        ax: Where to draw; without, a figure is made and saved as ``mean_<metric>_across_training.png`` in the folder.
        fkwargs: Arguments of the line.
        ytitle: Label of the y axis; default the metric.
        legend: Whether to draw a legend.
        zline: Whether to draw a line at zero.
        metric_name: Key of the saved data.

    Raises:
        ValueError: If the folder has no saved data or the data no such key.
    """
    import matplotlib.pyplot as plt

    data = concatenate_files(folder)
    if metric_name not in data:
        raise ValueError(f"no saved {metric_name!r} in {folder} (there is: {', '.join(data) or 'nothing'})")
    metric = data[metric_name].astype(float)
    width = int(np.clip(window * len(metric) if 0 < window < 1 else window, 1, len(metric)))
    smooth = np.convolve(metric, np.ones(width) / width, mode="valid")
    with plt.rc_context(SETTINGS):
        figure = ax.figure if ax is not None else plt.figure(figsize=(8, 8), layout="constrained")
        axes = ax if ax is not None else figure.add_subplot()
        axes.plot(
            np.arange(len(smooth)) + width, smooth, **{"color": COLOURS[0], "label": metric_name, **(fkwargs or {})}
        )
        axes.set(xlabel="Trials", ylabel=ytitle or f"Mean {metric_name} over {width} trials")
        if zline:
            axes.axhline(0, color="grey", linestyle="--")
        if legend:
            axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False)
        if ax is None:
            save_figure(figure, Path(folder) / f"mean_{metric_name}_across_training.png")  # type: ignore[arg-type]
    return figure  # type: ignore[return-value]


def draw_history(
    files: Sequence[str], name: str, figsize: tuple[float, float], performance: bool, fname: Path | None
) -> Figure:
    """Means of the files of a Monitor over trials: reward on the left, performance on the right.

    Args:
        files: In the order of trials.
        name: Of the environment, for the title.
        figsize: Inches.
        performance: Whether to draw the right panel.
        fname: File to save to, or None.
    """
    import matplotlib.pyplot as plt

    pieces = [dict(np.load(file)) for file in files]
    trials = np.cumsum([len(piece["reward"]) for piece in pieces])
    lines = [("reward", "Mean reward", "o-", COLOURS[0]), ("cum_reward", "Mean reward per trial", "s--", COLOURS[1])]
    with plt.rc_context(SETTINGS):
        figure, axes = plt.subplots(1, 1 + performance, figsize=figsize, layout="constrained", squeeze=False)
        for key, label, style, colour in lines:
            axes[0, 0].plot(trials, [np.nanmean(piece[key]) for piece in pieces], style, color=colour, label=label)
        axes[0, 0].set(xlabel="Trials", ylabel="Reward")
        axes[0, 0].legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
        if performance:
            axes[0, 1].plot(trials, [np.nanmean(piece["performance"]) for piece in pieces], "o-", color=COLOURS[2])
            axes[0, 1].set(xlabel="Trials", ylabel="Mean performance", ylim=(-0.05, 1.05))
        figure.suptitle(f"{name}: {len(pieces)} files, {trials[-1]} trials")
        save_figure(figure, fname)
    return figure


def plot_traces(
    traces: Sequence[np.ma.MaskedArray],
    title: str,
    figsize: tuple[float, float] | None = None,
    neurons: Sequence[int] | None = None,
    mean: bool = False,
) -> tuple[Figure, np.ndarray]:
    """Draw traces of units, with a panel for each unit.

    Args:
        traces: Shape (steps, units), one per trial.
        title: Of the figure.
        figsize: Inches; default 3 by 2 for each panel.
        neurons: Units to draw; default all.
        mean: Whether to draw the mean over trials in place of every trial.

    Raises:
        ValueError: If nothing was recorded or a unit does not exist.
    """
    import matplotlib.pyplot as plt

    if not traces:
        raise ValueError(f"{title}: nothing has been recorded yet; layers in training mode are not (model.eval())")
    units = traces[0].shape[1]
    drawn_units = list(range(units) if neurons is None else neurons)
    if not drawn_units or not all(0 <= unit < units for unit in drawn_units):
        raise ValueError(f"neurons must be some of 0 to {units - 1}, got {neurons!r}")
    columns = math.ceil(math.sqrt(len(drawn_units)))
    rows = math.ceil(len(drawn_units) / columns)
    stack = np.ma.stack(list(traces))
    with plt.rc_context(SETTINGS):
        figure, axes = plt.subplots(
            rows, columns, figsize=figsize or (3 * columns, 2 * rows), squeeze=False, sharex=True, layout="constrained"
        )
        for axis, unit in zip(axes.flat, drawn_units, strict=False):
            lines = stack[:, :, unit].mean(axis=0)[None] if mean else stack[:, :, unit]
            for line in lines:
                axis.plot(np.arange(1, len(line) + 1), line, color=COLOURS[0], lw=1.5 if mean else 0.5)
            axis.set_title(f"unit {unit}")
            axis.xaxis.get_major_locator().set_params(integer=True)
        for axis in list(axes.flat)[len(drawn_units) :]:
            axis.set_visible(False)
        figure.supxlabel("step in the trial")
        figure.supylabel("activity")
        figure.suptitle(f"{title}, {'mean of ' if mean else ''}{len(traces)} trials")
    return figure, axes
