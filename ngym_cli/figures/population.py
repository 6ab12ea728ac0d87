"""Population activity aligned to an event of the trial: averages by condition, trajectories, decoding, selectivity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from neurogym.analysis.activity import PSTH, Activity
from neurogym.analysis.activity import psth as averaged
from neurogym.analysis.decoding import decode
from neurogym.analysis.intervals import clusters
from neurogym.analysis.selectivity import selectivity_table
from neurogym.analysis.trajectories import pca_trajectories
from neurogym.analysis.trial_tables import Table, numbers, select
from ngym_cli.config.values import Scalar
from ngym_cli.figures import registry, style
from ngym_cli.figures.source import Series
from ngym_cli.figures.view import PlotData
from ngym_cli.figures.wording import Wording, short

#: Events, besides periods, to which activity is aligned.
RESPONSE = "response"

#: Share of trials that must last until the end of the window.
REACHED = 0.5

#: Most trials that population figures analyse.
MOST_ANALYSED = 2_000

#: Fewest trials behind a condition, most conditions that are drawn.
FEWEST, MOST_CONDITIONS = 5, 12

#: Number of trials for a decoder; most units and decoded steps drawn.
MOST_DECODED, MOST_UNITS, MOST_STEPS = 400, 5, 30


@dataclass(frozen=True)
class Population:
    """Activity aligned to an event, with the trials' conditions.

    Attributes:
        activity: the population.
        table: the same trials.
        event: name of the period that the alignment is to; empty: the start of the trial.
        at: step of it in each trial.
        start: first step of the window, relative to the event.
        stop: step after the last one.
        conditions: columns that tell the conditions apart.
    """

    activity: Activity
    table: Table
    event: str
    at: np.ndarray
    start: int
    stop: int
    conditions: dict[str, np.ndarray]

    def aligned(self, trials: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Activity around the event, shape (trials, steps, units)."""
        return np.asarray(self.activity.align(self.at, start=self.start, stop=self.stop)[trials])

    @property
    def time(self) -> np.ndarray:
        """Time of each step from the event, ms."""
        return self.activity.dt * np.arange(self.start, self.stop)


