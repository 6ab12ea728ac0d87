"""Produced intervals, states at set and the speed of trajectories in networks with two cued gains."""

from functools import cache

import numpy as np

from neurogym.analysis import Activity, interval_reproduction, path_speed, pca_trajectories
from neurogym.analysis.activity import nan_mean
from neurogym.analysis.results import UndeterminedError
from neurogym.analysis.trial_tables import numbers, responded, select
from ngym_cli.figures.style import COLOURS, GREY, interval_points, legend_below, new_figure, shades
from ngym_cli.papers.controls import answered, cut
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

GAINS = (1.0, 1.5)
#: Principal components in which speed is measured; noise of single units is left out with the others.
COMPONENTS = 4
READ = 10  #: principal components of the states at set
SHOWN = 3  #: networks with a panel of their own
SCATTER = 0.05  #: of intervals that a control produces, as a share


def _of_gain(table, gain):
    """Interval to be produced and produced interval (ms), both from the onset of the set pulse.

    Raises:
        UndeterminedError: if no trial is answered.
    """
    table = select(table, responded(table) & (table["gain"] == gain))
    if not len(table["rt"]):
        raise UndeterminedError(f"no trial at gain {gain:g} is answered")
    return numbers(table["production"]), numbers(table["rt"])


def _fit(run: PaperRun, gain):
    return interval_reproduction(*_of_gain(run.trials(), gain), n_boot=0)


def slopes(run: PaperRun):
    """Slope of produced interval on gain times measured interval, at each gain."""
    return {gain: _fit(run, gain).slope.value for gain in GAINS}


def gain_of_production(run: PaperRun):
    """Mean produced interval at gain 1.5 over that at gain 1, of the same measured intervals."""
    means = [_of_gain(run.trials(), gain)[1].mean() for gain in GAINS]
    return means[1] / means[0]


def _recorded(run: PaperRun):
    """Trials with recorded activity, the recording, and its activity."""
    recording = run.recording("activity")
    return run.trials("activity"), recording, Activity(recording["activity"], recording.offsets, recording.dt)


@cache
def _paths(run: PaperRun):
    """Mean trajectory of each gain and measured interval from set to the mean response, along principal components.

    Returns:
        Gains, measured intervals and mean produced intervals (ms), each of shape (conditions,); the trajectories, shape
        (conditions, steps, components), nan after the mean response; and the length of a step (ms).

    Raises:
        UndeterminedError: if trials of a condition are never answered.
    """
    table, recording, activity = _recorded(run)
    produced = numbers(table["rt"])
    rows = []
    for gain in GAINS:
        for measure in np.unique(table["measure"]):
            trials = responded(table) & (table["gain"] == gain) & (table["measure"] == measure)
            if not trials.any():
                raise UndeterminedError(f"no trial of {measure:g} ms at gain {gain:g} is answered")
            rows.append((gain, measure, produced[trials].mean(), trials))
    steps = [round(mean / recording.dt) for _, _, mean, _ in rows]
    aligned = activity.align(recording.events["set"] / recording.dt, stop=max(steps))
    mean = np.stack([_until(nan_mean(aligned[trials]), n) for (*_, trials), n in zip(rows, steps, strict=True)])
    space = pca_trajectories(mean, COMPONENTS)
    gains, measures, times = (np.array([row[k] for row in rows]) for k in range(3))
    return gains, measures, times, space.projection, recording.dt


def _until(path, steps):
    return np.where(np.arange(len(path))[:, None] < steps, path, np.nan)


def _speeds(run: PaperRun):
    """Gain, produced interval (ms) and mean speed, in the middle half of the way, of each condition."""
    gains, _, times, paths, dt = _paths(run)
    middles = [slice(round(0.25 * time / dt), round(0.75 * time / dt)) for time in times]
    speed = [along[middle].mean() for along, middle in zip(path_speed(paths, dt), middles, strict=True)]
    return gains, times, np.array(speed)


def speed_exponent(run: PaperRun):
    """Exponent of speed in the produced interval: -1 where one path is run through faster or slower."""
    _, times, speed = _speeds(run)
    return float(np.polyfit(np.log(times), np.log(speed), 1)[0])


