"""Checkpoints along training: performance, and dimension, similarity to the end and selectivity of activity."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from neurogym.analysis.activity import nan_mean
from neurogym.analysis.selectivity import selectivity_table
from neurogym.analysis.similarity import linear_cka
from neurogym.analysis.trial_tables import Table
from ngym_cli.agents.checkpoints import CHECKPOINTS_FOLDER
from ngym_cli.agents.networks.pruning import Pruning, parse
from ngym_cli.agents.trained import remembers
from ngym_cli.errors import UserError
from ngym_cli.figures import registry, style, wording
from ngym_cli.figures.learning import DRAWN, MOST_PROBABLE
from ngym_cli.figures.population import Population, population
from ngym_cli.figures.source import Evaluated, Series, Source
from ngym_cli.figures.view import PlotData
from ngym_cli.runs.trial_table import concatenate

#: Numbers of activity along training, with titles.
ACTIVITY_NUMBERS = {
    "dimension": "dimension of activity (participation ratio)",
    "similarity": "similarity to the end (linear CKA)",
    "selectivity": "share of units selective for conditions",
}


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
                if not any(each.intact and each.has(("activity",)) for each in source.evaluations):  # the end
                    view.recorder(source, ("activity",))
            source.reread()
    numbers = [(source, _activity_numbers(view, source)) for source in view.sources]
    drawn = any(len(table["step"]) > 1 for _, table in numbers)
    pruned = any(_pruning(source) for source in view.sources)
    columns = 3 if drawn or pruned else 2
    figure, grid = style.new_figure(2 if drawn else 1, columns, width=3.8 if columns == 3 else 4.2, squeeze=False)
    last = grid.flat[-1] if drawn else grid[0][2] if pruned else None  # the panel that is free
    left = grid[0][0]
    for (source, table), colour in zip(numbers, style.colours(len(view.sources)), strict=True):
        steps = _development(source)
        rows = [evaluated.summary for evaluated in steps.values()]
        if rows:
            curve = style.performance_curve(list(steps), rows)
            how = MOST_PROBABLE if rows[0].get("deterministic", True) else DRAWN
            label = f"{source.run.name}, {how}, n = {rows[0]['trials']:,} trials each"
            style.interval_line(left, curve, colour, label, marker="o", markersize=3)
        pruning = _pruning(source)
        if rows and pruning is not None and last is not None:
            sparsity = style.performance_curve([pruning.at(step) for step in steps], rows)
            style.interval_line(last, sparsity, colour, source.run.name, marker="o", markersize=3)
        for axes, name in zip(grid.flat[2:] if drawn else (), ACTIVITY_NUMBERS, strict=False):
            axes.plot(table["step"], table[name], "o-", markersize=3, color=colour)
    style.reference_lines(left, view.references)
    style.along_training(left, "development, 95 % intervals")
    style.legend_below(left)
    _by_condition(grid[0][1], next(source for source in view.sources if _development(source)))
    for axes, (name, title) in zip(grid.flat[2:] if drawn else (), ACTIVITY_NUMBERS.items(), strict=False):
        axes.set(xlabel="training steps", ylabel=name, title=title)
        axes.set_ylim(
            bottom=0, top=1.05 * max(1.0, *(float(np.nanmax(table[name], initial=0)) for _, table in numbers))
        )
        style.thousands(axes)
    if pruned and last is not None:
        style.reference_lines(last, view.references)
        title = "performance over sparsity, 95 % intervals"
        last.set(xlabel="share of pruned weights", ylabel="performance", ylim=(0, 1.05), title=title)
    elif last is not None:
        last.remove()
    if drawn:
        view.table = concatenate([{"run": np.full(len(t["step"]), s.run.name, object), **t} for s, t in numbers])
    return figure


def _pruning(source: Source) -> Pruning | None:
    """Return the schedule by which a run's network was pruned during training; None if it was not."""
    text = source.config.network_args.get("prune")
    return None if text is None else parse(text)


def _activity_numbers(view: PlotData, source: Source) -> Table:
    """Return dimension, similarity to the end and selectivity of the activity of each recorded checkpoint.

    The last recording of the trained network, if later, is the end. The dimension is the participation ratio of the
    covariance (Gao et al. 2017, 10.1101/214262).
    """
    rows = {step: each for step, each in _development(source).items() if each.has(("activity",))}
    final = [each for each in source.evaluations if each.intact and each.has(("activity",))]
    rows |= {each.summary["model_steps"] or 0: each for each in final[-1:] if rows}
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
