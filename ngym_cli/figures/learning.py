"""Performance along training: trials of training, and evaluations of checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngym_cli.figures import registry, style, wording
from ngym_cli.figures.source import Source
from ngym_cli.figures.view import View
from ngym_cli.runs.trial_table import Table

if TYPE_CHECKING:
    from matplotlib.typing import ColorType

#: Action selection in training and in evaluations.
DRAWN, MOST_PROBABLE = "drawn actions", "most probable actions"

#: Trials behind a point of the curve and most points; short runs have fewer trials behind each of a few points.
TRIALS_PER_BIN, FEWEST_PER_BIN = 100, 5
MOST_BINS, FEWEST_BINS = 60, 4


def _trained(view: View) -> None:
    for source in view.sources:
        if not len(source.training.get("trial", ())):
            raise style.Unavailable(f"{source.run.name}: no training trials were recorded")


@registry.figure("performance along training; over seeds the interquartile mean", check=_trained)
def learning(view: View) -> Figure:
    """Draw performance against the steps of training; for a single run also reward, fixation breaks and misses."""
    if len(view.sources) == 1:
        return _one(view)
    groups: dict[str, list[Source]] = {}
    for source in view.sources:
        groups.setdefault(source.property(view.compare or "run"), []).append(source)
    figure, axes = style.new_figure(width=5.2)
    for (label, sources), colour in zip(groups.items(), style.COLOURS * (1 + len(groups) // 7), strict=False):
        name = f"seed {label}" if view.compare == "seed" else label
        _group(axes, name, sources, colour)
    style.reference_lines(axes, view.references)
    axes.set(xlabel="training steps", ylabel="performance", ylim=(0, 1.05), title=f"learning, {DRAWN}")
    style.legend_below(axes)
    thousands(axes)
    return figure


def _group(axes: Axes, label: str, sources: list[Source], colour: ColorType) -> None:
    """Draw the interquartile mean of several runs with a bootstrap interval, or a single run with Wilson's interval."""
    from neurogym.analysis import from_trials

    if len(sources) == 1:
        rows, steps = _bins(sources[0].training)
        _performance(axes, sources[0].training, rows, steps, colour, f"{label}, 1 run, Wilson interval")
        return
    try:
        curve = from_trials.learning_curve([source.training for source in sources], n_bins=MOST_BINS)
    except ValueError as error:
        raise style.Unavailable(str(error)) from None
    for seed in curve.seeds:
        axes.plot(curve.iqm.x, seed, color=colour, linewidth=0.5, alpha=0.4)
    words = f"{label}, interquartile mean of {len(sources)} runs, bootstrap interval"
    style.interval_line(axes, curve.iqm, colour, words)


