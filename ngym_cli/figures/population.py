"""Population activity aligned to an event of the trial: averages by condition, trajectories, decoding, selectivity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from neurogym.analysis.activity import PSTH, Activity
from neurogym.analysis.activity import psth as averaged
from neurogym.analysis.decoding import Decoding, decode
from neurogym.analysis.intervals import clusters
from neurogym.analysis.selectivity import selectivity_table
from neurogym.analysis.trajectories import pca_trajectories
from neurogym.analysis.trial_tables import Table, select
from ngym_cli.config.values import Scalar
from ngym_cli.figures import registry, style, time_axis
from ngym_cli.figures.source import Series
from ngym_cli.figures.view import PlotData
from ngym_cli.figures.wording import Wording, short
from ngym_cli.runs.conditions import Conditions, columns_by_default, conditions_of, n_values

#: Share of trials that must last until the end of the window.
REACHED = 0.5

#: Most trials that population figures analyse.
MOST_ANALYSED = 2_000

#: Fewest trials behind a condition, most conditions that are drawn.
FEWEST, MOST_CONDITIONS = 5, 12

#: Number of trials for a decoder; most units and decoded steps drawn, most variables that are decoded or tested.
MOST_DECODED, MOST_UNITS, MOST_STEPS, MOST_VARIABLES = 400, 5, 30, 4


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
        conditions: conditions of the trials.
    """

    activity: Activity
    table: Table
    event: str
    at: np.ndarray
    start: int
    stop: int
    conditions: Conditions

    def aligned(self, trials: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Activity around the event, shape (trials, steps, units)."""
        return np.asarray(self.activity.align(self.at, start=self.start, stop=self.stop)[trials])

    @property
    def time(self) -> np.ndarray:
        """Time of each step from the event, ms."""
        return self.activity.dt * np.arange(self.start, self.stop)

    def draw_time(self, axes: Axes, named: bool = True, labelled: bool = True, title: str = "") -> None:
        """Draw the time axis of a panel: limits, periods, the event, and above it the title."""
        dt = self.activity.dt
        ends = float(self.time[0]), float(self.time[-1]) + dt
        axes.set_xlim(*ends)
        periods = time_axis.spans(self.table, self.at * dt, *ends, dt)
        height = time_axis.draw_spans(axes, periods, named)
        time_axis.label(axes, self.event)
        if not labelled:
            axes.set_xlabel("")
        if title:
            axes.set_title(title, pad=5 + height)


def population(view: PlotData, series: Series | None = None) -> Population:
    """Return the recorded activity of the first run, or of a series, around the first stimulus.

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
        onsets = time_axis.onsets(table)
        event = time_axis.first_event(onsets, table["task"].astype(str))
        at = onsets[event] / recording.dt if event else np.zeros(n)
        stop = max(2, int(np.nanquantile(activity.lengths - at, 1 - REACHED)))
        start = -int(min(np.nanmin(at), max(2, stop // 4)))
        for name in view.by:
            if name not in table:
                raise style.FigureUnavailableError(f"the trials have no column {name}")
        columns = view.by or columns_by_default(view.properties.conditions, table)
        view.memory[key] = Population(activity, table, event, at, start, stop, conditions_of(table, columns))
    return view.memory[key]


def to_decision(recorded: Population) -> Population | None:
    """Return the activity around the response, or around the onset of the decision if responses are not timed.

    Returns:
        None if the decision follows the first event after the same time in all trials: the same picture, moved.
    """
    table, dt = recorded.table, recorded.activity.dt
    if not {"rt", "rt_from"} <= set(table):
        return None
    onset = np.zeros(len(recorded.activity))
    for period in np.unique(table["rt_from"].astype(str)):
        rows = table["rt_from"].astype(str) == period
        onset[rows] = table[f"onset_{period}"][rows] if f"onset_{period}" in table else 0.0
    timed = np.nanmax(table["rt"], initial=0) > np.nanmin(table["rt"], initial=0)
    event = time_axis.RESPONSE if timed else str(table["rt_from"][0])
    at = (onset + (table["rt"] if timed else 0.0)) / dt
    after = (at - recorded.at)[np.isfinite(at)]
    if len(after) < FEWEST or after.min() == after.max():
        return None
    stop = 1 + int(np.nanmax(np.where(np.isfinite(at), recorded.activity.lengths - 1 - at, 0)))
    start = -min(int(np.nanquantile(at, 1 - REACHED)), recorded.stop - recorded.start)
    stop = min(stop, 1 - start // 4)
    return replace(recorded, event=event, at=at, start=start, stop=stop) if stop - start > 1 else None


def _several_steps(view: PlotData) -> None:
    if not view.unrecorded(("activity",)) and int(np.diff(view.recorded.recording.offsets).max(initial=0)) < 2:
        raise style.FigureUnavailableError(time_axis.NO_TIME)


def _psth(recorded: Population) -> PSTH:
    """Return the averages of the conditions that have enough trials."""
    index = recorded.conditions.index
    rows = averaged(recorded.activity, {"": index}, recorded.at, start=recorded.start, stop=recorded.stop)
    codes = np.array([row[""] for row in rows.conditions]).astype(int)
    keep = np.flatnonzero((rows.n.max(axis=1) >= FEWEST) & (codes >= 0))[:MOST_CONDITIONS]
    if not len(keep):
        raise style.FigureUnavailableError(f"no condition has {FEWEST} recorded trials")
    conditions = tuple(recorded.conditions.levels[codes[k]] for k in keep)
    mean = np.where(rows.n[keep][:, :, None] >= FEWEST, rows.mean[keep], np.nan)
    return PSTH(conditions, rows.time, mean, rows.sem[keep], rows.n[keep])


def condition_styles(conditions: tuple[dict[str, Scalar], ...], words: Wording) -> list[dict[str, Any]]:
    """Return colour and line style of each condition: the last column by shade, the previous column by line style."""
    if not conditions or not any(conditions):
        return [{"color": style.COLOURS[0], "label": "all trials"} for _ in conditions]
    names = max((list(condition) for condition in conditions), key=len)
    last, rest = names[-1], names[:-1]
    of_last = [np.inf if c[last] != c[last] else c[last] for c in conditions]  # nan is not equal to itself
    levels = list(dict.fromkeys(of_last))
    if not any(isinstance(level, str) for level in levels):  # ranges are in order
        levels.sort()
    remaining = list(dict.fromkeys(tuple(c.get(name) for name in rest) for c in conditions))
    remaining.sort(key=lambda values: None in values)  # without a side last
    lines = ("-", "--", ":", "-.")
    if len(remaining) > len(lines):  # more than line styles: a colour for each condition
        levels, remaining = list(range(len(conditions))), [()]
        of_last, rest = levels, []
    colours = style.shades(len(levels)) if len(levels) > 2 else list(style.COLOURS[: len(levels)])
    return [
        {
            "color": colours[levels.index(level)],
            "linestyle": lines[remaining.index(tuple(c.get(name) for name in rest)) % 4],
            "label": ", ".join(words.phrase(name, value) for name, value in c.items()),
        }
        for c, level in zip(conditions, of_last, strict=True)
    ]


@registry.figure("mean activity of the most selective units by condition", record=("activity",), check=_several_steps)
def psth(view: PlotData) -> Figure:
    """Draw the mean activity of the most selective units, aligned to the first stimulus and to the decision."""
    recorded = population(view)
    aligned = [each for each in (recorded, to_decision(recorded)) if each is not None]
    averages = [_psth(each) for each in aligned]
    rows = averages[0]
    spread = np.nanmean(np.nanvar(rows.mean, axis=0), axis=0) if len(rows.mean) > 1 else np.nanvar(rows.mean[0], axis=0)
    units = np.argsort(-spread)[: min(MOST_UNITS, np.count_nonzero(spread))]  # silent units have nothing to show
    if not len(units):
        raise style.FigureUnavailableError("no unit's activity differs between the conditions")
    figure, axes = style.new_figure(
        len(units),
        len(aligned),
        width=3.8 if len(aligned) > 1 else 6.0,
        height=1.5,
        squeeze=False,
        sharex="col",
        sharey="row",
    )
    words = Wording(view.properties.labels, recorded.table)
    shown = [c for c in recorded.conditions.levels if any(c in average.conditions for average in averages)]
    styles = condition_styles(tuple(shown), words)
    for column, (each, average) in enumerate(zip(aligned, averages, strict=True)):
        looks = [styles[shown.index(condition)] for condition in average.conditions]
        for position, unit in enumerate(units):
            axis = axes[position][column]
            for mean, sem, look in zip(average.mean[..., unit], average.sem[..., unit], looks, strict=True):
                style.interval_band(axis, average.time, mean - sem, mean + sem, look["color"])
                axis.plot(average.time, mean, **look)
            title = f"aligned to the {each.event or 'start'}" if position == 0 else ""
            each.draw_time(axis, position == 0, position == len(units) - 1, title)
            if column == 0:
                axis.set_ylabel(f"unit {unit} (a.u.)")
    figure.suptitle(f"most selective units, mean and s.e.m., n = {len(recorded.activity):,} trials", fontsize="medium")
    fullest = int(np.argmax([len(average.conditions) for average in averages]))
    style.legend_below(axes[0][fullest], 1 + len(aligned))
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
        axis.set_ylabel(f"{name}, a.u.")
        recorded.draw_time(axis, title=f"along {name.split()[0]}")
    style.legend_below(plane, 3)
    return figure


def _targets(view: PlotData, recorded: Population) -> dict[str, Conditions]:
    """Return the variables that are decoded or tested: conditions, choice, and what else the task varies."""
    table = recorded.table
    names = view.by or (*recorded.conditions.names, "choice", *view.properties.conditions)
    found = {name: conditions_of(table, [name]).at_least(FEWEST) for name in names if n_values(table, name)}
    varied: dict[str, Conditions] = {}
    for name, each in found.items():
        same = [other for other in varied.values() if np.array_equal(other.index, each.index)]
        if 1 < len(each.levels) <= MOST_CONDITIONS and not same:  # as choice and what is right without any error
            varied[name] = each
    return dict(list(varied.items())[:MOST_VARIABLES])


def _sampled(recorded: Population, trials: np.ndarray | slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
    """Return the activity of trials at `MOST_STEPS` steps at most, and the times of these steps (ms)."""
    activity = recorded.aligned(trials)
    steps = np.arange(0, activity.shape[1], -(-activity.shape[1] // MOST_STEPS))
    return activity[:, steps], recorded.time[steps]


@registry.figure("what can be read from the population at each time", record=("activity",), check=_several_steps)
def decoding(view: PlotData) -> Figure:
    """Draw the cross-validated accuracy of decoding conditions and choice at each time, and the first across time."""
    recorded = population(view)
    rng = np.random.default_rng(0)
    trials = np.sort(rng.permutation(len(recorded.activity))[:MOST_DECODED])
    activity, time = _sampled(recorded, trials)
    sessions = clusters(recorded.table)
    figure, (left, right) = style.new_figure(1, 2, width=4.2)
    across: tuple[str, Decoding] | None = None
    for (name, target), colour in zip(_targets(view, recorded).items(), style.COLOURS, strict=False):
        index = target.index[trials]
        rows = index >= 0
        try:
            groups = None if sessions is None else sessions[trials][rows]
            result = decode(activity[rows], index[rows], across_time=across is None, folds=3, groups=groups)
        except ModuleNotFoundError as error:
            raise style.FigureUnavailableError(str(error)) from None
        except ValueError:
            continue
        low, value, high = result.low, result.accuracy, result.high
        if across is None:
            low, value, high, across = np.diag(low), np.diag(value), np.diag(high), (name, result)
        low, high = (np.where(np.isfinite(value), end, np.nan) for end in (low, high))
        style.interval_band(left, time, low, high, colour)
        words = f"{short(name)}, {len(result.classes)} classes, chance {result.chance:.2f}, n = {int(rows.sum()):,}"
        left.plot(time, value, color=colour, label=words + (", corrected for drift" if result.corrected else ""))
        left.axhline(result.chance, color=colour, linestyle=":", linewidth=0.8, zorder=0)
    if across is None:
        raise style.FigureUnavailableError("nothing to decode: no choice or condition takes a few values often enough")
    recorded.draw_time(left, title="decoding, 95 % interval; dotted: chance")
    left.set(ylabel="balanced accuracy", ylim=(0, 1.05))
    style.legend_below(left)
    recorded.draw_time(right, title=f"{short(across[0])} across time")
    _draw_across(right, time, across[1])
    return figure


def _draw_across(axes: Axes, time: np.ndarray, result: Decoding) -> None:
    """Draw the accuracy of decoders that are trained at one time and tested at another, from chance upwards."""
    image = axes.pcolormesh(time, time, result.accuracy, cmap="cividis", vmin=result.chance, vmax=1, rasterized=True)
    bar = style.figure_of(axes).colorbar(image, ax=axes, label="balanced accuracy", extend="min")
    ticks = [tick for tick in (0.25, 0.5, 0.75, 1) if tick - result.chance > 0.1]
    bar.set_ticks([result.chance, *ticks], labels=[f"chance\n{result.chance:.2f}", *(f"{tick:g}" for tick in ticks)])
    axes.set(xlabel="tested at (ms)", ylabel="trained at (ms)")


@registry.figure("share of units selective to each task variable", record=("activity",))
def selectivity(view: PlotData) -> Figure:
    """Draw the share of units selective for each task variable at each time, and the mixture of selectivities."""
    recorded = population(view)
    targets = dict(list(_targets(view, recorded).items())[:3])
    rows = np.ones(len(recorded.activity), bool)
    for target in targets.values():
        rows &= target.index >= 0
    variables = {name: target.index[rows] for name, target in targets.items() if len(np.unique(target.index[rows])) > 1}
    if not variables:
        raise style.FigureUnavailableError("no task variable takes a few values often enough")
    with style.unavailable_on(ValueError):
        table = selectivity_table(recorded.activity.mean_rate(recorded.at, stop=recorded.stop)[rows], variables)
    figure, (left, right) = style.new_figure(1, 2)
    activity, time = _sampled(recorded, rows)
    shares = _shares(activity, variables)
    for k, (name, colour) in enumerate(zip(variables, style.COLOURS, strict=False)):
        selective = int((table.p[:, k] < table.alpha).sum())
        words = f"{short(name)}, {selective} of {len(table.p)} units over the whole window"
        left.plot(time, shares[:, k], color=colour, label=words, marker="." if len(time) < 3 else "")
    recorded.draw_time(left, title=f"selective units (p < {table.alpha:g}, corrected), n = {int(rows.sum()):,} trials")
    left.set(ylabel="share of units", ylim=(-0.02, 1.05))
    style.legend_below(left)
    kinds = table.share()
    right.bar(range(len(kinds)), list(kinds.values()), color=[style.GREY, *style.COLOURS[:3]])
    style.category_ticks(right, [kind.replace(" ", "\n") for kind in kinds])
    right.set(ylabel="share of units", ylim=(0, 1.02), title="pure and mixed selectivity, whole window")
    return figure


def _shares(activity: np.ndarray, variables: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the share of units selective for each variable at each step, shape (steps, variables)."""
    shares = np.full((activity.shape[1], len(variables)), np.nan)
    for step in range(activity.shape[1]):
        try:
            table = selectivity_table(activity[:, step], variables)
        except ValueError:  # at the end of the window only trials of one value may be left
            continue
        shares[step] = np.mean(table.p[:, : len(variables)] < table.alpha, axis=0)
    return shares
