"""Values and quantities: choices between two goods, continuous reports, produced intervals, and stays in patches."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from neurogym.analysis import from_trials
from neurogym.analysis.estimation import ContinuousReports, continuous_reports
from neurogym.analysis.intervals import clusters, mean_curve
from neurogym.analysis.results import Curve
from neurogym.analysis.trial_tables import Table, numbers, responded
from ngym_cli.figures import registry, style
from ngym_cli.figures.source import Series
from ngym_cli.figures.view import PlotData

#: Bootstrap draws behind intervals.
SEQUENCE_DRAWS = 200


@registry.figure(
    "choices between two goods against the ratio of their amounts",
    ["value-based"],
    columns=("n_a", "n_b", "a_first", "choice"),
)
def indifference(view: PlotData) -> Figure:
    """Draw the share of choices of good B against the ratio of the offered amounts, with the indifference point."""
    figure, axes = style.new_figure(width=4.6)
    analysed = view.analysed(
        view.parts(), lambda series: from_trials.indifference_point(series.table, n_boot=view.draws(SEQUENCE_DRAWS))
    )
    both_offered = [result.choices.x[np.isfinite(result.choices.x) & (result.choices.x > 0)] for _, result in analysed]
    every = np.concatenate(both_offered)
    ends = (float(every.min()) / 2, float(every.max()) * 2)
    for (series, result), ratios in zip(analysed, both_offered, strict=True):
        curve = result.choices
        x = np.geomspace(ratios.min(), ratios.max(), 200)
        style.interval_band(axes, x, *result.fit.band(np.log(x)), series.colour)
        axes.plot(x, result.fit.predict(np.log(x)), color=series.colour)
        clipped = Curve(np.clip(curve.x, *ends), curve.value, curve.low, curve.high, curve.n)
        v = result.relative_value
        text = f"{series.label}: 1 A = {v.value:.2f} B {v.interval('.2f')}, n = {int(curve.n.sum()):,}"
        style.interval_points(axes, clipped, color=series.colour, label=text)
        axes.axvline(v.value, color=series.colour, linestyle="--", linewidth=0.8)
    style.guide(axes, y=0.5)
    axes.set_xscale("log")
    # Ticks are clear of the words at both ends.
    inside = [tick for tick in (0.25, 0.5, 1, 2, 4) if 1.5 * ends[0] < tick < ends[1] / 1.5]
    axes.set_xticks([ends[0], *inside, ends[1]], ["only\nA", *(f"{tick:g}" for tick in inside), "only\nB"])
    axes.minorticks_off()
    axes.set(
        xlabel="offered amounts, B : A",
        ylabel="P(choose B)",
        ylim=(-0.03, 1.05),
        title="choice between two goods, 95 % intervals",
    )
    style.legend_below(axes)
    return figure


def _intervals_vary(view: PlotData) -> None:
    for series in view.parts():
        if len(np.unique(series.table["production"])) < 2:
            raise style.FigureUnavailableError("there is a single interval to produce")
        if not np.isfinite(series.table["rt"]).any():
            raise style.FigureUnavailableError("no interval was produced")


@registry.figure(
    "reproduced against target interval", ["timing"], columns=("production", "rt", "outcome"), check=_intervals_vary
)
def interval(view: PlotData) -> Figure:
    """Draw produced against target intervals, and the error."""
    figure, (left, right) = style.new_figure(1, 2)
    all_series = [series.with_table(from_trials.counted_from_cue(series.table)) for series in view.parts()]
    for series, result in view.analysed(
        all_series, lambda series: from_trials.interval_reproduction(series.table, n_boot=view.draws(SEQUENCE_DRAWS))
    ):
        rows = responded(series.table) & np.isfinite(series.table["rt"])
        target, produced = series.table["production"][rows], series.table["rt"][rows]
        sample = np.random.default_rng(0).permutation(len(target))[:500]
        left.plot(target[sample], produced[sample], ".", color=series.colour, markersize=2, alpha=0.4)
        text = f"{series.label}, n = {len(target):,}: slope {result.slope:.2f}, "
        text += f"Weber fraction {result.weber_fraction.value:.3f}"
        style.interval_points(left, result.produced, fmt="o-", color=series.colour, label=text)
        means = result.produced
        curve = Curve(means.x, means.value - means.x, means.low - means.x, means.high - means.x, means.n)
        b = result.bias
        style.interval_points(
            right, curve, fmt="o-", color=series.colour, label=f"bias {b.value:.0f} ms {b.interval('.0f')}"
        )
    ends = [min(p.table["production"].min() for p in all_series), max(p.table["production"].max() for p in all_series)]
    left.plot(ends, ends, color=style.GREY, linestyle="--", linewidth=1, zorder=0, label="equal")
    right.axhline(0, color=style.GREY, linestyle="--", linewidth=1)
    left.set(xlabel="target interval (ms)", ylabel="produced interval (ms)", title="interval reproduction")
    right.set(xlabel="target interval (ms)", ylabel="produced - target (ms)", title="error, mean and 95 % interval")
    style.legend_below(left)
    style.legend_below(right, side="right")
    return figure


def _reports(view: PlotData, table: Table) -> tuple[np.ndarray, np.ndarray, float | None]:
    """Return reports and targets, and the circumference of the ring (degrees) that they lie on, or None on a line."""
    places = np.ravel(view.properties.labels["action"]["choice"]).astype(int)
    try:
        target = numbers(table["ground_truth"])
    except ValueError:
        raise style.FigureUnavailableError("the correct answers are no places, such as match and non-match") from None
    if table["choice"].ndim > 1:
        return np.where(responded(table), table["choice"][:, places[0]], np.nan), target, None
    step = 360 / len(places)
    return np.where(responded(table), (numbers(table["choice"]) - places[0]) * step, np.nan), target * step, 360.0


def _is_continuous(view: PlotData) -> None:
    if not registry.is_continuous(view.properties):
        raise style.FigureUnavailableError("choices are neither numbers nor places on a ring")


@registry.figure(
    "reports of a quantity or a direction against the correct ones, and their errors",
    [registry.CONTINUOUS],
    columns=("choice", "ground_truth", "outcome"),
    check=_is_continuous,
)
def reports(view: PlotData) -> Figure:
    """Draw reports against targets and the distribution of errors; on a ring with guesses (Zhang & Luck 2008)."""
    figure, (left, right) = style.new_figure(1, 2)

    def analysed(series: Series) -> ContinuousReports:
        report, target, ring = _reports(view, series.table)
        return continuous_reports(
            report, target, ring=ring, n_boot=view.draws(SEQUENCE_DRAWS // 4), groups=clusters(series.table)
        )

    unit, ends = "", np.array([np.inf, -np.inf])
    for series, result in view.analysed(view.parts(), analysed):
        report, target, ring = _reports(view, series.table)
        unit = " (degrees)" if ring else ""
        sample = np.random.default_rng(0).permutation(len(target))[:1000]
        left.plot(target[sample], report[sample], ".", color=series.colour, markersize=3, alpha=0.4)
        ends = np.array([min(ends[0], np.nanmin(target)), max(ends[1], np.nanmax(target))])
        digits = ".1f" if ring else ".2g"
        text = f"{series.label}, n = {len(result.errors):,}: bias {result.bias:{digits}}, s.d. {result.spread:{digits}}"
        if result.guess_rate is not None:
            text += f"; guesses {result.guess_rate:.2f}, s.d. without them {result.precision:{digits}}"
        right.hist(result.errors, bins=40, density=True, histtype="step", color=series.colour, label=text)
    left.plot(ends, ends, color=style.GREY, linestyle="--", linewidth=1, zorder=0, label="equal")
    right.axvline(0, color=style.GREY, linestyle="--", linewidth=1)
    left.set(xlabel=f"correct report{unit}", ylabel=f"report{unit}", title="continuous reports")
    right.set(xlabel=f"report - correct report{unit}", ylabel="density", title="errors")
    style.legend_below(right)
    return figure


@registry.figure("length of stays in patches against the best stay", columns=("richness", "best_stay", "steps"))
def stays(view: PlotData) -> Figure:
    """Draw the number of harvests in patches by richness, next to the best number (Charnov 1976), and the harvest lost.

    Leaving takes a step, and so does each harvest; the way to the patch is the period ``travel``.
    """
    figure, axes = style.new_figure(width=4.6)
    for series in view.parts("period_travel"):
        table = series.table
        harvests = table["steps"] - table["period_travel"] / view.properties.dt - 1
        levels, index = np.unique(numbers(table["richness"]), return_inverse=True)
        curve = mean_curve(levels, index, harvests, clusters(table))
        difference = float(np.mean(harvests - table["best_stay"]))
        text = f"{series.label}: {difference:+.2f} harvests from the best on average, n = {len(index):,}"
        style.interval_points(axes, curve, fmt="o-", color=series.colour, label=text)
        best = [float(np.mean(table["best_stay"][index == k])) for k in range(len(levels))]
        axes.plot(
            levels, best, "_--", color=style.GREY, markersize=14, zorder=0, label="best stay (marginal value theorem)"
        )
    axes.set(xlabel="richness of the patch (first harvest)", ylabel="harvests before leaving", title="stays in patches")
    axes.set_ylim(bottom=0)
    style.legend_below(axes)
    return figure
