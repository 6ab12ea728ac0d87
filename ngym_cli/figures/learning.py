"""Performance along training: trials of training, evaluations of checkpoints, and forgetting of earlier tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from neurogym.analysis import from_trials
from neurogym.analysis.activity import nan_mean
from neurogym.analysis.intervals import clusters, proportion_curve
from neurogym.analysis.results import Curve
from neurogym.analysis.selectivity import selectivity_table
from neurogym.analysis.similarity import linear_cka
from neurogym.analysis.trial_tables import Table
from ngym_cli.agents.checkpoints import CHECKPOINTS_FOLDER
from ngym_cli.agents.trained import remembers
from ngym_cli.errors import UserError
from ngym_cli.figures import registry, style, wording
from ngym_cli.figures.population import Population, population
from ngym_cli.figures.source import Evaluated, Series, Source
from ngym_cli.figures.view import PlotData
from ngym_cli.runs.records import EvaluationRow
from ngym_cli.runs.trial_table import concatenate

if TYPE_CHECKING:
    from matplotlib.typing import ColorType

#: Action selection in training and in evaluations.
DRAWN, MOST_PROBABLE = "drawn actions", "most probable actions"

#: Trials behind a point of the curve and most points; short runs have fewer trials behind each of a few points.
TRIALS_PER_BIN, FEWEST_PER_BIN = 100, 5
MOST_BINS, FEWEST_BINS = 60, 4

#: Numbers of activity along training, with titles.
ACTIVITY_NUMBERS = {
    "dimension": "dimension of activity (participation ratio)",
    "similarity": "similarity to the end (linear CKA)",
    "selectivity": "share of units selective for conditions",
}

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
    breaks = [((table["aborts"][r] > 0) | (table["outcome"][r] == "abort")).mean() for r in rows]
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
    by_name = {row["step"]: row for row in source.manifest.get("evaluations", ())}
    for each in source.evaluations:
        step, summary_row = each.summary.get("model_steps"), each.summary
        if each.intact and step is not None:
            by_name[step] = {
                "step": step,
                "trials": summary_row["trials"],
                "performance": summary_row["performance"],
                "performance_ci": summary_row.get("performance_ci") or (np.nan, np.nan),
                "deterministic": summary_row.get("deterministic", True),
            }
    for probable, colour in ((True, style.COLOURS[1]), (False, style.COLOURS[3])):
        rows = [row for _, row in sorted(by_name.items()) if row.get("deterministic", True) == probable]
        if not rows:
            continue
        n = sorted({row["trials"] for row in rows})
        trials = f"n = {n[0]:,}" if len(n) == 1 else f"n = {n[0]:,} to {n[-1]:,}"
        words = f"evaluation, {MOST_PROBABLE if probable else DRAWN}, {trials}"
        curve = style.performance_curve([row["step"] for row in rows], rows)
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


def _checkpoints_evaluated(view: PlotData) -> None:
    if not any(_development(source) for source in view.sources) and (
        not view.requested
        or view.recorder is None
        or not any((source.run.path / CHECKPOINTS_FOLDER).is_dir() for source in view.sources)
    ):
        raise style.FigureUnavailableError("no evaluations along training; ngym eval --checkpoints all makes them")


def _development(source: Source) -> dict[int, Evaluated]:
    """Return the latest evaluation of each checkpoint, recorded ones last, in the order of training."""
    rows = [e for e in source.evaluations if e.along_training and not e.perturbed]
    rows.sort(key=lambda each: each.has(("activity",)))
    return dict(sorted({each.summary["checkpoint"] or 0: each for each in rows}.items()))


@registry.figure("behaviour and activity of the checkpoints along training", check=_checkpoints_evaluated)
def development(view: PlotData) -> Figure:
    """Draw performance of the checkpoints, and dimension, similarity to the end and selectivity of their activity.

    Activity is drawn of evaluations of checkpoints that recorded it, which are made if the figure is named.
    """
    for source in view.sources:
        recorded = any(each.has(("activity",)) for each in _development(source).values())
        if view.recorder is not None and view.requested and remembers(source.actor) and not recorded:
            with style.unavailable_on(UserError):
                view.recorder(source, ("activity",), checkpoints=True)
            source.reread()
    numbers = [(source, _activity_numbers(view, source)) for source in view.sources]
    drawn = any(len(table["step"]) > 1 for _, table in numbers)
    figure, grid = style.new_figure(2 if drawn else 1, 3 if drawn else 2, width=3.8 if drawn else 4.2, squeeze=False)
    left = grid[0][0]
    for (source, table), colour in zip(numbers, style.colours(len(view.sources)), strict=True):
        steps = _development(source)
        rows = [evaluated.summary for evaluated in steps.values()]
        if rows:
            curve = style.performance_curve(list(steps), rows)
            how = MOST_PROBABLE if rows[0].get("deterministic", True) else DRAWN
            label = f"{source.run.name}, {how}, n = {rows[0]['trials']:,} trials each"
            style.interval_line(left, curve, colour, label, marker="o", markersize=3)
        for axes, name in zip(grid.flat[2:], ACTIVITY_NUMBERS, strict=False):
            axes.plot(table["step"], table[name], "o-", markersize=3, color=colour)
    style.reference_lines(left, view.references)
    style.along_training(left, "development, 95 % intervals")
    style.legend_below(left)
    _by_condition(grid[0][1], next(source for source in view.sources if _development(source)))
    for axes, (name, title) in zip(grid.flat[2:], ACTIVITY_NUMBERS.items(), strict=False):
        axes.set(xlabel="training steps", ylabel=name, title=title)
        axes.set_ylim(bottom=0, top=None if name == "dimension" else 1.05)
        style.thousands(axes)
    for axes in grid.flat[5:]:
        axes.remove()
    if drawn:
        view.table = concatenate([{"run": np.full(len(t["step"]), s.run.name, object), **t} for s, t in numbers])
    return figure


def _activity_numbers(view: PlotData, source: Source) -> Table:
    """Return dimension, similarity to the end and selectivity of the activity of each recorded checkpoint.

    The last recording of the trained network, if later, is the end. The dimension is the participation ratio of the
    covariance (Gao et al. 2017, 10.1101/214262).
    """
    rows = {step: each for step, each in _development(source).items() if each.has(("activity",))}
    final = [each for each in source.evaluations if each.intact and each.has(("activity",))]
    rows |= {each.summary["model_steps"]: each for each in final[-1:] if rows}
    trials = {
        step: population(view, Series(f"{source.run.path} at {step}", style.COLOURS[0], [(source, each)]))
        for step, each in sorted(rows.items())
    }
    end = next(reversed(trials.values()), None)
    return {
        "step": np.array(list(trials), float),
        "dimension": np.array([_dimension(each.activity.values) for each in trials.values()]),
        "similarity": np.array([_similarity(each, end) for each in trials.values() if end is not None]),
        "selectivity": np.array([_selective(each) for each in trials.values()]),
    }


def _dimension(values: np.ndarray) -> float:
    variance = np.linalg.eigvalsh(np.cov(values, rowvar=False))
    return float(variance.sum() ** 2 / np.square(variance).sum()) if variance.any() else 0.0


def _similarity(each: Population, end: Population) -> float:
    """Return the linear CKA of the averages of the conditions that both have, over the steps that both have."""
    start, stop = max(each.start, end.start), min(each.stop, end.stop)
    pairs = [
        (k, end.conditions.levels.index(level))
        for k, level in enumerate(each.conditions.levels)
        if level in end.conditions.levels
    ]
    averages = []
    for population_of, column in ((each, 0), (end, 1)):
        aligned = population_of.activity.align(population_of.at, start=start, stop=stop)
        index = population_of.conditions.index
        averages.append(np.concatenate([nan_mean(aligned[index == pair[column]]) for pair in pairs]))
    finite = np.isfinite(averages[0]).all(axis=1) & np.isfinite(averages[1]).all(axis=1)
    return linear_cka(averages[0][finite], averages[1][finite])


def _selective(each: Population) -> float:
    """Return the share of units selective for the conditions, over the window."""
    known = each.conditions.index >= 0
    rate = each.activity.mean_rate(each.at, stop=each.stop)[known]
    try:
        table = selectivity_table(rate, {"condition": each.conditions.index[known]})
    except ValueError:
        return float("nan")
    return float(np.mean(table.p[:, 0] < table.alpha))


def _by_condition(axes: Axes, source: Source) -> None:
    result = _development(source).items()
    rows = [(step, row) for step, evaluated in result for row in evaluated.summary["conditions"]]
    names = list(dict.fromkeys(row["condition"] for _, row in rows))
    name = "coh" if "coh" in names else names[0] if names else None
    values: list[Any] = sorted({row["value"] for _, row in rows if row["condition"] == name})
    for value, colour in zip(values, style.shades(len(values)), strict=True):
        line = [(step, row["performance"]) for step, row in rows if (row["condition"], row["value"]) == (name, value)]
        words = wording.Wording(source.properties.labels).phrase(str(name), value)
        axes.plot(*zip(*line, strict=True), "o-", markersize=3, color=colour, label=words)
    style.along_training(axes, f"by {wording.short(str(name))}, {source.run.name}")
    if values:
        style.legend_below(axes, side="right")


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
