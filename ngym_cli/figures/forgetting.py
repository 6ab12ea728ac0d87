"""Forgetting: performance on each task while other tasks are trained."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngym_cli.figures import registry
from ngym_cli.figures.learning import thousands
from ngym_cli.figures.source import Source
from ngym_cli.figures.style import COLOURS, Unavailable, interval_band, legend_below, new_figure
from ngym_cli.figures.view import View

#: Equal stretches of training in which the most frequent task is found.
STRETCHES = 200


def _evaluations(source: Source) -> list[dict[str, Any]]:
    """Return the evaluations along training that report each task."""
    return [row for row in source.manifest.get("evaluations", ()) if len(row.get("tasks") or {}) > 1]


def _by_task(view: View) -> None:
    if len(_evaluations(view.first)) < 2:
        raise Unavailable(
            "needs two evaluations or more of several tasks, as in ngym run --task A+B --eval-every 10000, "
            "or stages of different tasks"
        )


@registry.figure("forgetting: performance on each task while others are trained", check=_by_task, on_request=True)
def forgetting(view: View) -> Figure:
    """Draw performance on each task along training, and the loss from the best earlier to the last evaluation.

    The loss is the forgetting of Chaudhry et al. 2018 (10.1007/978-3-030-01252-6_33). The strip below the curves shows
    which task was trained.
    """
    found = _evaluations(view.first)
    steps = np.array([row["step"] for row in found])
    colours = dict(zip(sorted(found[0]["tasks"]), COLOURS * (1 + len(found[0]["tasks"]) // 7), strict=False))
    figure, (left, right) = new_figure(1, 2)
    for task, colour in colours.items():
        value, low, high = np.array([row["tasks"][task] for row in found], float).T
        interval_band(left, steps, low, high, colour)
        left.plot(steps, value, "o-", markersize=3, color=colour, label=task)
    _trained(left, view.first, colours)
    n = found[0]["trials"]
    title = f"forgetting, n = {n:,} trials, 95 % intervals"
    left.set(xlabel="training steps", ylabel="performance", ylim=(-0.1, 1.05), title=title)
    legend_below(left)
    thousands(left)
    _losses(right, found, colours)
    return figure


def _trained(axes: Axes, source: Source, colours: dict[str, Any]) -> None:
    """Draw a strip that shows the most frequent task of each stretch of training."""
    table = source.training
    if not len(table.get("task", ())):
        return
    edges = np.linspace(0, table["step"].max(), STRETCHES + 1)
    place = np.clip(np.searchsorted(edges, table["step"], "left") - 1, 0, STRETCHES - 1)
    names = np.asarray(table["task"]).astype(str)
    counts = np.stack([np.bincount(place[names == task], minlength=STRETCHES) for task in colours])
    seen = np.flatnonzero(counts.any(0))  # supervised learners look at behaviour now and then
    shown = counts.argmax(0)[seen[np.clip(np.searchsorted(seen, np.arange(STRETCHES), "right") - 1, 0, None)]]
    for number, task in enumerate(colours):
        spans = [(edges[k], edges[k + 1] - edges[k]) for k in np.flatnonzero(shown == number)]
        axes.broken_barh(spans, (-0.08, 0.05), color=colours[task], linewidth=0)


def _losses(axes: Axes, found: list[dict[str, Any]], colours: dict[str, Any]) -> None:
    """Draw the best earlier and the last performance on each task."""
    losses = []
    for place, (task, colour) in enumerate(colours.items()):
        every = np.array([row["tasks"][task] for row in found], float)
        best, last = every[np.argmax(every[:-1, 0])], every[-1]
        losses.append(best[0] - last[0])
        for x, (value, low, high), style in ((place - 0.12, best, "o"), (place + 0.12, last, "s")):
            error = [[max(value - low, 0)], [max(high - value, 0)]]
            axes.errorbar([x], [value], error, fmt=style, color=colour, markersize=5)
        axes.plot([place - 0.12, place + 0.12], [best[0], last[0]], color=colour, linewidth=0.8)
    names = [f"{task}\n{loss:.2f}" for task, loss in zip(colours, losses, strict=True)]
    axes.set_xticks(range(len(names)), names, rotation=0 if len(names) < 4 else 90)
    axes.plot([], [], "ko", markersize=5, label="best earlier evaluation")
    axes.plot([], [], "ks", markersize=5, label="last evaluation")
    legend_below(axes, side="right")
    title = f"mean forgetting {np.mean(losses):.2f}"
    axes.set(ylabel="performance", ylim=(0, 1.05), xlim=(-0.5, len(names) - 0.5), title=title)
