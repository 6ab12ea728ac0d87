"""Performance along training: trials of training, evaluations during training, and forgetting of earlier tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from neurogym.analysis import from_trials
from neurogym.analysis.intervals import clusters, proportion_curve
from neurogym.analysis.results import Curve
from neurogym.analysis.trial_tables import Table, select
from ngym_cli.figures import registry, style
from ngym_cli.figures.source import Source
from ngym_cli.figures.view import PlotData
from ngym_cli.runs.records import EvaluationRow, Summary
from ngym_cli.runs.summary import fixation_breaks

if TYPE_CHECKING:
    from matplotlib.typing import ColorType

#: Action selection in training and in evaluations.
DRAWN, MOST_PROBABLE = "drawn actions", "most probable actions"

#: Trials behind a point of the curve and most points; short runs have fewer trials behind each of a few points.
TRIALS_PER_BIN, FEWEST_PER_BIN = 100, 5
MOST_BINS, FEWEST_BINS = 60, 4

#: Equal stretches of training in which the most frequent task is found.
N_STRETCHES = 200


def _trained(view: PlotData) -> None:
    for source in view.sources:
        if not len(source.training.get("trial", ())):
            raise style.FigureUnavailableError(f"{source.run.name}: no training trials were recorded")


@registry.figure("performance along training; over seeds the interquartile mean", check=_trained)
def learning(view: PlotData) -> Figure:
    """Draw performance against the steps of training; for a single run also reward, fixation breaks and misses."""
    if len(view.sources) == 1:
        return _single_run(view)
    groups: dict[str, list[Source]] = {}
    for source in view.sources:
        groups.setdefault(source.property(view.compare or "run"), []).append(source)
    figure, axes = style.new_figure(width=5.2)
    for (label, sources), colour in zip(groups.items(), style.colours(len(groups)), strict=True):
        name = f"seed {label}" if view.compare == "seed" else label
        _group(axes, name, sources, colour)
    style.reference_lines(axes, view.references)
    style.along_training(axes, f"learning, {DRAWN}")
    style.legend_below(axes)
    return figure


def _group(axes: Axes, label: str, sources: list[Source], colour: ColorType) -> None:
    """Draw the interquartile mean of several runs with a bootstrap interval, or a single run with Wilson's interval."""
    if len(sources) == 1:
        rows, steps = _bins(sources[0].training)
        _performance(axes, sources[0].training, rows, steps, colour, f"{label}, 1 run, Wilson interval")
        return
    with style.unavailable_on(ValueError):
        curve = from_trials.learning_curve([source.training for source in sources], n_bins=MOST_BINS)
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

    order, linked = np.concatenate(rows), clusters(table)
    position = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
    groups = None if linked is None else linked[order]
    curve = proportion_curve(steps, position, table["performance"][order], groups)
    style.interval_line(axes, curve, colour, label)


def _reward(table: Table, rows: list[np.ndarray], steps: np.ndarray) -> Figure:
    """Draw the reward per trial of a run whose trials have no right answer."""
    figure, axes = style.new_figure()
    means = [table["reward"][r].mean() for r in rows]
    axes.plot(steps, means, color=style.COLOURS[2], label=f"training, {len(rows[0]):,} trials per point")
    axes.set(xlabel="training steps", ylabel="reward per trial", title=f"learning, n = {len(table['trial']):,} trials")
    style.thousands(axes)
    style.legend_below(axes)
    return figure


def _single_run(view: PlotData) -> Figure:
    source = view.first
    table = source.training
    rows, steps = _bins(table)
    if np.all(np.isnan(table["performance"])):  # episodes without a right answer
        return _reward(table, rows, steps)
    figure, (left, right) = style.new_figure(1, 2)
    _performance(left, table, rows, steps, style.COLOURS[0], f"training, {DRAWN}, {len(rows[0]):,} trials per point")
    _evaluated(left, source)
    style.reference_lines(left, view.references)
    style.along_training(left, f"learning, n = {len(table['trial']):,} trials, 95 % intervals")
    right.plot(steps, [table["reward"][r].mean() for r in rows], color=style.COLOURS[2], label="reward per trial")
    breaks = [fixation_breaks(select(table, r)).rate for r in rows]
    right.plot(steps, breaks, color=style.COLOURS[1], label="trials with a fixation break")
    misses = [(table["outcome"][r] == "miss").mean() for r in rows]
    right.plot(steps, misses, color=style.COLOURS[4], label="missed trials")
    right.set(xlabel="training steps", ylabel="per trial", title="reward, fixation breaks, misses")
    style.thousands(right)
    for axes in (left, right):
        _stages(axes, source)
    style.legend_below(left)
    style.legend_below(right, side="right")
    return figure


