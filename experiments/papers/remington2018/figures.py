"""Produced intervals and the speed of population trajectories in networks with two cued gains."""

from functools import cache

import numpy as np

from neurogym.analysis import Activity, interval_reproduction, path_speed, pca_trajectories
from neurogym.analysis.activity import nan_mean
from neurogym.analysis.trial_tables import numbers, responded, select
from ngym_cli.figures.style import COLOURS, GREY, interval_points, new_figure, shades
from ngym_cli.papers.controls import answered, cut

GAINS = (1.0, 1.5)
#: Principal components in which speed is measured; noise of single units is left out with the others.
COMPONENTS = 4
SHOWN = 3  #: networks with a panel of their own
SCATTER = 0.05  #: of intervals that a control produces, as a share


def _of_gain(table, gain):
    """Interval to be produced and produced interval (ms), both from the onset of the set cue."""
    table = select(table, responded(table) & (table["gain"] == gain))
    return table["production"], table["rt"] + table["period_set"]


def _fit(run, gain):
    return interval_reproduction(*_of_gain(run.trials(), gain), n_boot=0)


def slopes(run):
    """Slope of produced interval on gain times measured interval, at each gain."""
    return {gain: _fit(run, gain).slope.value for gain in GAINS}


def gain_of_production(run):
    """Mean produced interval at gain 1.5 over that at gain 1, of the same measured intervals."""
    means = [_of_gain(run.trials(), gain)[1].mean() for gain in GAINS]
    return means[1] / means[0]


@cache
def _paths(run):
    """Mean trajectory of each gain and measured interval from set to the mean response, along principal components.

    Returns:
        Gains, measured intervals and mean produced intervals (ms), each of shape (conditions,); the trajectories, shape
        (conditions, steps, components), nan after the mean response; and the length of a step (ms).
    """
    recording, table = run.recording("activity"), run.trials("activity")
    activity = Activity(recording["activity"], recording.offsets, recording.dt)
    produced = table["rt"] + table["period_set"]
    rows = []
    for gain in GAINS:
        for measure in np.unique(table["measure"]):
            trials = responded(table) & (table["gain"] == gain) & (table["measure"] == measure)
            rows.append((gain, measure, produced[trials].mean(), trials))
    steps = [round(mean / recording.dt) for _, _, mean, _ in rows]
    aligned = activity.align(recording.events["set"] / recording.dt, stop=max(steps))
    mean = np.stack([_until(nan_mean(aligned[trials]), n) for (*_, trials), n in zip(rows, steps, strict=True)])
    space = pca_trajectories(mean, COMPONENTS)
    gains, measures, times = (np.array([row[k] for row in rows]) for k in range(3))
    return gains, measures, times, space.projection, recording.dt


def _until(path, steps):
    return np.where(np.arange(len(path))[:, None] < steps, path, np.nan)


def _speeds(run):
    """Gain, produced interval (ms) and mean speed, in the middle half of the way, of each condition."""
    gains, _, times, paths, dt = _paths(run)
    middles = [slice(round(0.25 * time / dt), round(0.75 * time / dt)) for time in times]
    speed = [along[middle].mean() for along, middle in zip(path_speed(paths, dt), middles, strict=True)]
    return gains, times, np.array(speed)


def speed_exponent(run):
    """Exponent of speed in the produced interval: -1 where one path is run through faster or slower."""
    _, times, speed = _speeds(run)
    return float(np.polyfit(np.log(times), np.log(speed), 1)[0])


def speed_correlation(run):
    """Correlation of speed with the inverse of the produced interval over the conditions, at each gain."""
    gains, times, speed = _speeds(run)
    return {gain: float(np.corrcoef(speed[gains == gain], 1 / times[gains == gain])[0, 1]) for gain in GAINS}


