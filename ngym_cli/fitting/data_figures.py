"""Figures of a table of behaviour."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from neurogym.behaviour.describe import Description
from neurogym.behaviour.table import Behaviour
from ngym_cli.figures.requests import save_figure
from ngym_cli.figures.style import guide, interval_points, new_figure, styled


def draw(table: Behaviour, found: list[Description], folder: Path, form: str = "png") -> list[str]:
    """Draw all figures that a table allows and return the paths of the figures."""
    paths = []
    with styled():
        for name, figure in (
            ("psychometric", _curves(table, found)),
            ("chronometric", _times(found)),
            ("history", _history(found)),
        ):
            if figure is not None:
                paths.append(folder / f"{name}.{form}")
                save_figure(figure, paths[-1])
    return [str(path) for path in paths]


def _curves(table: Behaviour, found: list[Description]) -> Figure | None:
    shown = [each for each in found if each.psychometric is not None]
    if not shown:
        return None
    figure, axes = new_figure()
    for each in shown[:7]:
        assert each.psychometric is not None
        interval_points(
            axes, each.psychometric, fmt="o-", label=f"{each.subject}, {each.trials - each.misses:,} trials"
        )
    guide(axes, y=0.5)
    axes.set(xlabel=f"evidence: {shown[0].evidence}", ylabel=f"P({table.choices[1]})", ylim=(-0.02, 1.02))
    axes.legend()
    return figure


def _times(found: list[Description]) -> Figure | None:
    shown = [each for each in found if each.chronometric is not None]
    if not shown:
        return None
    figure, axes = new_figure()
    for each in shown[:7]:
        assert each.chronometric is not None
        interval_points(
            axes, each.chronometric, fmt="o-", label=f"{each.subject}, {each.chronometric.n.sum():,} trials"
        )
    axes.set(xlabel=f"size of evidence: {shown[0].evidence}", ylabel="reaction time (s)", ylim=(0, None))
    axes.legend()
    return figure


def _history(found: list[Description]) -> Figure | None:
    """Weights of previous trials against the number of trials back, a line for each predictor."""
    each = found[0]
    kinds: dict[str, list[tuple[int, float, float, float]]] = {}
    for name, value in (each.history or {}).items():
        kind, sign, rest = name.partition(", ")
        if sign and rest.split(" ")[0].isdecimal():
            label = kind + rest.partition(" back")[2]
            kinds.setdefault(label, []).append((int(rest.split(" ")[0]), value.value, value.low, value.high))
    if not kinds or len(kinds) > 14:
        return None
    figure, axes = new_figure()
    for k, (kind, points) in enumerate(kinds.items()):
        lag, value, low, high = np.array(points).T
        axes.errorbar(
            lag + 0.06 * (k - len(kinds) / 2),
            value,
            [value - low, high - value],
            fmt="o-",
            markersize=4,
            linewidth=1,
            label=kind,
        )
    guide(axes, y=0)
    axes.set(
        xlabel="trials back", ylabel="weight (logit)", title=f"{each.subject}, {each.trials - each.misses:,} trials"
    )
    axes.set_xticks(range(1, 1 + max(len(points) for points in kinds.values())))
    axes.legend()
    return figure