def speed_correlation(run: PaperRun):
    """Correlation of speed with the inverse of the produced interval over the conditions, at each gain."""
    gains, times, speed = _speeds(run)
    return {gain: float(np.corrcoef(speed[gains == gain], 1 / times[gains == gain])[0, 1]) for gain in GAINS}


def kinet(run: PaperRun):
    """Exponent of relative speed in relative interval at each gain, by the nearest states of a reference.

    The reference is the trajectory of the middle interval. To its states between a quarter and three quarters of the
    way the nearest states of each other trajectory are found; how much later or earlier these come, per unit of time
    on the reference, is that trajectory's time relative to the reference. 1: one path, run through at the speed that
    the interval asks for; 0: one path at one speed, left earlier or later.

    Raises:
        UndeterminedError: if a trajectory passes the reference in the other direction.
    """
    gains, _, times, paths, dt = _paths(run)
    results = {}
    for gain in GAINS:
        of = np.flatnonzero(gains == gain)
        reference = of[len(of) // 2]
        window = np.arange(round(0.25 * times[reference] / dt), round(0.75 * times[reference] / dt))
        states = paths[reference][window]
        pace = []
        for k in of:
            distances = np.linalg.norm(states[:, None] - paths[k][None], axis=2)
            nearest = np.nanargmin(distances, axis=1)
            pace.append(np.polyfit(window, nearest, 1)[0])
        if min(pace) <= 0:
            raise UndeterminedError("a trajectory passes the reference in the other direction")
        results[gain] = float(np.polyfit(np.log(times[of] / times[reference]), np.log(pace), 1)[0])
    return results


def initial_conditions(run: PaperRun):
    """Correlation of produced intervals with a readout of the states at the set pulse in trials left out, each gain.

    The readout is linear, of ten principal components of the states, fitted to one half of the trials.

    Raises:
        UndeterminedError: if hardly any trial of a gain is answered.
    """
    table, recording, activity = _recorded(run)
    state = activity.align(recording.events["set"] / recording.dt, start=-1, stop=0)[:, 0]
    produced, slopes = numbers(table["rt"]), {}
    for gain in GAINS:
        rows = np.flatnonzero(responded(table) & (table["gain"] == gain))
        if len(rows) < 100:
            raise UndeterminedError(f"at gain {gain:g} hardly any trial is answered")
        of = state[rows] - state[rows].mean(axis=0)
        read = np.column_stack([of @ np.linalg.svd(of, full_matrices=False)[2][:READ].T, np.ones(len(rows))])
        weights = np.linalg.lstsq(read[::2], produced[rows][::2], rcond=None)[0]
        slopes[gain] = float(np.corrcoef(read[1::2] @ weights, produced[rows][1::2])[0, 1])
    return slopes


def separation(run: PaperRun):
    """Distance between the gains at equal produced intervals over that between halves of the trials of a condition.

    States half-way to the response. Each condition of gain 1.5 is held against the one of gain 1 with the nearest
    produced interval, if that is at most a tenth away: intervals alone then hold nothing apart. Distances between the
    gains are between different halves of the trials, so that noise adds as much to these as to the others.

    Raises:
        UndeterminedError: if no two conditions of different gain have the same produced interval.
    """
    gains, _, times, _, dt = _paths(run)
    first, two = np.flatnonzero(gains == GAINS[0]), np.flatnonzero(gains == GAINS[1])
    pairs = [(k, first[np.argmin(np.abs(times[first] - times[k]))]) for k in two]
    pairs = [(a, b) for a, b in pairs if abs(times[a] - times[b]) <= 0.1 * times[b]]
    if not pairs:
        raise UndeterminedError("no conditions of different gain have the same produced interval")
    halves = _halfway(run, times, dt)
    between = np.mean([np.linalg.norm(halves[0][a] - halves[1][b]) for a, b in pairs])
    within = np.mean([np.linalg.norm(halves[0][k] - halves[1][k]) for pair in pairs for k in pair])
    return float(between / within)


def _halfway(run: PaperRun, times, dt):
    """Mean state half-way to the mean response of each condition, of odd and of even trials."""
    table, recording, activity = _recorded(run)
    aligned = activity.align(recording.events["set"] / recording.dt, stop=round(max(times) / dt))
    result, odd = [], np.arange(len(table["trial"])) % 2 == 1
    for half in (odd, ~odd):
        states = []
        for k, (gain, measure) in enumerate((g, m) for g in GAINS for m in np.unique(table["measure"])):
            trials = half & responded(table) & (table["gain"] == gain) & (table["measure"] == measure)
            states.append(nan_mean(aligned[trials])[round(0.5 * times[k] / dt)])
        result.append(np.stack(states))
    return result


def control_copier(run: PaperRun):
    """What is produced is the gain times the measured interval, with a scatter of a twentieth and without a bias."""
    return answered(run, lambda table: {**table, "rt": _copied(table, numbers(table["gain"]))})


def control_one_gain(run: PaperRun):
    """What is produced is the measured interval at both gains, with a scatter of a twentieth."""
    return answered(run, lambda table: {**table, "rt": _copied(table, 1.0)})


def control_no_gain(run: PaperRun):
    """The trained networks without their input from the cue of the gain."""
    return cut(run, "context")


def _copied(table, gain):
    scatter = 1 + SCATTER * np.random.default_rng(0).standard_normal(len(table["rt"]))
    return gain * numbers(table["measured"]) * scatter


def figure_1_produced_intervals(paper: PaperRuns):
    """Produced interval by measured interval at both gains, a panel for each of the first networks: means with 95 %
    intervals. Dashed: the measured interval times the gain. Lines that are flatter than that regress to the mean.
    """
    networks = paper.runs("gains")[:SHOWN]
    figure, panels = new_figure(1, len(networks), width=2.9, squeeze=False, sharey=True)
    for axes, run in zip(panels[0], networks, strict=True):
        for gain, colour in zip(GAINS, COLOURS, strict=False):
            curve = _fit(run, gain).produced
            label = f"gain {gain:g}, slope {slopes(run)[gain]:.2f}"
            target = np.array(curve.x)
            interval_points(axes, _over(curve, gain), color=colour, fmt="o-", label=label)
            axes.plot(target / gain, target, color=colour, linestyle="--", linewidth=0.8)
        axes.set(xlabel="measured interval (ms)", title=f"seed {run.seed}")
        legend_below(axes)
    panels[0][0].set_ylabel("produced interval (ms)")
    return figure


def _over(curve, gain):
    return type(curve)(curve.x / gain, curve.value, curve.low, curve.high, curve.n)


def figure_6_trajectories_and_speed(paper: PaperRuns):
    """Left: mean trajectories of the first network from the set pulse to the response along the first two principal
    components, darker for longer measured intervals; dots mark each 200 ms. Right: mean speed of each condition of all
    networks, over the mean of the network, in the middle half of the way, by produced interval. Points fall along the
    grey line where one path is run through at another speed.
    """
    networks = paper.runs("gains")
    figure, (plane, speeds) = new_figure(1, 2, width=4.0)
    gains, measures, times, paths, dt = _paths(networks[0])
    colours = dict(zip(np.unique(measures), shades(len(np.unique(measures))), strict=True))
    for gain, measure, path in zip(gains, measures, paths, strict=True):
        line = "-" if gain == GAINS[0] else "--"
        plane.plot(path[:, 0], path[:, 1], line, color=colours[measure], linewidth=1.2)
        every = path[:: round(200 / dt)]
        plane.plot(every[:, 0], every[:, 1], "o", color=colours[measure], markersize=3)
    for gain, line in zip(GAINS, ("-", "--"), strict=True):
        plane.plot([], [], line, color="black", label=f"gain {gain:g}")
    plane.set(xlabel="PC1", ylabel="PC2", title=f"set to go, seed {networks[0].seed}")
    legend_below(plane, 2)
    for run in networks:
        gains, times, speed = _speeds(run)
        speed = speed / np.exp(np.mean(np.log(speed)))
        for gain, colour in zip(GAINS, COLOURS, strict=False):
            rows = gains == gain
            label = f"gain {gain:g}" if run is networks[0] else None
            marker = "o" if gain == GAINS[0] else "s"
            speeds.plot(times[rows], speed[rows], marker, color=colour, markersize=4, label=label)
    low, high = speeds.get_xlim()
    smooth = np.linspace(low, high, 100)
    speeds.plot(smooth, np.exp(np.mean(np.log(times))) / smooth, color=GREY, zorder=0, label="inverse of the interval")
    speeds.set(xlabel="produced interval (ms)", ylabel="speed over its mean", title="speed, all networks")
    legend_below(speeds, 2)
    return figure
