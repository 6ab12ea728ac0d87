"""Value and time: indifference between two goods, reproduction of intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ngym_cli.figures import registry
from ngym_cli.figures.series import Part
from ngym_cli.figures.style import GREY, Unavailable, interval_points, legend_below, new_figure
from ngym_cli.figures.view import View

if TYPE_CHECKING:
    from neurogym.analysis import IntervalReproduction

DRAWS = 200


@registry.figure(
    "choices between two goods against the ratio of their amounts", ["value-based"],
    columns=("n_a", "n_b", "a_first", "choice"),
)  # fmt: skip
def indifference(view: View) -> Figure:
    """Draw the share of choices of good B against the ratio of the offered amounts, with the indifference point."""
    from neurogym.analysis import Curve, from_trials

    figure, axes = new_figure(width=4.6)
    ends = (np.inf, 0.0)
    parts = view.parts()
    for part, found in view.analysed(
        parts, lambda part: from_trials.indifference_point(part.table, n_boot=view.draws(DRAWS))
    ):
        curve = found.choices
        both = np.isfinite(curve.x) & (curve.x > 0)
        ratios = curve.x[both]
        ends = (min(ends[0], float(ratios.min()) / 2), max(ends[1], float(ratios.max()) * 2))
        x = np.geomspace(ratios.min(), ratios.max(), 200)
        axes.fill_between(x, *found.fit.band(np.log(x)), alpha=0.2, linewidth=0, color=part.colour)
        axes.plot(x, found.fit.predict(np.log(x)), color=part.colour)
        shown = Curve(np.clip(curve.x, *ends), curve.value, curve.low, curve.high, curve.n)
        v = found.relative_value
        text = f"{part.label}: 1 A = {v.value:.2f} B [{v.low:.2f}, {v.high:.2f}], n = {int(curve.n.sum()):,}"
        interval_points(axes, shown, color=part.colour, label=text)
        axes.axvline(v.value, color=part.colour, linestyle="--", linewidth=0.8)
    axes.axhline(0.5, color=GREY, linestyle=":", linewidth=1, zorder=0)
    axes.set_xscale("log")
    ticks = [0.25, 0.5, 1, 2, 4]
    inside = [tick for tick in ticks if 1.5 * ends[0] < tick < ends[1] / 1.5]  # clear of the words at both ends
    axes.set_xticks([ends[0], *inside, ends[1]], ["only\nA", *(f"{tick:g}" for tick in inside), "only\nB"])
    axes.minorticks_off()
    axes.set(
        xlabel="offered amounts, B : A", ylabel="P(choose B)", ylim=(-0.03, 1.05),
        title="choice between two goods, 95 % intervals",
    )  # fmt: skip
    legend_below(axes)
    return figure


def _intervals_vary(view: View) -> None:
    for part in view.parts():
        if len(np.unique(part.table["production"])) < 2:
            raise Unavailable("there is a single interval to produce")
        if not np.isfinite(part.table["rt"]).any():
            raise Unavailable("no interval was produced")


@registry.figure(
    "reproduced against target interval", ["timing"], columns=("production", "rt", "outcome"), check=_intervals_vary
)
def interval(view: View) -> Figure:
    """Draw produced against target intervals, and the error."""
    from neurogym.analysis import Curve

    figure, (left, right) = new_figure(1, 2)
    parts = view.parts()
    for part, found in view.analysed(parts, lambda part: _reproduced(part, view.draws(DRAWS))):
        target, produced = _intervals(part)
        rng = np.random.default_rng(0)
        shown = rng.permutation(len(target))[:500]
        left.plot(target[shown], produced[shown], ".", color=part.colour, markersize=2, alpha=0.4)
        text = f"{part.label}, n = {len(target):,}: slope {found.slope.value:.2f} "
        text += f"[{found.slope.low:.2f}, {found.slope.high:.2f}], Weber fraction {found.weber_fraction.value:.3f}"
        interval_points(left, found.produced, fmt="o-", color=part.colour, label=text)
        made = found.produced
        curve = Curve(made.x, made.value - made.x, made.low - made.x, made.high - made.x, made.n)
        b = found.bias
        interval_points(
            right, curve, fmt="o-", color=part.colour, label=f"bias {b.value:.0f} ms [{b.low:.0f}, {b.high:.0f}]"
        )
    ends = [min(p.table["production"].min() for p in parts), max(p.table["production"].max() for p in parts)]
    left.plot(ends, ends, color=GREY, linestyle="--", linewidth=1, label="equal")
    right.axhline(0, color=GREY, linestyle="--", linewidth=1)
    left.set(xlabel="target interval (ms)", ylabel="produced interval (ms)", title="interval reproduction")
    right.set(xlabel="target interval (ms)", ylabel="produced - target (ms)", title="error, mean and 95 % interval")
    legend_below(left)
    legend_below(right, side="right")
    return figure


def _intervals(part: Part) -> tuple[np.ndarray, np.ndarray]:
    """Return the target interval and the produced interval (ms) of the answered trials."""
    table = part.table
    lag = table["period_set"] if "period_set" in table and _counts_from(table, "production") else 0.0
    rows = np.isin(table["outcome"].astype(str), ("correct", "error")) & np.isfinite(table["rt"])
    return table["production"][rows], (table["rt"] + lag)[rows]


def _reproduced(part: Part, draws: int) -> IntervalReproduction:
    from neurogym.analysis import interval_reproduction

    target, produced = _intervals(part)
    if len(target) < 4:
        raise ValueError("fewer than four intervals were produced")
    return interval_reproduction(target, produced, n_boot=draws)


def _counts_from(table: dict[str, np.ndarray], period: str) -> bool:
    """Return whether reaction times count from this period."""
    return "rt_from" in table and bool(np.all(table["rt_from"].astype(str) == period))