def _evaluated(axes: Axes, source: Source) -> None:
    """Draw the evaluations made during and after training."""
    by_step: dict[int, EvaluationRow | Summary] = {row["step"]: row for row in source.manifest.get("evaluations", ())}
    for each in source.evaluations:
        step = each.summary.get("model_steps")
        if each.intact and step is not None:
            by_step[step] = each.summary
    for probable, colour in ((True, style.COLOURS[1]), (False, style.COLOURS[3])):
        rows = {step: by_step[step] for step in sorted(by_step) if by_step[step].get("deterministic", True) == probable}
        if not rows:
            continue
        n = sorted({row["trials"] for row in rows.values()})
        trials = f"n = {n[0]:,}" if len(n) == 1 else f"n = {n[0]:,} to {n[-1]:,}"
        words = f"evaluation, {MOST_PROBABLE if probable else DRAWN}, {trials}"
        curve = style.performance_curve(list(rows), list(rows.values()))
        style.interval_points(axes, curve, fmt="o-", color=colour, linewidth=0.8, label=words)


def _stages(axes: Axes, source: Source) -> None:
    """Mark the start of each stage of a curriculum with the name of the stage."""
    for number, stage in enumerate(source.manifest.get("stages") or (), start=1):
        begin = stage.get("from_step") or 0
        if number > 1:
            axes.axvline(begin, color="black", linewidth=0.8, linestyle="--")
        name = stage.get("name") or f"stage {number}"
        axes.annotate(
            name,
            (begin, 0),
            xycoords=("data", "axes fraction"),
            xytext=(3, 3),
            textcoords="offset points",
            rotation=90,
            va="bottom",
            color="black",
            fontsize="small",
        )


def _evaluations(source: Source) -> list[EvaluationRow]:
    """Return the evaluations along training that report each task."""
    return [row for row in source.manifest.get("evaluations", ()) if len(row.get("tasks") or {}) > 1]


def _by_task(view: PlotData) -> None:
    if len(_evaluations(view.first)) < 2:
        raise style.FigureUnavailableError(
            "needs two evaluations or more of several tasks, as in ngym run --task A+B --eval-every 10000, "
            "or stages of different tasks"
        )


@registry.figure("forgetting: performance on each task while others are trained", check=_by_task, on_request=True)
def forgetting(view: PlotData) -> Figure:
    """Draw performance on each task along training, and the loss from the best earlier to the last evaluation.

    The loss is the forgetting of Chaudhry et al. 2018 (10.1007/978-3-030-01252-6_33). The strip below the curves shows
    which task was trained.
    """
    result = _evaluations(view.first)
    steps = np.array([row["step"] for row in result])
    colours = dict(zip(sorted(result[0]["tasks"]), style.colours(len(result[0]["tasks"])), strict=True))
    figure, (left, right) = style.new_figure(1, 2)
    for task, colour in colours.items():
        value, low, high = np.array([row["tasks"][task] for row in result], float).T
        style.interval_line(left, Curve(steps, value, low, high, steps), colour, task, marker="o", markersize=3)
    _trained_tasks(left, view.first, colours)
    style.along_training(left, f"forgetting, n = {result[0]['trials']:,} trials, 95 % intervals", low=-0.1)
    style.legend_below(left)
    _losses(right, result, colours)
    return figure


def _trained_tasks(axes: Axes, source: Source, colours: dict[str, str]) -> None:
    """Draw a strip that shows the most frequent task of each stretch of training."""
    table = source.training
    if not len(table.get("task", ())):
        return
    edges = np.linspace(0, table["step"].max(), N_STRETCHES + 1)
    position = np.clip(np.searchsorted(edges, table["step"], "left") - 1, 0, N_STRETCHES - 1)
    names = np.asarray(table["task"]).astype(str)
    counts = np.stack([np.bincount(position[names == task], minlength=N_STRETCHES) for task in colours])
    seen = np.flatnonzero(counts.any(0))  # supervised learners look at behaviour now and then
    main_task = counts.argmax(0)[seen[np.clip(np.searchsorted(seen, np.arange(N_STRETCHES), "right") - 1, 0, None)]]
    for number, task in enumerate(colours):
        spans = [(edges[k], edges[k + 1] - edges[k]) for k in np.flatnonzero(main_task == number)]
        axes.broken_barh(spans, (-0.08, 0.05), color=colours[task], linewidth=0)


def _losses(axes: Axes, result: list[EvaluationRow], colours: dict[str, str]) -> None:
    """Draw the best earlier and the last performance on each task."""
    losses = []
    for position, (task, colour) in enumerate(colours.items()):
        every = np.array([row["tasks"][task] for row in result], float)
        best, last = every[np.argmax(every[:-1, 0])], every[-1]
        losses.append(best[0] - last[0])
        for x, (value, low, high), marker in ((position - 0.12, best, "o"), (position + 0.12, last, "s")):
            error = [[max(value - low, 0)], [max(high - value, 0)]]
            axes.errorbar([x], [value], error, fmt=marker, color=colour, markersize=5)
        axes.plot([position - 0.12, position + 0.12], [best[0], last[0]], color=colour, linewidth=0.8)
    names = [f"{task}\n{loss:.2f}" for task, loss in zip(colours, losses, strict=True)]
    axes.set_xticks(range(len(names)), names, rotation=0 if len(names) < 4 else 90)
    axes.plot([], [], "ko", markersize=5, label="best earlier evaluation")
    axes.plot([], [], "ks", markersize=5, label="last evaluation")
    style.legend_below(axes, side="right")
    axes.set_title(f"mean forgetting {np.mean(losses):.2f}")
    axes.set(ylabel="performance", ylim=(0, 1.05), xlim=(-0.5, len(names) - 0.5))