def population(view: PlotData, series: Series | None = None) -> Population:
    """Return the recorded activity of the first run, or of a series, around the stimulus.

    Raises:
        FigureUnavailableError: if there is none.
    """
    series = series or view.recorded
    key = ("population", tuple(evaluated.folder for _, evaluated in series.members), view.by)
    if key not in view.memory or series.rows is not None:  # other rows than those of the evaluations
        recording = series.recording
        values, offsets = recording.first("activity", min(MOST_ANALYSED, len(recording)))
        n = len(offsets) - 1
        table = select(series.table, np.arange(n))
        activity = Activity(values, offsets, recording.dt)
        event = next((name for name in ("stimulus", "stim", "sample", "ready") if name in recording.events), "")
        at = recording.events[event][:n] / recording.dt if event else np.zeros(n)
        stop = max(2, int(np.nanquantile(activity.lengths - at, 1 - REACHED)))
        start = -int(min(np.nanmin(at), max(2, stop // 4)))
        columns = {name: table[name] for name in _conditions(view, table)}
        view.memory[key] = Population(activity, table, event, at, start, stop, columns)
    return view.memory[key]


def _conditions(view: PlotData, table: Table) -> list[str]:
    """Return the columns that split the trials: as requested, else side and strength, else the first condition."""
    if view.by:
        for name in view.by:
            if name not in table:
                raise style.FigureUnavailableError(f"the trials have no column {name}")
        return list(view.by)
    names = [name for name in view.properties.conditions if name in table and table[name].ndim == 1]
    few = [name for name in names if 1 < len(np.unique(table[name].astype(str))) <= MOST_CONDITIONS]
    if "ground_truth" in few and "coh" in few:
        return ["ground_truth", "coh"]
    if few:
        return few[:1]
    return ["choice"] if 1 < len(np.unique(table["choice"])) <= MOST_CONDITIONS else []


def to_response(recorded: Population) -> Population | None:
    """Return the activity around the response.

    Returns:
        None if trials end with the response, contain no response, or all have it at the same step.
    """
    table = recorded.table
    if not {"rt", "rt_from"} <= set(table):
        return None
    onset = np.zeros(len(recorded.activity))
    for period in np.unique(table["rt_from"].astype(str)):
        rows = table["rt_from"].astype(str) == period
        onset[rows] = table[f"onset_{period}"][rows] if f"onset_{period}" in table else 0.0
    at = (onset + table["rt"]) / recorded.activity.dt
    if np.isfinite(at).sum() < FEWEST or np.nanmin(at) == np.nanmax(at):  # else the same picture, moved
        return None
    stop = 1 + int(np.nanmax(np.where(np.isfinite(at), recorded.activity.lengths - 1 - at, 0)))
    start = -min(int(np.nanquantile(at, 1 - REACHED)), recorded.stop - recorded.start)
    stop = min(stop, 1 - start // 4)
    return replace(recorded, event=RESPONSE, at=at, start=start, stop=stop) if stop - start > 1 else None


def _several_steps(view: PlotData) -> None:
    if not view.unrecorded(("activity",)) and int(np.diff(view.recorded.recording.offsets).max(initial=0)) < 2:
        raise style.FigureUnavailableError("every trial is a single step: no course of time to draw")


def _psth(recorded: Population) -> PSTH:
    """Return the averages of the conditions that have enough trials."""
    rows = averaged(recorded.activity, recorded.conditions, recorded.at, start=recorded.start, stop=recorded.stop)
    keep = np.flatnonzero(rows.n.max(axis=1) >= FEWEST)[:MOST_CONDITIONS]
    if not len(keep):
        raise style.FigureUnavailableError(f"no condition has {FEWEST} recorded trials")
    conditions = tuple(rows.conditions[k] for k in keep)
    mean = np.where(rows.n[keep][:, :, None] >= FEWEST, rows.mean[keep], np.nan)
    return PSTH(conditions, rows.time, mean, rows.sem[keep], rows.n[keep])


def condition_styles(conditions: tuple[dict[str, Scalar], ...], words: Wording) -> list[dict[str, Any]]:
    """Return colour and line style of each condition: the last column by shade, the previous column by line style."""
    if not conditions or not conditions[0]:
        return [{"color": style.COLOURS[0], "label": "all trials"} for _ in conditions]
    names = list(conditions[0])
    last, rest = names[-1], names[:-1]
    of_last = [np.inf if c[last] != c[last] else c[last] for c in conditions]  # nan is not equal to itself
    levels = sorted(set(of_last), key=lambda v: (str(type(v)), v))
    remaining = list(dict.fromkeys(tuple(c[name] for name in rest) for c in conditions))
    lines = ("-", "--", ":", "-.")
    if len(remaining) > len(lines):  # more than line styles: a colour for each condition
        levels, remaining = list(range(len(conditions))), [()]
        of_last, rest = levels, []
    colours = style.shades(len(levels)) if len(levels) > 2 else list(style.COLOURS[: len(levels)])
    return [
        {
            "color": colours[levels.index(level)],
            "linestyle": lines[remaining.index(tuple(c[name] for name in rest)) % 4],
            "label": ", ".join(words.phrase(name, c[name]) for name in names),
        }
        for c, level in zip(conditions, of_last, strict=True)
    ]


def _mark_event(axes: Axes, recorded: Population, label: bool = True) -> None:
    axes.axvline(0, color=style.GREY, linestyle="--", linewidth=0.8, zorder=0)
    if label:
        axes.set_xlabel(f"time from {_event_name(recorded.event)} (ms)")


def _event_name(event: str) -> str:
    return event if event == RESPONSE else f"{event} onset" if event else "start of trial"


@registry.figure("mean activity of the most selective units by condition", record=("activity",), check=_several_steps)
def psth(view: PlotData) -> Figure:
    """Draw the mean activity of the most selective units, aligned to the stimulus and to the answer."""
    recorded = population(view)
    aligned = [each for each in (recorded, to_response(recorded)) if each is not None]
    averages = [_psth(each) for each in aligned]
    rows = averages[0]
    spread = np.nanmean(np.nanvar(rows.mean, axis=0), axis=0) if len(rows.mean) > 1 else np.nanvar(rows.mean[0], axis=0)
    units = np.argsort(-spread)[: min(MOST_UNITS, np.count_nonzero(spread))]  # silent units have nothing to show
    if not len(units):
        raise style.FigureUnavailableError("no unit's activity differs between the conditions")
    figure, axes = style.new_figure(
        len(units),
        len(aligned),
        width=3.4 if len(aligned) > 1 else 5.0,
        height=1.5,
        squeeze=False,
        sharex="col",
        sharey="row",
    )
    words = Wording(view.properties.labels, recorded.table)
    for column, (each, average) in enumerate(zip(aligned, averages, strict=True)):
        for position, unit in enumerate(units):
            axis = axes[position][column]
            looks = condition_styles(average.conditions, words)
            for mean, sem, look in zip(average.mean[..., unit], average.sem[..., unit], looks, strict=True):
                style.interval_band(axis, average.time, mean - sem, mean + sem, look["color"])
                axis.plot(average.time, mean, **look)
            _mark_event(axis, each, label=position == len(units) - 1)
        axes[0][column].set_title(f"aligned to the {each.event or 'start'}")
    for position, unit in enumerate(units):
        axes[position][0].set_ylabel(f"unit {unit} (a.u.)")
    figure.suptitle(f"most selective units, mean and s.e.m., n = {len(recorded.activity):,} trials", fontsize="medium")
    style.legend_below(axes[0][0], 1 + len(aligned))
    return figure


@registry.figure("population activity along its principal components", record=("activity",), check=_several_steps)
def trajectories(view: PlotData) -> Figure:
    """Draw condition averages along the principal components, against time and against each other."""
    recorded = population(view)
    rows = _psth(recorded)
    if recorded.activity.n_units < 3:
        raise style.FigureUnavailableError("fewer than three units")
    space = pca_trajectories(rows.mean, 3)
    if not space.explained[1] > 0:
        raise style.FigureUnavailableError("the mean activity varies along fewer than two axes")
    figure, (plane, first, second) = style.new_figure(1, 3, width=3.6)
    words = Wording(view.properties.labels, recorded.table)
    for path, look in zip(space.projection, condition_styles(rows.conditions, words), strict=True):
        finite = np.flatnonzero(np.isfinite(path[:, 0]))
        if not len(finite):
            continue
        plane.plot(path[:, 0], path[:, 1], **look)
        plane.plot(*path[finite[0], :2], "o", color=look["color"], markersize=4)
        for axis, component in ((first, 0), (second, 1)):
            axis.plot(rows.time, path[:, component], **look)
    share = [f"PC{k + 1} ({100 * fraction:.0f} %)" for k, fraction in enumerate(space.explained)]
    plane.set(
        xlabel=share[0], ylabel=share[1], title=f"trajectories (circle: start), n = {len(recorded.activity):,} trials"
    )
    for axis, name in ((first, share[0]), (second, share[1])):
        axis.set(ylabel=f"{name}, a.u.", title=f"along {name.split()[0]}")
        _mark_event(axis, recorded)
    style.legend_below(plane, 3)
    return figure


def _targets(view: PlotData, table: Table) -> dict[str, np.ndarray]:
    """Return the variables to decode: the choice, and the task's conditions with a few values."""
    by_name = {}
    for name in view.by or ("choice", *view.properties.conditions):
        if name not in table or table[name].ndim != 1:
            continue
        values = table[name].astype(str) if table[name].dtype == object else numbers(table[name])
        levels, counts = np.unique(values, return_counts=True)
        if 1 < (counts >= FEWEST).sum() <= MOST_CONDITIONS:
            common = np.isin(values, levels[counts >= FEWEST])
            by_name[name] = np.where(common, values, "nan" if values.dtype.kind == "U" else np.nan)
    return by_name


def _labelled(labels: np.ndarray) -> np.ndarray:
    return labels != "nan" if labels.dtype.kind in "UO" else np.isfinite(labels)


@registry.figure("what can be read from the population at each time", record=("activity",), check=_several_steps)
def decoding(view: PlotData) -> Figure:
    """Draw the cross-validated accuracy of decoding choice and conditions at each time, and the choice across time."""
    recorded = population(view)
    rng = np.random.default_rng(0)
    trials = np.sort(rng.permutation(len(recorded.activity))[:MOST_DECODED])
    activity = recorded.aligned(trials)
    thin = np.arange(0, activity.shape[1], -(-activity.shape[1] // MOST_STEPS))
    activity, time = activity[:, thin], recorded.time[thin]
    targets, sessions = _targets(view, recorded.table), clusters(recorded.table)
    figure, (left, right) = style.new_figure(1, 2, width=4.2)
    across = None
    for (name, labels), colour in zip(list(targets.items())[:4], style.COLOURS, strict=False):
        chosen = labels[trials]
        finite = _labelled(chosen)
        try:
            groups = None if sessions is None else sessions[trials][finite]
            result = decode(activity[finite], chosen[finite], across_time=across is None, folds=3, groups=groups)
        except ModuleNotFoundError as error:
            raise style.FigureUnavailableError(str(error)) from None
        except ValueError:
            continue
        low, value, high = result.low, result.accuracy, result.high
        if across is None:
            low, value, high = np.diag(low), np.diag(value), np.diag(high)
        across = (name, result.accuracy) if across is None else across
        style.interval_band(left, time, low, high, colour)
        label = f"{short(name)}, {len(result.classes)} classes, n = {int(finite.sum()):,}"
        left.plot(time, value, color=colour, label=label + (", corrected for drift" if result.corrected else ""))
        left.axhline(result.chance, color=colour, linestyle=":", linewidth=0.8, zorder=0)
    if across is None:
        raise style.FigureUnavailableError("nothing to decode: no choice or condition takes a few values often enough")
    _mark_event(left, recorded)
    left.set(
        ylabel="balanced accuracy (held-out trials)", ylim=(0, 1.05), title="decoding, 95 % interval; dotted: chance"
    )
    style.legend_below(left)
    image = right.pcolormesh(time, time, across[1], cmap="cividis", vmin=0, vmax=1, rasterized=True)
    figure.colorbar(image, ax=right, label="accuracy")
    right.set(xlabel="tested at (ms)", ylabel="trained at (ms)", title=f"{short(across[0])} across time")
    return figure


@registry.figure("share of units selective to each task variable", record=("activity",))
def selectivity(view: PlotData) -> Figure:
    """Draw the share of units selective for each task variable, and the mixture of selectivities."""
    recorded = population(view)
    targets = dict(list(_targets(view, recorded.table).items())[:3])
    finite = np.ones(len(recorded.activity), bool)
    for labels in targets.values():
        finite &= _labelled(labels)
    targets = {name: labels[finite] for name, labels in targets.items() if len(np.unique(labels[finite])) > 1}
    if not targets:
        raise style.FigureUnavailableError("no task variable takes a few values often enough")
    rate = recorded.activity.mean_rate(recorded.at, stop=recorded.stop)[finite]
    with style.unavailable_on(ValueError):
        table = selectivity_table(rate, targets)
    figure, (left, right) = style.new_figure(1, 2)
    selective = (table.p < table.alpha).sum(axis=0)
    bars = left.barh(range(len(table.terms)), selective / len(table.p), color=style.COLOURS[0])
    left.bar_label(bars, [f"{count} of {len(table.p)}" for count in selective], padding=2)  # a bar may have no length
    left.set_yticks(range(len(table.terms)), [" x ".join(map(short, term.split(":"))) for term in table.terms])
    left.invert_yaxis()
    left.set(
        xlabel=f"share of {rate.shape[1]} units (p < {table.alpha:g}, corrected)",
        xlim=(0, 1.2),
        title=f"selectivity, n = {int(finite.sum()):,} trials",
    )
    kinds = table.share()
    right.bar(range(len(kinds)), list(kinds.values()), color=[style.GREY, *style.COLOURS[:3]])
    style.category_ticks(right, [kind.replace(" ", "\n") for kind in kinds])
    right.set(ylabel="share of units", ylim=(0, 1.02), title="pure and mixed selectivity")
    return figure
