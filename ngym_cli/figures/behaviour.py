"""Psychometric and chronometric curves, and performance by condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngym_cli.figures.style import (
    COLOURS,
    GREY,
    Unavailable,
    interval_points,
    legend_below,
    new_figure,
    reference_lines,
)
from ngym_cli.figures.view import Part, View
from ngym_cli.runs import summary
from ngym_cli.terminal import REFERENCES

#: What a condition is called on an axis.
LABELS = {"coh": "coherence (%)", "coh_1": "coherence of modality 1 (%)", "coh_2": "coherence of modality 2 (%)"}
STRENGTH = "coh"

#: Bootstrap draws behind a band, fewer where there are several.
DRAWS = 60

#: Most columns that performance is broken down by, and points with their own number of trials.
MOST_PANELS, MOST_COUNTS = 6, 8

Table = Mapping[str, np.ndarray]


def psychometric_check(view: View) -> None:
    """Say why there is no psychometric curve."""
    if not any(_graded(part.table) for part in view.parts()):
        raise Unavailable("the strength of the evidence is the same in all trials")
    from neurogym.analysis.tables import two_choices

    for part in view.parts():
        try:
            two_choices(part.table, _choices(part.table))
            return
        except ValueError as error:
            reason = str(error)
    raise Unavailable(reason)


def _graded(table: Table) -> bool:
    return STRENGTH in table and len(np.unique(table[STRENGTH])) > 1


def _choices(table: Table) -> tuple[float, float] | None:
    """Return the two alternatives where there is a third answer, such as a sure option."""
    from neurogym.analysis.tables import numbers, responded

    found = np.unique(numbers(table["choice"])[responded(table)])
    if len(found) <= 2 or "wager" not in table:
        return None
    return float(found[0]), float(found[1])


def psychometric(view: View) -> Figure:
    """Draw the probability of the second choice against signed strength, with the fitted function."""
    figure, axes = new_figure(width=4.6)
    psychometric_axes(axes, view.parts("coh", "choice", "outcome"))
    return figure


def psychometric_axes(axes: Axes, parts: Sequence[Part], draws: int = DRAWS, legend: bool = True) -> None:
    """Draw psychometric curves into axes.

    Args:
        axes: where to.
        parts: trials of two-alternative tasks.
        draws: bootstrap draws behind the bands; 0 for none.
        legend: whether to say what is what.

    Raises:
        Unavailable: if none of the parts has two choices and graded strength.
    """
    from neurogym.analysis import from_trials

    reason, fits = "no trials", []
    for part in parts:
        try:
            few = draws if len(parts) < 4 else draws // 2
            fits.append((part, from_trials.psychometric(part.table, choices=_choices(part.table), n_boot=few)))
        except ValueError as error:
            reason = str(error)
    if not fits:
        raise Unavailable(reason)
    for part, fit in fits:
        x = np.linspace(fit.data.x.min(), fit.data.x.max(), 200)
        if draws:
            axes.fill_between(x, *fit.band(x), alpha=0.2, linewidth=0, color=part.colour)
        axes.plot(x, fit.predict(x), color=part.colour)
        words = f"{part.label}: threshold {fit.threshold.value:.2g}, slope {fit.slope.value:.2g}, "
        words += f"lapses {fit.guess.value:.2f}, {fit.lapse.value:.2f}; n = {fit.n:,}"
        interval_points(axes, fit.data, color=part.colour, label=words)
    axes.axhline(0.5, color=GREY, linestyle=":", linewidth=1, zorder=0)
    axes.axvline(0, color=GREY, linestyle=":", linewidth=1, zorder=0)
    axes.set(
        xlabel=f"signed {LABELS[STRENGTH]}", ylabel="P(second choice)", ylim=(-0.03, 1.03),
        title=f"psychometric curve, {fits[0][1].model} fit, 95 % intervals",
    )  # fmt: skip
    if legend:
        legend_below(axes)


def chronometric_check(view: View) -> None:
    """Say why there is no chronometric curve."""
    for part in view.parts("coh", "rt"):
        if _graded(part.table) and len(np.unique(part.table["rt"][np.isfinite(part.table["rt"])])) > 1:
            return
    raise Unavailable("reaction times do not vary: the response period is too short, or nobody answered")


def chronometric(view: View) -> Figure:
    """Draw reaction times, the diffusion to a bound that predicts them, and the accuracy that it implies."""
    figure, (left, right) = new_figure(1, 2)
    chronometric_axes(left, right, view.parts("coh", "rt", "outcome"))
    legend_below(left)
    return figure


def chronometric_axes(times: Axes, accuracy: Axes, parts: Sequence[Part]) -> None:
    """Draw chronometric curves: correct (filled) and error trials (open), and the diffusion fitted to both.

    Args:
        times: where the reaction times go.
        accuracy: where the accuracy goes.
        parts: trials with reaction times.
    """
    from neurogym.analysis import Curve, from_trials, rates, reaction_times
    from neurogym.analysis.tables import select

    for part in parts:
        for outcome, style in (("correct", {"markerfacecolor": part.colour}), ("error", {"markerfacecolor": "white"})):
            rows = reaction_times(select(part.table, part.table["outcome"] == outcome), STRENGTH)
            rows = tuple(row for row in rows if row.n > 1)
            if not rows:
                continue
            curve = Curve.estimates([r.condition[STRENGTH] for r in rows], [r.mean for r in rows], [r.n for r in rows])
            words = f"{part.label}, {outcome}, n = {curve.n.sum():,}"
            interval_points(times, curve, color=part.colour, label=words, **style)
        rows_of_rates = rates(part.table, STRENGTH)
        curve = Curve.estimates(
            [r.condition[STRENGTH] for r in rows_of_rates], [r.accuracy for r in rows_of_rates],
            [r.n for r in rows_of_rates],
        )  # fmt: skip
        interval_points(accuracy, curve, color=part.colour)
        try:
            fit = from_trials.chronometric(part.table, STRENGTH, n_boot=0)
        except ValueError:
            continue
        x = np.linspace(0, float(np.max(curve.x)), 200)
        text = f"diffusion: bound {fit.bound.value:.2g}, residual time {fit.residual_time.value:.0f} ms"
        times.plot(x, fit.predict(x), color=part.colour, label=text)
        accuracy.plot(x, fit.predict_accuracy(x), color=part.colour)
    since = {str(name) for part in parts for name in np.unique(part.table.get("rt_from", np.array([""])).astype(str))}
    counted = " or ".join(sorted(since - {""})) or "go cue"
    times.set(xlabel=LABELS[STRENGTH], ylabel=f"reaction time from {counted} (ms)", title="chronometric curve")
    times.set_ylim(bottom=0)
    accuracy.axhline(0.5, color=GREY, linestyle=":", linewidth=1, zorder=0)
    accuracy.set(
        xlabel=LABELS[STRENGTH], ylabel="accuracy of answers", ylim=(0.4, 1.03), title="same diffusion, accuracy"
    )


def conditions_check(view: View) -> None:
    """Say why performance cannot be broken down."""
    _panels(view)


def _panels(view: View) -> list[str]:
    for name in view.by:
        view.parts(name)
    names = list(view.by) or summary.condition_names(view.facts.conditions, view.series[0].table)
    if not names:
        raise Unavailable("no condition of the task takes a few known values")
    return names[:MOST_PANELS]


def conditions(view: View) -> Figure:
    """Draw performance at each value of each condition."""
    parts = [Part(series.text, series.colour, series.table) for series in view.series]
    return condition_panels(parts, _panels(view), view.evaluated_references)


def condition_panels(
    parts: Sequence[Part], names: Sequence[str], references: Mapping[str, float | None] | None = None
) -> Figure:
    """Draw performance at each value of each condition.

    Args:
        parts: trials, one colour each.
        names: conditions, a panel each.
        references: scores of other agents over all conditions, by name.
    """
    columns = min(3, len(names))
    figure, axes = new_figure(-(-len(names) // columns), columns, height=2.9, squeeze=False, sharey=True)
    for axis in axes.flat[len(names) :]:
        axis.remove()
    for axis, name in zip(axes.flat, names, strict=False):
        _panel(axis, name, parts)
        axis.set(xlabel=LABELS.get(name, name), ylim=(-0.03, 1.08), title=f"performance by {name}, 95 % interval")
        reference_lines(axis, references or {})
    for row in axes:
        row[0].set_ylabel("performance")
    if len(parts) > 1:
        legend_below(axes[0][0])
    return figure


def _panel(axis: Axes, name: str, parts: Sequence[Part]) -> None:
    values = sorted({row["value"] for part in parts for row in summary.by_condition(part.table, [name])})
    words = [summary.label(value) for value in values]
    for k, part in enumerate(parts):
        rows = summary.by_condition(part.table, [name])
        at = np.array([values.index(row["value"]) for row in rows]) + 0.12 * (k - (len(parts) - 1) / 2)
        value = np.array([row["performance"] for row in rows])
        low, high = np.array([row["performance_ci"] for row in rows]).T
        axis.errorbar(
            at, value, np.clip([value - low, high - value], 0, None), fmt="o", color=part.colour, markersize=4,
            label=f"{part.label}, n = {len(part.table['trial']):,}",
        )  # fmt: skip
        if len(parts) == 1 and len(values) <= MOST_COUNTS:
            words = [f"{word}\nn = {row['trials']:,}" for word, row in zip(words, rows, strict=True)]
    axis.set_xticks(range(len(values)), words)


def condition_figure(table: Table, listed: Mapping[str, Any], found: Mapping[str, Any]) -> Figure | None:
    """Return the psychometric curve where there is one, else performance by condition, else None."""
    part = Part("evaluation", COLOURS[0], dict(table))
    if _graded(table):
        figure, axes = new_figure(width=4.6)
        try:
            psychometric_axes(axes, [part], draws=0)
        except Unavailable:
            pass
        else:
            return figure
    names = summary.condition_names(listed, table)[:MOST_PANELS]
    return condition_panels([part], names, {name: found.get(name) for name in REFERENCES}) if names else None
