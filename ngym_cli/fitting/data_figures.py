"""Figures of a table of behaviour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from neurogym.behaviour.describe import SubjectDescription
from neurogym.behaviour.table import Behaviour
from ngym_cli.figures.files import save_figure
from ngym_cli.figures.style import guide, interval_points, new_figure, styled


def draw(table: Behaviour, found: list[SubjectDescription], folder: Path, form: str = "png") -> list[str]:
    """Draw all figures that a table allows and return the paths of the figures."""
    paths = []
    with styled():
        choices = {"ylabel": f"P({table.choices[1]})", "ylim": (-0.02, 1.02)}
        psychometric = _curves(found, "psychometric", xlabel="evidence: {}", **choices)
        times = {"ylabel": "reaction time (s)", "ylim": (0, None)}
        chronometric = _curves(found, "chronometric", xlabel="size of evidence: {}", **times)
        for name, figure in (
            ("psychometric", psychometric),
            ("chronometric", chronometric),
            ("history", _history(found)),
        ):
            if figure is not None:
                paths.append(folder / f"{name}.{form}")
                save_figure(figure, paths[-1])
    return [str(path) for path in paths]


def _curves(found: list[SubjectDescription], kind: str, **labels: Any) -> Figure | None:
    """Return a curve of each subject, or None if there is none.

    Args:
        found: descriptions of the subjects.
        kind: psychometric or chronometric.
        **labels: of the axes; ``{}`` stands for the evidence.
    """
    shown = [each for each in found if getattr(each, kind) is not None]
    if not shown:
        return None
    figure, axes = new_figure()
    for each in shown[:7]:
        curve = getattr(each, kind)
        trials = each.trials - each.misses if kind == "psychometric" else curve.n.sum()
        interval_points(axes, curve, fmt="o-", label=f"{each.subject}, {trials:,} trials")
    if kind == "psychometric":
        guide(axes, y=0.5)
    axes.set(**{**labels, "xlabel": labels["xlabel"].format(shown[0].evidence)})
    axes.legend()
    return figure


def _history(found: list[SubjectDescription]) -> Figure | None:
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
        lag = lag + 0.06 * (k - len(kinds) / 2)
        axes.errorbar(lag, value, [value - low, high - value], fmt="o-", markersize=4, linewidth=1, label=kind)
    guide(axes, y=0)
    axes.set(
        xlabel="trials back", ylabel="weight (logit)", title=f"{each.subject}, {each.trials - each.misses:,} trials"
    )
    axes.set_xticks(range(1, 1 + max(len(points) for points in kinds.values())))
    axes.legend()
    return figure
