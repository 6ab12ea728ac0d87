"""Performance by condition: a panel for each condition, bars for many tasks, and answers of go / no-go tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from neurogym.analysis.intervals import clusters, proportion_curve
from neurogym.analysis.outcomes import d_prime
from ngym_cli.config.tasks import find_task
from ngym_cli.environments.properties import ceiling_of
from ngym_cli.environments.stack import keyword_parameters
from ngym_cli.errors import UserError
from ngym_cli.figures import registry, style, wording
from ngym_cli.figures.source import Series
from ngym_cli.figures.view import PlotData
from ngym_cli.runs import summary
from ngym_cli.runs.conditions import columns_of_performance

if TYPE_CHECKING:
    from ngym_cli.figures.source import Source


#: Most columns that performance is broken down by, values with their own number of trials, tasks in a panel of points.
MOST_PANELS, MOST_COUNTS, MOST_TASKS = 6, 8, 6


@dataclass(frozen=True)
class ConditionScores:
    """Condition, with the ceiling and chance of each value.

    Attributes:
        name: column of the trials.
        values: values of the condition, in order.
        words: for each value.
        ceiling: at each value, None where unknown.
        chance: at each value.
    """

    name: str
    values: list[Any]
    words: list[str]
    ceiling: list[float | None]
    chance: list[float | None]


def _names(view: PlotData) -> list[str]:
    for name in view.by:
        view.parts(name)
    names = list(view.by) or columns_of_performance(view.properties.conditions, view.series[0].table)
    if "task" in names and not view.by:
        names = ["task"]
    if not names:
        raise style.FigureUnavailableError("no condition of the task takes a few known values")
    return names[:MOST_PANELS]


@registry.figure("performance by condition, or by task, with chance and ceiling of each", check=_names)
def conditions(view: PlotData) -> Figure:
    """Draw performance at each value of each condition, with chance and the ceiling of each."""
    all_series = [Series(series.text, series.colour, rows=series.table) for series in view.series]
    words = wording.Wording(view.properties.labels, all_series[0].table)
    panels = []
    for name in _names(view):
        values = _values(all_series, name)
        tasks = view.properties.tasks if name == "task" else {}
        panels.append(
            ConditionScores(
                name,
                values,
                [words.value(name, value) for value in values],
                of_values(view.first, name, values),
                [tasks.get(value, {}).get("chance") for value in values],
            )
        )
    if panels[0].name == "task" and len(panels[0].values) > MOST_TASKS:
        return task_bars(all_series, panels[0])
    return condition_panels(all_series, panels, view.evaluated_references)


def _values(all_series: Sequence[Series], name: str) -> list[Any]:
    return sorted({row["value"] for series in all_series for row in summary.by_condition(series.table, [name])})


def condition_panels(
    all_series: Sequence[Series],
    panels: Sequence[ConditionScores],
    references: Mapping[str, float | None] | None = None,
) -> Figure:
    """Draw performance at each value of each condition.

    Args:
        all_series: trials, one colour each.
        panels: the conditions.
        references: scores of other agents over all conditions, by name; the ceiling is left to each condition.
    """
    columns = min(3, len(panels))
    figure, axes = style.new_figure(-(-len(panels) // columns), columns, height=2.9, squeeze=False, sharey=True)
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    shared = {name: value for name, value in (references or {}).items() if name != "ceiling"}
    for axis, panel in zip(axes.flat, panels, strict=False):
        _panel(axis, panel, all_series)
        axis.set(xlabel=wording.axis(panel.name), ylim=(-0.03, 1.08), title=f"by {wording.short(panel.name)}")
        style.reference_lines(axis, {} if any(panel.chance) else shared)
    for row in axes:
        row[0].set_ylabel("performance")
    axes[0][0].set_title(f"performance by {wording.short(panels[0].name)}, 95 % intervals")
    style.legend_below(axes[0][0], 2 if len(panels) > 1 else 1)
    return figure


def _panel(axis: Axes, panel: ConditionScores, all_series: Sequence[Series]) -> None:
    words = list(panel.words)
    for k, series in enumerate(all_series):
        rows = summary.by_condition(series.table, [panel.name])
        at = np.array([panel.values.index(row["value"]) for row in rows]) + style.dodge(k, len(all_series))
        curve = style.performance_curve(at, rows)
        label = f"{series.label}, n = {len(series.table['trial']):,}"
        style.interval_points(axis, curve, color=series.colour, linewidth=1.5, label=label)
        if len(all_series) == 1 and len(panel.values) <= MOST_COUNTS:
            words = [f"{word}\nn = {row['trials']:,}" for word, row in zip(words, rows, strict=True)]
    for parameters, line, name in ((panel.ceiling, "-", "ceiling of each"), (panel.chance, ":", "chance of each")):
        at = np.array([position for position, value in enumerate(parameters) if value is not None])
        if len(at):
            levels = np.array([value for value in parameters if value is not None])
            marks: dict[str, Any] = {"color": style.GREY, "linestyle": line, "linewidth": 1.2, "zorder": 0}
            axis.hlines(levels, at - 0.3, at + 0.3, label=name, **marks)
    style.category_ticks(axis, words)
    axis.set_xlim(-0.5, len(panel.values) - 0.5)


def task_bars(all_series: Sequence[Series], panel: ConditionScores) -> Figure:
    """Draw the performance in each of many tasks as horizontal bars, by family, with chance and ceiling of each.

    Args:
        all_series: trials, one colour each.
        panel: the tasks.
    """
    families: dict[str, list[int]] = {}
    for index, task in enumerate(panel.values):
        families.setdefault(_family(task), []).append(index)
    position, at, middles = 0.0, {}, {}
    for family, members in families.items():
        for index in members:
            at[index] = position
            position += 1
        middles[family] = (at[members[0]] + at[members[-1]]) / 2
        position += 0.8
    figure, axes = style.new_figure(width=6.4, height=1.3 + 0.24 * position)
    thick = 0.8 / len(all_series)
    for k, series in enumerate(all_series):
        rows = summary.by_condition(series.table, [panel.name])
        y = np.array([at[panel.values.index(row["value"])] for row in rows]) + thick * (k - (len(all_series) - 1) / 2)
        curve = style.performance_curve(y, rows)
        label = f"{series.label}, n = {curve.n.min():,} to {curve.n.max():,} trials each, 95 % intervals"
        axes.barh(y, curve.value, thick, color=series.colour, alpha=0.55, label=label)
        axes.errorbar(curve.value, y, xerr=style.spread(curve), fmt="none", color="black", linewidth=0.8)
    for parameters, line, name in ((panel.ceiling, "-", "ceiling"), (panel.chance, ":", "chance")):
        places = [(at[index], value) for index, value in enumerate(parameters) if value is not None]
        if places:
            y, levels = np.array(places).T
            axes.vlines(levels, y - 0.45, y + 0.45, color="black", linestyle=line, linewidth=1.2, label=name)
    names = [panel.values[index].rpartition(".")[2].removesuffix("-v0") for index in at]  # without collection, version
    axes.set_yticks(list(at.values()), names)
    axes.invert_yaxis()
    for family, middle in middles.items():
        axes.annotate(family, (1.02, middle), xycoords=("axes fraction", "data"), va="center", color=style.GREY)
    axes.set(xlabel="performance", xlim=(0, 1.02), title="performance by task")
    style.legend_below(axes, 3)
    return figure


def _family(task: str) -> str:

    try:
        return str(find_task(task).metadata.get("family", ""))
    except UserError:
        return ""


def _one_answer(view: PlotData) -> None:
    words = wording.Wording(view.properties.labels, view.series[0].table)
    if len(words.actions) != 2 or "fixation" not in words.actions.values():
        raise style.FigureUnavailableError("the task has more than one answer")
    for series in view.parts():
        if len(np.unique(series.table["ground_truth"])) != 2:
            raise style.FigureUnavailableError("an answer is correct in all trials or in none")


@registry.figure(
    "go / no-go: hits, false alarms, d' and reaction times",
    ["go-no-go"],
    columns=("ground_truth", "choice", "outcome", "rt"),
    check=_one_answer,
)
def responses(view: PlotData) -> Figure:
    """Draw the rates of hits and false alarms, and reaction times if variable."""
    all_series = view.parts()
    timed = any(len(np.unique(series.table["rt"][np.isfinite(series.table["rt"])])) > 1 for series in all_series)
    figure, grid = style.new_figure(1, 2 if timed else 1, width=3.8, squeeze=False)
    left = grid[0][0]
    words = wording.Wording(view.properties.labels, all_series[0].table)
    for k, series in enumerate(all_series):
        truths = sorted(np.unique(series.table["ground_truth"]).tolist())
        went = np.nan_to_num(series.table["choice"]) > 0
        rows = [series.table["ground_truth"] == truth for truth in truths]
        offset = style.dodge(k, len(all_series))
        curve = proportion_curve(np.arange(2) + offset, rows[1].astype(int), went, clusters(series.table))
        prime = d_prime(went[rows[1]].sum(), rows[1].sum(), went[rows[0]].sum(), rows[0].sum())
        text = f"{series.label}: d' {prime:.2f}, n = {len(went):,}"
        style.interval_points(left, curve, color=series.colour, label=text)
        times = series.table["rt"][rows[1] & went]
        times = times[np.isfinite(times)]
        if timed and len(times):
            grid[0][1].ecdf(times, color=series.colour)
    style.category_ticks(left, [words.value("ground_truth", truth) for truth in truths])
    since = "the go cue" if "rt_from" not in all_series[0].table else str(all_series[0].table["rt_from"][0])
    left.set(
        ylabel="share of trials with an answer",
        xlabel="correct choice",
        xlim=(-0.5, 1.5),
        ylim=(-0.03, 1.05),
        title="false alarms and hits, 95 % intervals",
    )
    for right in grid[0][1:]:
        right.set(
            xlabel=f"reaction time from {since} (ms)",
            ylabel="share of hits so far",
            ylim=(0, 1.05),
            title="reaction times of hits",
        )
    style.legend_below(left)
    return figure


def of_values(source: Source, name: str, values: Sequence[Any]) -> list[float | None]:
    """Return the ceiling at each value of a condition, None where unknown.

    The result is the ceiling of an agent that knows the condition, an upper limit for all other agents, computed by
    a task that has this value alone. Where trials depend on earlier trials, that would be a different task: None.

    Args:
        source: the run.
        name: column of the condition; ``task`` for the tasks of a session.
        values: values of the condition.
    """
    if name == "task":
        return [source.properties.tasks.get(value, {}).get("ceiling") for value in values]
    argument = _argument(source, name)
    if argument is None or source.properties.history_dependent or source.manifest.get("ceiling") is None:
        return [None] * len(values)
    return [_with(source, argument, value) for value in values]


def _argument(source: Source, name: str) -> str | None:
    """Return the argument of the task that lists the values of a condition: ``cohs`` for ``coh``."""
    parameters = keyword_parameters(find_task(source.config.task).entry) or {}
    return f"{name}s" if f"{name}s" in parameters else None


def _with(source: Source, argument: str, value: object) -> float | None:
    """Return the ceiling of the task with a single value of an argument."""
    changed = source.config.model_copy(update={"task_args": {**source.config.task_args, argument: [value]}})
    try:
        score = ceiling_of(changed)
    except UserError:
        return None
    return None if score is None else float(score["performance"])
