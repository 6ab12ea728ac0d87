"""Accuracy and reaction time of networks beside those of the monkeys."""

import tomllib
from functools import cache
from pathlib import Path

import numpy as np

from neurogym.analysis import from_trials, load_trials, psychometric_function, rates, reaction_times
from neurogym.analysis.results import UndeterminedError
from neurogym.analysis.trial_tables import is_correct, responded, select
from ngym_cli.figures.style import COLOURS, GREY, new_figure
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

DATA = Path(__file__).resolve().parents[2] / "data" / "roitman_shadlen_2002.csv"
LOW = (3.2, 6.4, 12.8)
#: Where 0 % is drawn on a logarithmic axis.
ZERO = 1.6


@cache
def monkeys():
    """Trials of both monkeys."""
    return load_trials(DATA, tomllib.loads(DATA.with_suffix(".toml").read_text()))


def _times(table):
    """Mean reaction time (ms) at each coherence.

    Raises:
        UndeterminedError: if no trial of a coherence is answered.
    """
    times = {float(row.condition["coh"]): row.mean.value for row in reaction_times(table, "coh") if row.n}
    for coh in np.unique(table["coh"]):
        if float(coh) not in times:
            raise UndeterminedError(f"no trial at coherence {coh:g} % is answered, so there is no reaction time")
    return times


def accuracy(run: PaperRun):
    return {float(row.condition["coh"]): row.accuracy.value for row in rates(run.trials(), "coh")}


def threshold(run: PaperRun):
    return from_trials.psychometric(run.trials(), model="weibull", n_boot=0).threshold.value


def non_decision_time(run: PaperRun):
    """The constant (ms) that brings mean reaction times nearest to the monkeys'."""
    ours, monkey_times = _times(run.trials()), _times(monkeys())
    return float(np.mean([monkey_times[coh] - ours[coh] for coh in monkey_times]))


def reaction_time(run: PaperRun):
    added = non_decision_time(run)
    return {coh: time + added for coh, time in _times(run.trials()).items()}


def reaction_time_ratio(run: PaperRun):
    times = reaction_time(run)
    return times[0.0] / times[51.2]


def error_delay(run: PaperRun):
    """Mean reaction time of errors less that of correct answers (ms) at low coherences."""
    return _error_delay(run.trials())


def _error_delay(table):
    table = select(table, responded(table) & np.isin(table["coh"], LOW))
    right = is_correct(table)
    correct, errors = _times(select(table, right)), _times(select(table, ~right))
    delays = {coh: errors[coh] - correct[coh] for coh in LOW if coh in errors and coh in correct}
    if not delays:
        raise UndeterminedError("at no low coherence are there both correct answers and errors")
    return delays


def figure_3_accuracy_and_time(paper: PaperRuns):
    """Proportion correct and mean reaction time by coherence: our networks and two monkeys. A point is a mean with
    its 95 % interval over networks, or over the trials of both monkeys. To the networks' times one constant is added.
    Networks and monkeys err alike and take longer where motion is weak.
    """
    figure, (left, right) = new_figure(1, 2, width=3.7)
    networks = paper.runs("reaction-time")
    trials, data = paper.trials("reaction-time"), monkeys()
    smooth = np.geomspace(2.4, 60, 200)
    for table, colour in ((data, GREY), (trials, COLOURS[0])):
        fit = from_trials.psychometric(table, model="weibull", n_boot=0)
        values = psychometric_function(smooth, "weibull", fit.threshold.value, fit.slope.value, 0.5, fit.lapse.value)
        left.plot(smooth, values, color=colour)
    for axes, claim in ((left, "accuracy"), (right, "reaction-time-by-coherence")):
        numbers = paper.value(claim)
        cohs = np.array([float(coh) for coh in numbers])
        rows = list(numbers.values())
        half = [0.0 if row["low"] is None else row["high"] - row["value"] for row in rows]
        _points(axes, cohs, [row["value"] for row in rows], half, COLOURS[0], f"{len(networks)} networks", 1.02)
    estimates = [(float(row.condition["coh"]), row.accuracy) for row in rates(data, "coh")]
    times = [(float(row.condition["coh"]), row.mean) for row in reaction_times(data, "coh")]
    for axes, curves in ((left, estimates), (right, times)):
        cohs, each = np.array([coh for coh, _ in curves]), [estimate for _, estimate in curves]
        half = [1.96 * estimate.se for estimate in each]
        _points(axes, cohs, [estimate.value for estimate in each], half, GREY, "two monkeys", 0.98)
    left.set(xlabel="motion coherence (%)", ylabel="proportion correct", title="accuracy", ylim=(0.4, 1.03))
    right.set(xlabel="motion coherence (%)", ylabel="mean reaction time (ms)", title="reaction time", ylim=(300, 950))
    right.legend()
    return figure


def figure_errors_are_slow(paper: PaperRuns):
    """Mean reaction time of errors less that of correct answers at low coherence: each network and the monkeys. Points
    above the line: errors take longer.
    """
    figure, axes = new_figure(1, 1, width=3.7)
    networks = paper.runs("reaction-time")
    for k, run in enumerate(networks):
        delays = error_delay(run)
        label = f"{len(networks)} networks, a line each" if k == 0 else None
        axes.plot(list(delays), list(delays.values()), "o-", color=COLOURS[0], linewidth=0.8, markersize=4, label=label)
    monkey_delays = _error_delay(monkeys())
    axes.plot(list(monkey_delays), list(monkey_delays.values()), "s-", color=GREY, label="two monkeys")
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xticks(LOW, [f"{coh:g}" for coh in LOW])
    axes.minorticks_off()
    axes.set(xlabel="motion coherence (%)", ylabel="errors less correct (ms)")
    axes.legend()
    return figure


def _points(axes, cohs, values, half, colour, label, shift):
    """Draw points with intervals on a logarithmic axis of coherence."""
    places = np.where(cohs > 0, cohs, ZERO) * shift
    axes.errorbar(places, values, half, fmt="o", markersize=4, linewidth=1, color=colour, label=label)
    axes.set_xscale("log")
    axes.set_xticks([ZERO, 3.2, 6.4, 12.8, 25.6, 51.2], ["0", "3.2", "6.4", "12.8", "25.6", "51.2"])
    axes.minorticks_off()
