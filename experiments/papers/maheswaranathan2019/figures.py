"""Fixed points, transitions and geometry of networks of several architectures that hold three bits."""

from functools import cache
from itertools import combinations

import numpy as np

from neurogym.dynamics import connections, svcca_distance
from ngym_cli.agents.dynamics import search_points, visited_states
from ngym_cli.figures.style import COLOURS, category_ticks, new_figure
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

#: Visited states from which points are searched, starts between pairs of stable points, and steps after a pulse.
STARTS, BETWEEN, SETTLED = 512, 7, 500

#: Trials whose activity is compared, and shares of the variance of the components that are compared.
TRIALS = 100


def _name(run: PaperRun):
    config = run.config
    return f"{config.network} {config.units}"


@cache
def _found(run: PaperRun):
    """The network, its fixed points at input 0, the pattern of each point, and the ends of the saddles."""
    observations = np.asarray(run.recording("main")["observations"], float)
    system = run.system
    states, _ = visited_states(system, run.activity("main"), observations)
    points = search_points(system, [states], np.zeros((1, system.inputs)), STARTS, slow=None, between=BETWEEN)
    return system, points, _signs(run, points.points), connections(system, points)[1]


def _signs(run: PaperRun, states):
    """Signs of the outputs in states."""
    return np.sign(run.outputs(states)).astype(int)


def accuracy(*runs: PaperRun):
    """Share of outputs with the right sign."""
    return {_name(run): float(np.mean(run.trials()["performance"])) for run in runs}


def stable_points(*runs: PaperRun):
    """Number of stable points."""
    return {_name(run): float(_found(run)[1].stable.sum()) for run in runs}


def edges(*runs: PaperRun):
    """Number of pairs of patterns that differ in one bit with a saddle between them."""
    shares = {}
    for run in runs:
        _, _, signs, ends = _found(run)
        complete = ends[(ends >= 0).all(axis=1)]
        near = complete[(signs[complete[:, 0]] != signs[complete[:, 1]]).sum(axis=1) == 1]
        shares[_name(run)] = float(len({frozenset((tuple(signs[a]), tuple(signs[b]))) for a, b in near}))
    return shares


def transitions(*runs: PaperRun):
    """Share of the 24 flips of one bit of a stable point that a pulse brings about."""
    counts = {}
    for run in runs:
        system, points, signs, _ = _found(run)
        stable = np.flatnonzero(points.stable)
        right = 0
        for channel in range(system.inputs):
            after = signs[stable].copy()
            after[:, channel] *= -1
            pulse = np.zeros((len(stable), system.inputs))
            pulse[:, channel] = after[:, channel]
            inputs = np.concatenate([pulse[None], np.zeros((SETTLED, *pulse.shape))])
            states = run.states(inputs, points.points[stable])[-1]
            right += int((_signs(run, states) == after).all(axis=1).sum())
        counts[_name(run)] = right / (system.inputs * 2**system.inputs)
    return counts


@cache
def _activity(run: PaperRun, inputs):
    """Hidden activity for inputs that are the same for all networks, shape (steps, units)."""
    trials = np.frombuffer(inputs).reshape(TRIALS, -1, run.system.inputs)
    states = run.states(trials.swapaxes(0, 1))[:, :, : run.units]
    return states.reshape(-1, states.shape[-1])


def _distances(runs):
    """SVCCA distances of all pairs of networks."""
    recording = runs[0].recording("main")
    observations, offsets = recording.first("observations", TRIALS)
    steps = int(np.diff(offsets).min())
    trials = np.stack([observations[a : a + steps] for a in offsets[:-1]]).astype(float)
    activity = [_activity(run, trials.tobytes()) for run in runs]
    distances = np.zeros((len(runs),) * 2)
    for i, j in combinations(range(len(runs)), 2):
        distances[i, j] = distances[j, i] = svcca_distance(activity[i], activity[j])
    return distances


def within_over_between(*runs: PaperRun):
    """Mean distance of networks of one architecture over that of networks of different architectures."""
    distance, cells = _distances(runs), np.array([run.config.network for run in runs])
    pairs = np.triu_indices(len(runs), 1)
    same = cells[pairs[0]] == cells[pairs[1]]
    return float(distance[pairs][same].mean() / distance[pairs][~same].mean())


def figure_2_universality(paper: PaperRuns):
    """Left: SVCCA distances of the activity of all networks for the same inputs, sorted by architecture. Right: number
    of stable points and of edges of the cube of patterns with a saddle, for each network. Dark squares along the
    diagonal: geometry goes with the architecture. Dots at 8 and at 12: the points are the same in all.
    """
    names = [f"{cell}-{units}" for cell in ("rnn", "gru", "lstm") for units in (48, 64)]
    networks = [run for name in names for run in paper.runs(name)]
    figure, (matrix, counts) = new_figure(1, 2, width=4.2, height=3.8)
    image = matrix.imshow(_distances(networks), cmap="cividis", vmin=0)
    figure.colorbar(image, ax=matrix)
    each = len(networks) // len(names)
    middles = np.arange(len(names)) * each + (each - 1) / 2
    matrix.set_xticks(middles, names, rotation=90)
    matrix.set_yticks(middles, names)
    matrix.set_title("1 - mean canonical correlation")
    for claim, colour, label in (("stable", "black", "stable points"), ("cube", COLOURS[0], "edges with a saddle")):
        value = paper.value(claim)
        for position, name in enumerate(names):
            values = value[name.replace("-", " ")]["seeds"]
            counts.plot(
                np.full(len(values), position), values, "o", color=colour, label=label if not position else None
            )
    category_ticks(counts, names)
    counts.set(ylabel="number", ylim=(0, 14), title="topology, a dot for each network")
    counts.legend(loc="upper left", bbox_to_anchor=(0, -0.2))
    return figure
