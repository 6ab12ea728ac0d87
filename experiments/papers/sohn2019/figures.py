"""Produced intervals of networks that know two priors, beside the Bayesian observer of the same measurements."""

import math
from functools import cache

import numpy as np

from neurogym.analysis import Activity, bayesian_reproduction, interval_reproduction
from neurogym.analysis.results import Curve, Estimate, UndeterminedError
from neurogym.analysis.trial_tables import numbers, responded, select
from ngym_cli.figures.style import COLOURS, GREY, interval_points, legend_below, new_figure
from ngym_cli.papers.controls import answered, cut
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

#: Height of the cue of each prior, and the word for it.
PRIORS = {0.3: "short", 0.4: "long"}
SHARED = 800.0  # interval (ms) that occurs under both priors
WEBER, SCATTER = 0.1, 50.0  # noise of the measurements; scatter (ms) of a control
BINS = 9  # of measured intervals, for states at set
BEYOND = 0.1  # by how much of the first and last interval of a prior bins go beyond it: one Weber fraction


def _of_prior(table, cue):
    """Interval and produced interval (ms).

    Raises:
        UndeterminedError: if no trial of an interval is answered.
    """
    table = select(table, np.isclose(numbers(table["cue"]), cue))
    listed, table = np.unique(table["interval"]), select(table, responded(table))
    missing = set(listed.tolist()) - set(table["interval"].tolist())
    if missing or len(listed) < 2:
        words = ", ".join(f"{each:g}" for each in sorted(missing)) or "two intervals"
        raise UndeterminedError(f"under the {PRIORS[cue]} prior no trial of {words} ms is answered")
    return numbers(table["interval"]), numbers(table["rt"])


def slopes(run: PaperRun):
    """Slope of produced on true interval under each prior."""
    return {
        word: interval_reproduction(*_of_prior(run.trials(), cue), n_boot=0).slope.value for cue, word in PRIORS.items()
    }


def centres(run: PaperRun):
    """Interval (ms) that is produced without bias under each prior, where produced intervals regress to a mean.

    Raises:
        UndeterminedError: if produced intervals do not regress: their slope is .95 or more.
    """
    results = {}
    for cue, word in PRIORS.items():
        interval, produced = _of_prior(run.trials(), cue)
        slope, base = np.polyfit(interval, produced, 1)
        if slope >= 0.95:
            raise UndeterminedError(f"what is produced does not regress under the {word} prior: slope {slope:.2f}")
        results[word] = float(base / (1 - slope))
    return results


def scalar_variability(run: PaperRun):
    """Slope of the standard deviation of what is produced on its mean, over the ten pairs of prior and interval."""
    means, deviations = [], []
    for cue in PRIORS:
        interval, produced = _of_prior(run.trials(), cue)
        for each in np.unique(interval):
            means.append(produced[interval == each].mean())
            deviations.append(produced[interval == each].std())
    if np.ptp(means) == 0:
        raise UndeterminedError("all intervals are produced alike, so scatter has nothing to rise with")
    return float(np.polyfit(means, deviations, 1)[0])


def _means(run: PaperRun):
    """Mean produced interval of each prior and interval, and that of the Bayesian observer (ms)."""
    rows = []
    for cue, word in PRIORS.items():
        interval, produced = _of_prior(run.trials(), cue)
        listed = np.unique(interval)
        optimal, _ = bayesian_reproduction(listed, WEBER)
        rows += [(word, t, produced[interval == t].mean(), best) for t, best in zip(listed, optimal, strict=True)]
    return rows


def same_interval(run: PaperRun):
    """Produced interval of 800 ms under the long prior less that under the short one (ms)."""
    produced = {word: mean for word, interval, mean, _ in _means(run) if interval == SHARED}
    return produced["long"] - produced["short"]


def nearer_to_two_priors(run: PaperRun):
    """Distance to the observer of both priors over that to the observer who holds one prior of all intervals.

    Distances are root mean squared differences of mean produced intervals over the ten pairs of prior and interval.
    """
    ours = np.array([mean for *_, mean, _ in _means(run)])
    two = np.array([best for *_, best in _means(run)])
    one_prior = np.array([mean for *_, mean, _ in _means(control_one_prior(run))])
    far = np.mean((ours - one_prior) ** 2)
    return float(np.sqrt(np.mean((ours - two) ** 2) / far)) if far else math.inf


def _biases(run: PaperRun):
    """Biases of the network and of the Bayesian observer (ms), of each pair of prior and interval."""
    rows = _means(run)
    return tuple(np.array([row[k] - row[1] for row in rows]) for k in (2, 3))


def bias_correlation(run: PaperRun):
    """Correlation of the biases with the Bayesian observer's over the ten pairs of prior and interval."""
    return float(np.corrcoef(*_biases(run))[0, 1])


def bias_strength(run: PaperRun):
    """Slope of the network's biases on the observer's: 1 is as strong, 0 none."""
    ours, best = _biases(run)
    return float(np.polyfit(best, ours, 1)[0])