def _bins(table: Table) -> tuple[list[np.ndarray], np.ndarray]:
    n = len(table["trial"])
    bins = min(max(n // TRIALS_PER_BIN, min(n // FEWEST_PER_BIN, FEWEST_BINS), 1), MOST_BINS)
    rows = np.array_split(np.argsort(table["step"], kind="stable"), bins)
    return rows, np.array([table["step"][r[-1]] for r in rows])


def _performance(
    axes: Axes, table: Table, rows: list[np.ndarray], steps: np.ndarray, colour: ColorType, label: str
) -> None:
    from neurogym.analysis.intervals import clusters, proportion_curve

    order, linked = np.concatenate(rows), clusters(table)
    place = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
    groups = None if linked is None else linked[order]
    curve = proportion_curve(steps, place, table["performance"][order], groups)
    style.interval_line(axes, curve, colour, label)


def _one(view: View) -> Figure:
    source = view.first
    table = source.training
    rows, steps = _bins(table)
    figure, (left, right) = style.new_figure(1, 2)
    _performance(left, table, rows, steps, style.COLOURS[0], f"training, {DRAWN}, {len(rows[0]):,} trials per point")
    _evaluated(left, source)
    style.reference_lines(left, view.references)
    n = len(table["trial"])
    title = f"learning, n = {n:,} trials, 95 % intervals"
    left.set(xlabel="training steps", ylabel="performance", ylim=(0, 1.05), title=title)
    right.plot(steps, [table["reward"][r].mean() for r in rows], color=style.COLOURS[2], label="reward per trial")
    breaks = [((table["aborts"][r] > 0) | (table["outcome"][r] == "abort")).mean() for r in rows]
    right.plot(steps, breaks, color=style.COLOURS[1], label="trials with a fixation break")
    misses = [(table["outcome"][r] == "miss").mean() for r in rows]
    right.plot(steps, misses, color=style.COLOURS[4], label="missed trials")
    right.set(xlabel="training steps", ylabel="per trial", title="reward, fixation breaks, misses")
    for axes in (left, right):
        _stages(axes, source)
        thousands(axes)
    style.legend_below(left)
    style.legend_below(right, side="right")
    return figure


def _evaluated(axes: Axes, source: Source) -> None:
    """Draw the evaluations made during and after training."""
    found = {row["step"]: row for row in source.manifest.get("evaluations", ())}
    for each in source.evaluations:
        if each.intact and each.summary.get("model_steps") is not None:
            found[each.summary["model_steps"]] = {**each.summary, "step": each.summary["model_steps"]}
    for probable, colour in ((True, style.COLOURS[1]), (False, style.COLOURS[3])):
        rows = [row for _, row in sorted(found.items()) if row.get("deterministic", True) == probable]
        if not rows:
            continue
        value = np.array([row["performance"] for row in rows])
        low, high = np.array([row["performance_ci"] for row in rows]).T
        n = sorted({row["trials"] for row in rows})
        trials = f"n = {n[0]:,}" if len(n) == 1 else f"n = {n[0]:,} to {n[-1]:,}"
        words = f"evaluation, {MOST_PROBABLE if probable else DRAWN}, {trials}"
        axes.errorbar(
            [row["step"] for row in rows], value, np.clip([value - low, high - value], 0, None), fmt="o-",
            color=colour, markersize=4, linewidth=0.8, label=words,
        )  # fmt: skip


def _stages(axes: Axes, source: Source) -> None:
    """Mark the start of each stage of a curriculum with the name of the stage."""
    for number, stage in enumerate(source.manifest.get("stages") or (), start=1):
        begin = stage.get("from_step") or 0
        if number > 1:
            axes.axvline(begin, color="black", linewidth=0.8, linestyle="--")
        name = stage.get("name") or f"stage {number}"
        axes.annotate(name, (begin, 0), xycoords=("data", "axes fraction"), xytext=(3, 3), textcoords="offset points",
                      rotation=90, va="bottom", color="black", fontsize="small")  # fmt: skip


def thousands(axes: Axes) -> None:
    """Label steps in thousands."""
    axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:g}k" if x >= 1000 else f"{x:g}")


def _checkpoints_evaluated(view: View) -> None:
    if not any(_development(source) for source in view.sources):
        raise style.Unavailable("no evaluations along training; ngym eval --checkpoints all makes them")


def _development(source: Source) -> dict[int, Any]:
    """Return the latest evaluation of each checkpoint, in the order of training."""
    found = {e.summary["checkpoint"]: e for e in source.evaluations if e.along_training and not e.perturbed}
    return dict(sorted(found.items()))


@registry.figure("evaluations of the checkpoints along training", check=_checkpoints_evaluated)
def development(view: View) -> Figure:
    """Draw performance of the checkpoints, over all trials and at each value of the first condition."""
    figure, (left, right) = style.new_figure(1, 2)
    for source, colour in zip(view.sources, style.COLOURS * (1 + len(view.sources) // 7), strict=False):
        found = [evaluated.summary for evaluated in _development(source).values()]
        if found:
            steps = [each["checkpoint"] for each in found]
            low, high = np.array([each["performance_ci"] for each in found]).T
            style.interval_band(left, steps, low, high, colour)
            how = MOST_PROBABLE if found[0].get("deterministic", True) else DRAWN
            label = f"{source.run.name}, {how}, n = {found[0]['trials']:,} trials each"
            left.plot(steps, [each["performance"] for each in found], "o-", markersize=3, color=colour, label=label)
    style.reference_lines(left, view.references)
    title = "development, 95 % intervals"
    left.set(xlabel="training steps", ylabel="performance", ylim=(0, 1.05), title=title)
    style.legend_below(left)
    _by_condition(right, next(source for source in view.sources if _development(source)))
    thousands(left)
    thousands(right)
    return figure


def _by_condition(axes: Axes, source: Source) -> None:
    found = [evaluated.summary for evaluated in _development(source).values()]
    rows = [(each["checkpoint"], row) for each in found for row in each["conditions"]]
    names = list(dict.fromkeys(row["condition"] for _, row in rows))
    name = "coh" if "coh" in names else names[0] if names else None
    values = sorted({row["value"] for _, row in rows if row["condition"] == name})
    for value, colour in zip(values, style.shades(len(values)), strict=True):
        line = [(step, row["performance"]) for step, row in rows if (row["condition"], row["value"]) == (name, value)]
        words = wording.Wording(source.facts.labels).phrase(str(name), value)
        axes.plot(*zip(*line, strict=True), "o-", markersize=3, color=colour, label=words)
    title = f"by {wording.short(str(name))}, {source.run.name}"
    axes.set(xlabel="training steps", ylabel="performance", ylim=(0, 1.05), title=title)
    if values:
        style.legend_below(axes, side="right")
