"""Cued intervals that networks were trained to produce, and intervals beyond these."""

from functools import cache

import numpy as np

from neurogym.analysis import Activity, interval_reproduction, path_speed, pca_trajectories
from neurogym.analysis.activity import nan_mean
from neurogym.analysis.results import UndeterminedError
from neurogym.analysis.trial_tables import numbers, responded, select
from ngym_cli.figures.style import COLOURS, GREY, interval_points, new_figure
from ngym_cli.papers.controls import cut
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

#: Intervals (ms) between which networks were trained; components in which speed is measured.
SHORTEST, LONGEST, COMPONENTS = 800, 1600, 4
PARTS = ("low-rank", "full-rank")


def _produced(run: PaperRun, trained):
    """Interval and produced interval (ms) of trials with trained intervals, or with all others.

    Raises:
        UndeterminedError: if fewer than half of the trials have a response.
    """
    table = run.trials()
    inside = (table["interval"] >= SHORTEST) & (table["interval"] <= LONGEST)
    rows = inside == trained
    if np.mean(responded(table)[rows]) < 0.5:
        raise UndeterminedError("in most trials the output does not reach the threshold")
    table = select(table, rows & responded(table))
    return numbers(table["interval"]), numbers(table["rt"])


def slope_inside(run: PaperRun):
    """Slope of produced on cued interval, trained intervals."""
    return interval_reproduction(*_produced(run, True), n_boot=0).slope.value


def error_beyond(run: PaperRun):
    """Distance of produced from cued interval over the cued one, mean of the intervals beyond the trained ones."""
    interval, produced = _produced(run, False)
    return float(np.mean([abs(produced[interval == each].mean() / each - 1) for each in np.unique(interval)]))


def better_beyond(low: PaperRun, full: PaperRun):
    """Error beyond the trained intervals: full rank less low rank."""
    return error_beyond(full) - error_beyond(low)


@cache
def _paths(run: PaperRun):
    """Mean path from set to the mean response at each interval, along principal components; mean responses (ms)."""
    recording, table = run.recording(), run.trials()
    activity = Activity(recording["activity"], recording.offsets, recording.dt)
    intervals = np.unique(table["interval"])
    trials = [responded(table) & (table["interval"] == interval) for interval in intervals]
    if any(np.mean(responded(table)[table["interval"] == interval]) < 0.5 for interval in intervals):
        raise UndeterminedError("in most trials of an interval the output does not reach the threshold")
    times = np.array([numbers(table["rt"])[rows].mean() for rows in trials])
    steps = [round(time / recording.dt) for time in times]
    aligned = activity.align(recording.events["set"] / recording.dt, stop=max(steps))
    mean = np.full((len(steps), max(steps), aligned.shape[-1]), np.nan)
    for k, (rows, n) in enumerate(zip(trials, steps, strict=True)):
        mean[k, :n] = nan_mean(aligned[rows])[:n]
    return intervals, times, pca_trajectories(mean, COMPONENTS).projection, recording.dt


def _speeds(run: PaperRun):
    """Produced intervals (ms), and mean speed in the middle half of the way, of each interval."""
    _, times, paths, dt = _paths(run)
    middles = [slice(round(0.25 * time / dt), round(0.75 * time / dt)) for time in times]
    speed = [along[middle].mean() for along, middle in zip(path_speed(paths, dt), middles, strict=True)]
    return times, np.array(speed)


def speed_exponent(run: PaperRun):
    """Exponent of speed in the produced interval: -1 where one path is run through faster or slower."""
    times, speed = _speeds(run)
    if np.ptp(times) < 0.1 * times.mean():
        raise UndeterminedError("produced intervals do not differ")
    return float(np.polyfit(np.log(times), np.log(speed), 1)[0])


def control_no_cue(run: PaperRun):
    """The trained networks without their input from the cue: all intervals are alike."""
    return cut(run, "context")


def figure_2_intervals_beyond_training(paper: PaperRuns):
    """Produced by cued interval, a line for each network; grey: intervals of training. Networks of low rank stay near
    the dashed line (what was cued) beyond these.
    """
    figure, panels = new_figure(1, 2, width=3.2, sharey=True)
    for axes, name, colour in zip(panels, PARTS, COLOURS, strict=False):
        for run in paper.runs(name):
            table = run.trials()
            table = select(table, responded(table))
            curve = interval_reproduction(numbers(table["interval"]), numbers(table["rt"]), n_boot=0).produced
            interval_points(axes, curve, fmt="o-", color=colour)
        axes.axvspan(SHORTEST, LONGEST, color=GREY, alpha=0.15, linewidth=0)
        axes.plot([600, 2000], [600, 2000], color=GREY, linestyle="--", linewidth=1)
        axes.set(xlabel="cued interval (ms)", title=paper.config.parts[name].what)
    panels[0].set_ylabel("produced interval (ms)")
    return figure


def figure_4_speed(paper: PaperRuns):
    """Mean speed of the state from set to go by produced interval, over the mean of the network; a line for each
    network of low rank. Along the grey line one path is run through at another speed.
    """
    figure, axes = new_figure(width=4.2)
    for run in paper.runs("low-rank"):
        times, speed = _speeds(run)
        axes.plot(times, speed / np.exp(np.mean(np.log(speed))), "o-", color=COLOURS[0], markersize=4, linewidth=0.8)
    smooth = np.linspace(times.min(), times.max(), 100)
    axes.plot(smooth, np.exp(np.mean(np.log(times))) / smooth, color=GREY, label="inverse of the interval")
    axes.set(xlabel="produced interval (ms)", ylabel="speed over its mean")
    axes.legend()
    return figure
