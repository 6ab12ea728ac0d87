"""Fixed points of networks that hold bits, the patterns that are read out from them, and the saddles between them."""

from functools import cache
from itertools import combinations

import numpy as np

from neurogym.analysis.results import UndeterminedError
from neurogym.dynamics import Plane, connections, find_fixed_points
from ngym_cli.agents.dynamics import search_points, visited_states
from ngym_cli.figures.style import COLOURS, GREY, new_figure
from ngym_cli.papers.paper_runs import PaperRun, PaperRuns

#: Visited states from which points are searched, and starts between pairs of stable points.
STARTS, BETWEEN = 512, 7


@cache
def _found(run: PaperRun):
    """The network, its visited states, its fixed points at input 0, the pattern of each, and the saddles' ends."""
    observations = np.asarray(run.recording("main")["observations"], float)
    system = run.system
    states, _ = visited_states(system, run.activity("main"), observations)
    points = search_points(system, [states], np.zeros((1, system.inputs)), STARTS, slow=None, between=BETWEEN)
    if len(points) > 1:  # a face of the square or cube lies between two saddles, or between two other points
        middles = [points.points[list(pair)].mean(axis=0) for pair in combinations(range(len(points)), 2)]
        starts = np.concatenate([points.points, np.array(middles)])
        points = find_fixed_points(system, starts, np.zeros(system.inputs))
    saddles, ends = connections(system, points)
    return system, states, points, np.sign(run.outputs(points.points)).astype(int), saddles, ends


def _by_part(runs, value):
    return {f"{_found(run)[0].inputs} bits": value(run) for run in runs}


def accuracy(*runs: PaperRun):
    """Share of outputs with the right sign."""
    return _by_part(runs, lambda run: float(np.mean(run.trials()["performance"])))


def stable_points(*runs: PaperRun):
    """Number of stable points."""
    return _by_part(runs, lambda run: float(_found(run)[2].stable.sum()))


def two_unstable(*runs: PaperRun):
    """Number of points with two unstable directions."""
    return _by_part(runs, lambda run: float((_found(run)[2].n_unstable == 2).sum()))


def patterns(*runs: PaperRun):
    """Share of the patterns that are read out from exactly one stable point."""

    def share(run: PaperRun):
        system, _, points, signs, *_ = _found(run)
        _, counts = np.unique(signs[points.stable], axis=0, return_counts=True)
        return float((counts == 1).sum() / 2**system.inputs)

    return _by_part(runs, share)


def _pairs(run: PaperRun):
    """Pairs of patterns at the ends of each saddle that flows to two stable points, and their distance in bits."""
    *_, signs, _, ends = _found(run)
    complete = ends[(ends >= 0).all(axis=1)]
    return complete, (signs[complete[:, 0]] != signs[complete[:, 1]]).sum(axis=1)


def connected_neighbours(*runs: PaperRun):
    """Number of pairs of patterns that differ in one bit with a saddle between them."""

    def count(run: PaperRun):
        signs, (ends, bits) = _found(run)[3], _pairs(run)
        return float(len({frozenset((tuple(signs[a]), tuple(signs[b]))) for a, b in ends[bits == 1]}))

    return _by_part(runs, count)


def mediating(*runs: PaperRun):
    """Share of the saddles of one unstable direction whose two ends are patterns that differ in one bit."""

    def share(run: PaperRun):
        saddles, (_, bits) = _found(run)[4], _pairs(run)
        if not len(saddles):
            raise UndeterminedError("no saddle has one unstable direction")
        return float((bits == 1).sum() / len(saddles))

    return _by_part(runs, share)


def figure_5_points(paper: PaperRuns):
    """Fixed points of one network of each kind at input 0 and the paths of thirty trials along the first two principal
    components: stable points (filled), saddles of one unstable direction (open) with lines to the two stable points to
    which they flow, and points of more unstable directions (crosses). Stable points are the corners of a square or a
    cube, and saddles lie on its edges.
    """
    figure, panels = new_figure(1, 2, width=4.0, height=3.8)
    for axes, name in zip(panels, ("bits-2", "bits-3"), strict=True):
        run = paper.runs(name)[0]
        _, states, points, _, saddles, ends = _found(run)
        plane = Plane.principal(states)
        steps = int(np.diff(run.recording("main").offsets)[0])
        for path in plane.project(states[: 30 * steps]).reshape(30, steps, 2):
            axes.plot(*path.T, color=GREY, linewidth=0.4, alpha=0.4)
        places = plane.project(points.points)
        for saddle, pair in zip(saddles, ends, strict=True):
            for end in pair[pair >= 0]:
                axes.plot(*places[[saddle, end]].T, color=COLOURS[0], linewidth=1)
        more = points.n_unstable > 1
        axes.plot(*places[more].T, "x", color=COLOURS[1], markersize=6)
        axes.plot(*places[saddles].T, "o", color=COLOURS[0], markerfacecolor="white", markersize=5)
        axes.plot(*places[points.stable].T, "o", color="black", markersize=7)
        n = f"{int(points.stable.sum())} stable, {len(saddles)} saddles, {int(more.sum())} others"
        axes.set(xlabel="PC1", ylabel="PC2", title=f"{name[-1]} bits, seed {run.seed}: {n}")
    return figure
