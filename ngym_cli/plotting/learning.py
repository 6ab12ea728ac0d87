"""Performance along training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ngym_cli.plotting.style import COLOURS, Unavailable, new_figure, reference_lines

#: Fewest trials and most bins behind the curve.
TRIALS_PER_BIN = 100
MOST_BINS = 60


def learning_curve(
    table: Mapping[str, np.ndarray],
    chance: float | None = None,
    ceiling: float | None = None,
    evaluations: Mapping[int, Mapping[str, Any]] | None = None,
) -> Figure:
    """Draw performance, reward and fixation breaks per trial against the steps of training.

    Args:
        table: training trials.
        chance: performance of random choices.
        ceiling: performance of the best possible agent.
        evaluations: summaries of evaluations by the step at which they were made.

    Raises:
        Unavailable: if there are no trials.
    """
    n = len(table.get("trial", ()))
    if n == 0:
        raise Unavailable("no training trials were recorded")
    bins = int(np.clip(n // TRIALS_PER_BIN, 1, MOST_BINS))
    rows = np.array_split(np.argsort(table["step"], kind="stable"), bins)
    steps = np.array([table["step"][r[-1]] for r in rows])
    figure, (left, right) = new_figure(1, 2)
    _performance(left, table, rows, steps)
    reference_lines(left, chance, ceiling)
    for step, found in (evaluations or {}).items():
        low, high = found["performance_ci"]
        value = found["performance"]
        left.errorbar(
            step, value, [[value - low], [high - value]], fmt="o", color=COLOURS[1], markersize=4,
            label=f"evaluation, n = {found['trials']:,}",
        )  # fmt: skip
    left.set(xlabel="training steps", ylabel="performance", ylim=(0, 1.05), title=f"learning, n = {n:,} trials")
    left.legend(loc="lower right")
    right.plot(steps, [table["reward"][r].mean() for r in rows], color=COLOURS[2], label="reward per trial")
    breaks = [((table["aborts"][r] > 0) | (table["outcome"][r] == "abort")).mean() for r in rows]
    right.plot(steps, breaks, color=COLOURS[1], label="trials with a fixation break")
    right.plot(steps, [(table["outcome"][r] == "miss").mean() for r in rows], color=COLOURS[4], label="missed trials")
    right.set(xlabel="training steps", ylabel="per trial", title="reward, fixation breaks, misses")
    right.legend()
    for axes in (left, right):
        axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:g}k" if x >= 1000 else f"{x:g}")
    return figure


def _performance(axes: Any, table: Mapping[str, np.ndarray], rows: list[np.ndarray], steps: np.ndarray) -> None:
    from neurogym.analysis import Curve

    scores = table["performance"]
    curve = Curve.proportions(steps, [scores[r].sum() for r in rows], [len(r) for r in rows])
    axes.fill_between(curve.x, curve.low, curve.high, alpha=0.25, linewidth=0, color=COLOURS[0])
    axes.plot(curve.x, curve.value, color=COLOURS[0], label=f"training, {len(rows[0]):,} trials per point")
