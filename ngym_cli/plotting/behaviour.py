"""Psychometric and chronometric curves, and performance by condition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngym_cli import summary
from ngym_cli.plotting.style import COLOURS, GREY, Unavailable, new_figure, reference_lines

#: What the strength of evidence is called in a trial, with its label.
STRENGTHS = {"coh": "coherence (%)"}

Table = Mapping[str, np.ndarray]


def strength_of(table: Table) -> str:
    """Return the column that holds the strength of the evidence.

    Raises:
        Unavailable: if there is none.
    """
    for name in STRENGTHS:
        if name in table and len(np.unique(table[name])) > 1:
            return name
    raise Unavailable(f"the trials have no graded strength of evidence ({', '.join(STRENGTHS)})")


def psychometric(table: Table, intervals: bool = True) -> Figure:
    """Draw the probability of the second choice against signed strength, with the fitted function.

    Args:
        table: trials of a two-alternative task.
        intervals: whether to draw the bootstrap band of the fit (it takes a moment).

    Raises:
        Unavailable: if the task is not two-alternative or has no graded strength.
    """
    from neurogym.analysis import from_trials

    strength = strength_of(table)
    try:
        fit = from_trials.psychometric(table, strength, n_boot=200 if intervals else 0)
    except ValueError as error:
        raise Unavailable(str(error)) from None
    figure, axes = new_figure()
    x = np.linspace(fit.data.x.min(), fit.data.x.max(), 200)
    if intervals:
        axes.fill_between(x, *fit.band(x), alpha=0.2, linewidth=0, color=COLOURS[0])
    axes.plot(x, fit.predict(x), color=COLOURS[0], label=f"{fit.model} fit")
    _points(axes, fit.data)
    axes.axhline(0.5, color=GREY, linestyle=":", linewidth=1, zorder=0)
    axes.axvline(0, color=GREY, linestyle=":", linewidth=1, zorder=0)
    lapses = f"lapses {fit.guess.value:.3f}, {fit.lapse.value:.3f}"
    text = f"threshold {fit.threshold.value:.2g}\nslope {fit.slope.value:.2g}\n{lapses}"
    axes.text(0.98, 0.05, text, transform=axes.transAxes, ha="right", va="bottom", fontsize=8)
    axes.set(
        xlabel=f"signed {STRENGTHS[strength]}",
        ylabel="P(second choice)",
        ylim=(-0.03, 1.03),
        title=f"psychometric curve, n = {fit.n:,} answered trials",
    )
    axes.legend(loc="upper left")
    return figure


def _points(axes: Axes, curve: Any) -> None:
    spread = np.clip([curve.value - curve.low, curve.high - curve.value], 0, None)
    axes.errorbar(
        curve.x, curve.value, spread, fmt="o", color="black", markersize=4, linewidth=1, label="95 % interval"
    )


def chronometric(table: Table) -> Figure:
    """Draw reaction time against strength, correct and error trials apart.

    Raises:
        Unavailable: if there is no graded strength, or reaction times do not vary (a response period of one step).
    """
    from neurogym.analysis import Curve, reaction_times
    from neurogym.analysis.tables import select

    strength = strength_of(table)
    rt = table["rt"][np.isfinite(table["rt"])]
    if len(np.unique(rt)) < 2:
        raise Unavailable("reaction times do not vary: the response period is too short, or nobody answered")
    figure, axes = new_figure()
    for outcome, colour in (("correct", COLOURS[0]), ("error", COLOURS[1])):
        rows = reaction_times(select(table, table["outcome"] == outcome), strength)
        if not rows:
            continue
        curve = Curve.estimates([r.condition[strength] for r in rows], [r.mean for r in rows], [r.n for r in rows])
        spread = np.nan_to_num(np.clip([curve.value - curve.low, curve.high - curve.value], 0, None))
        axes.errorbar(
            curve.x,
            curve.value,
            spread,
            fmt="o-",
            color=colour,
            markersize=4,
            label=f"{outcome}, n = {curve.n.sum():,}",
        )
    since = (
        str(table["rt_from"][0]) if "rt_from" in table and len(table["rt_from"]) and table["rt_from"][0] else "go cue"
    )
    axes.set(
        xlabel=STRENGTHS[strength],
        ylabel=f"reaction time from {since} (ms)",
        title="chronometric curve, mean and 95 % interval",
    )
    axes.set_ylim(bottom=0)
    axes.legend()
    return figure


def conditions(
    table: Table, listed: Mapping[str, Any], chance: float | None = None, ceiling: float | None = None
) -> Figure:
    """Draw performance at each value of each condition.

    Args:
        table: trials.
        listed: the task's conditions.
        chance: performance of random choices.
        ceiling: performance of the best possible agent over all conditions.

    Raises:
        Unavailable: if no condition takes a few values.
    """
    names = summary.condition_names(listed, table)
    if not names:
        raise Unavailable("no condition of the task takes a few known values")
    figure, axes = new_figure(1, len(names), squeeze=False, sharey=True)
    for axis, name in zip(axes[0], names, strict=True):
        rows = summary.by_condition(table, [name])
        value = np.array([row["performance"] for row in rows])
        low, high = np.array([row["performance_ci"] for row in rows]).T
        spread = np.clip([value - low, high - value], 0, None)
        axis.errorbar(range(len(rows)), value, spread, fmt="o", color=COLOURS[0], markersize=4)
        axis.set_xticks(range(len(rows)), [f"{summary.label(row['value'])}\nn = {row['trials']:,}" for row in rows])
        axis.set(xlabel=STRENGTHS.get(name, name), ylim=(-0.03, 1.05), title=f"performance by {name}, 95 % interval")
        reference_lines(axis, chance, ceiling)
    axes[0][0].set_ylabel("performance")
    return figure


def condition_figure(table: Table, listed: Mapping[str, Any], found: Mapping[str, Any]) -> Figure | None:
    """Return the psychometric curve where there is one, else performance by condition, else None."""
    try:
        return psychometric(table, intervals=False)
    except Unavailable:
        pass
    try:
        return conditions(table, listed, found.get("chance"), found.get("ceiling"))
    except Unavailable:
        return None