def separation(run):
    """Distance between the gains at equal produced intervals over that between halves of the trials of a condition.

    States half-way to the response. Each condition of gain 1.5 is held against the one of gain 1 with the nearest
    produced interval, if that is at most a tenth away: intervals alone then hold nothing apart. Distances between the
    gains are between different halves of the trials, so that noise adds as much to these as to the others.

    Raises:
        ValueError: if no two conditions of different gain have the same produced interval.
    """
    gains, _, times, _, dt = _paths(run)
    one, two = np.flatnonzero(gains == GAINS[0]), np.flatnonzero(gains == GAINS[1])
    pairs = [(k, one[np.argmin(np.abs(times[one] - times[k]))]) for k in two]
    pairs = [(a, b) for a, b in pairs if abs(times[a] - times[b]) <= 0.1 * times[b]]
    if not pairs:
        raise ValueError("no conditions of different gain have the same produced interval")
    halves = _halfway(run, times, dt)
    between = np.mean([np.linalg.norm(halves[0][a] - halves[1][b]) for a, b in pairs])
    within = np.mean([np.linalg.norm(halves[0][k] - halves[1][k]) for pair in pairs for k in pair])
    return float(between / within)


def _halfway(run, times, dt):
    """Mean state half-way to the mean response of each condition, of odd and of even trials."""
    recording, table = run.recording("activity"), run.trials("activity")
    activity = Activity(recording["activity"], recording.offsets, recording.dt)
    aligned = activity.align(recording.events["set"] / recording.dt, stop=round(max(times) / dt))
    found, odd = [], np.arange(len(table["trial"])) % 2 == 1
    for half in (odd, ~odd):
        states = []
        for k, (gain, measure) in enumerate((g, m) for g in GAINS for m in np.unique(table["measure"])):
            trials = half & responded(table) & (table["gain"] == gain) & (table["measure"] == measure)
            states.append(nan_mean(aligned[trials])[round(0.5 * times[k] / dt)])
        found.append(np.stack(states))
    return found


def control_copier(run):
    """What is produced is the gain times the measured interval, with a scatter of a twentieth and without a bias."""
    return answered(run, lambda table: {**table, "rt": _copied(table, numbers(table["gain"]))})


def control_one_gain(run):
    """What is produced is the measured interval at both gains, with a scatter of a twentieth."""
    return answered(run, lambda table: {**table, "rt": _copied(table, 1.0)})


def control_no_gain(run):
    """The trained networks without their input from the cue of the gain."""
    return cut(run, "gain")


def control_no_measure(run):
    """The trained networks without their input from the first cue: no interval is measured."""
    return cut(run, "ready")


def _copied(table, gain):
    scatter = 1 + SCATTER * np.random.default_rng(0).standard_normal(len(table["rt"]))
    return gain * numbers(table["measure"]) * scatter - table["period_set"]


def figure_1_produced_intervals(paper):
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
        axes.legend()
    panels[0][0].set_ylabel("produced interval (ms)")
    return figure


def _over(curve, gain):
    return type(curve)(curve.x / gain, curve.value, curve.low, curve.high, curve.n)


def figure_6_trajectories_and_speed(paper):
    """Left: mean trajectories of the first network from the set cue to the response along the first two principal
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
    plane.legend()
    for run in networks:
        gains, times, speed = _speeds(run)
        speed = speed / np.exp(np.mean(np.log(speed)))
        for gain, colour in zip(GAINS, COLOURS, strict=False):
            rows = gains == gain
            label = f"gain {gain:g}" if run is networks[0] else None
            marker = "o" if gain == GAINS[0] else "s"
            speeds.plot(times[rows], speed[rows], marker, color=colour, markersize=4, label=label)
    ends = np.array(speeds.get_xlim())
    smooth = np.linspace(*ends, 100)
    speeds.plot(smooth, np.exp(np.mean(np.log(times))) / smooth, color=GREY, zorder=0, label="inverse of the interval")
    speeds.set(xlabel="produced interval (ms)", ylabel="speed over its mean", title="speed, all networks")
    speeds.legend()
    return figure