@cache
def _at_set(run: PaperRun):
    """Place of the state at set along the line between its means in the first and the last bin of each prior.

    Returns:
        By prior: measured intervals (ms) and places, of bins.
    """
    recording, table = run.recording("activity"), run.trials("activity")
    activity = Activity(recording["activity"], recording.offsets, recording.dt)
    state = activity.align(recording.events["set"] / recording.dt, start=-1, stop=0)[:, 0]
    results = {}
    for cue, word in PRIORS.items():
        of = np.isclose(numbers(table["cue"]), cue)
        measured, listed = numbers(table["measured"]), np.unique(numbers(table["interval"])[of])
        edges = np.linspace((1 - BEYOND) * listed[0], (1 + BEYOND) * listed[-1], BINS + 1)
        bins = [of & (measured >= low) & (measured <= high) for low, high in zip(edges, edges[1:], strict=False)]
        if not all(rows.any() for rows in bins):
            raise UndeterminedError(f"under the {word} prior a bin of measured intervals holds no trial")
        means = np.stack([state[rows].mean(axis=0) for rows in bins])
        axis = (means[-1] - means[0]) / np.sum((means[-1] - means[0]) ** 2)
        results[word] = np.array([measured[rows].mean() for rows in bins]), (means - means[0]) @ axis
    return results


def compression(run: PaperRun):
    """How fast the state moves along the encoding axis near the ends of each prior, over how fast in its middle."""
    results = {}
    for word, (measured, position) in _at_set(run).items():
        rate, third = np.diff(position) / np.diff(measured), (BINS - 1) // 3
        results[word] = float(np.mean([*rate[:third], *rate[-third:]]) / np.mean(rate[third:-third]))
    return results


def control_one_prior(run: PaperRun):
    """An observer of the same measurements who holds one prior, of all intervals of both."""
    return answered(run, _pooled)


def control_no_cue(run: PaperRun):
    """The trained networks without their input from the cue of the prior."""
    return cut(run, "context")


def control_accurate(run: PaperRun):
    """What is produced is the interval itself, with a scatter of 50 ms at each."""
    return answered(run, lambda table: {**table, "rt": table["interval"] + SCATTER * _normal(len(table["rt"]))})


def _pooled(table):
    listed, position = np.unique(numbers(table["interval"]), return_inverse=True)
    share = np.bincount(position) / len(position)
    best, spread = bayesian_reproduction(listed, WEBER, share)
    return {**table, "rt": best[position] + spread[position] * _normal(len(position))}


def _normal(n):
    return np.random.default_rng(0).standard_normal(n)


def figure_1_bias_to_the_mean_of_each_prior(paper: PaperRuns):
    """Left: mean produced interval by true interval under both priors, all networks with 95 % intervals over networks;
    lines: the Bayesian least-squares observer of the same noisy measurements; dashed: no bias. Right: the biases of
    each network against the observer's. Means that are flatter than the dashed line regress to the middle of their
    prior.
    """
    figure, (left, right) = new_figure(1, 2, width=3.8)
    networks = paper.runs("priors")
    rows = [_means(run) for run in networks]
    ends = [min(row[1] for row in rows[0]), max(row[1] for row in rows[0])]
    left.plot(ends, ends, color=GREY, linestyle="--", linewidth=1, zorder=0)
    for word, colour in zip(PRIORS.values(), COLOURS, strict=False):
        places = [k for k, row in enumerate(rows[0]) if row[0] == word]
        x = np.array([rows[0][k][1] for k in places])
        means = [Estimate.mean([each[k][2] for each in rows]) for k in places]
        curve = Curve.estimates(x, means, [len(networks)] * len(x))
        interval_points(left, curve, color=colour, label=f"{word} prior, {len(networks)} networks")
        left.plot(x, [rows[0][k][3] for k in places], color=colour, label=f"{word} prior, observer")
        for each in rows:
            bias = np.array([[each[k][3] - each[k][1], each[k][2] - each[k][1]] for k in places])
            right.plot(bias[:, 0], bias[:, 1], "o", color=colour, markersize=4)
    limit = 1.1 * max(abs(right.get_xlim()[0]), abs(right.get_ylim()[0]), right.get_xlim()[1], right.get_ylim()[1])
    right.plot([-limit, limit], [-limit, limit], color=GREY, linestyle="--", linewidth=1, zorder=0)
    left.set(xlabel="interval (ms)", ylabel="produced interval (ms)", title="reproduction under two priors")
    right.set(xlabel="bias of the observer (ms)", ylabel="bias of the network (ms)", title="biases, ten conditions")
    legend_below(left, 2)
    return figure


def figure_5_state_at_set(paper: PaperRuns):
    """Place of the population state at the set pulse along the axis from the shortest to the longest measured interval
    of each prior; a line for each network. Dashed: an even spacing, without compression at the ends.
    Lines that are flatter at their ends than in the middle are compressed.
    """
    figure, panels = new_figure(1, 2, width=3.2, sharey=True)
    for axes, word, colour in zip(panels, PRIORS.values(), COLOURS, strict=False):
        for run in paper.runs("priors"):
            measured, position = _at_set(run)[word]
            axes.plot(measured, position, "o-", color=colour, markersize=3, linewidth=1)
        axes.plot(measured[[0, -1]], [0, 1], color=GREY, linestyle="--", linewidth=1)
        axes.set(xlabel="measured interval (ms)", title=f"{word} prior")
    panels[0].set_ylabel("place along the encoding axis")
    return figure
