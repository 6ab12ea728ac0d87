"""The network as a dynamical system: fixed points under a constant input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from ngym_cli.agents.fixed_points import SLOW, STARTS, InputSet, input_sets, points_of_sets
from ngym_cli.agents.trained import is_recurrent, remembers
from ngym_cli.figures import registry
from ngym_cli.figures.aligned import population
from ngym_cli.figures.style import COLOURS, GREY, Unavailable, legend_below, new_figure
from ngym_cli.figures.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ngym_cli.figures.aligned import Population

#: Trials whose paths are drawn, and most sets of points in one figure.
PATHS = 30
MOST_SETS = 8


def _one_recurrent_layer(view: View) -> None:
    source = view.recorded.members[0][0]
    if not remembers(source.actor):
        raise Unavailable("a memoryless agent has no recurrent dynamics")
    if int(source.actor.initial_state(1)[0].shape[0]) > 1:
        raise Unavailable("the network has several layers; the recording holds the last one only")


@registry.figure(
    "fixed and slow points of the network under the mean input of a period",
    record=("activity", "observations"), check=_one_recurrent_layer,
)  # fmt: skip
def fixed_points(view: View) -> Figure:
    """Draw the fixed and slow points for the mean input of each condition and period, on common axes, and paths."""
    from neurogym.analysis import pca_trajectories

    found = population(view)
    for name in view.by:
        if name not in found.table:
            raise Unavailable(f"the trials have no column {name}")
    source = view.recorded.members[0][0]
    observations, _ = view.recorded.recording.first("observations", len(found.activity))
    observations = observations.reshape(len(observations), -1)
    sets = input_sets(found.table, found.activity, observations, view.by)
    if len(sets) > MOST_SETS:
        raise Unavailable(f"{len(sets)} conditions and periods are too many to tell apart; at most {MOST_SETS}")
    policy = source.policy
    assert is_recurrent(policy)  # or the check would have refused it
    searched = points_of_sets(policy, found.activity, observations, sets)
    if not searched:
        raise Unavailable(f"no point slower than {SLOW:g} was found from {STARTS} states")
    figure, (plane, spectrum) = new_figure(1, 2, width=4.4, height=4.4)
    units, space = found.activity.n_units, pca_trajectories(found.activity.values[None], 2)
    _paths(plane, found, space, [each for each, _ in searched])
    for (each, result), colour in zip(searched, _colours(len(searched)), strict=True):
        points = space.project(result.points[:, :units])
        n_stable = int(result.stable.sum())
        label = f"{each.label}: {n_stable} stable, {len(points) - n_stable} not, speed {result.speed[0]:.0e}"
        for stable in (True, False):
            rows = result.stable == stable
            fill = colour if stable else "white"
            plane.plot(*points[rows].T, "o", color=colour, markerfacecolor=fill, markersize=6)
        plane.plot([], [], "o", color=colour, label=label)
        values = result.eigenvalues[0]
        spectrum.plot(values.real, values.imag, "o", markersize=3, color=colour)
    share = [f"PC{k + 1} ({100 * part:.0f} %)" for k, part in enumerate(space.explained)]
    plane.set(xlabel=share[0], ylabel=share[1], title=f"points slower than {SLOW:g} (open: unstable)")
    angle = np.linspace(0, 2 * np.pi, 200)
    spectrum.plot(np.cos(angle), np.sin(angle), color=GREY, linewidth=0.8)
    spectrum.set(
        xlabel="real part", ylabel="imaginary part", aspect="equal", title="eigenvalues, slowest points",
    )  # fmt: skip
    spectrum.set_xticks([-1, 0, 1])
    spectrum.set_yticks([-1, 0, 1])
    legend_below(plane)
    return figure


def _colours(n: int) -> list[str]:
    return ["black"] if n == 1 else [COLOURS[k % len(COLOURS)] for k in range(n)]


def _paths(plane: Axes, found: Population, space: Any, sets: Sequence[InputSet]) -> None:
    """Draw paths of trials: by choice where there is one condition, else in the colour of the condition."""
    choice = found.table["choice"]
    if choice.ndim > 1:  # a movement
        choice = np.full(len(choice), np.nan)
    sides = np.unique(choice[np.isfinite(choice)])[-2:]
    rng, conditions = np.random.default_rng(0), len({each.trials.tobytes() for each in sets})
    for k in rng.permutation(len(found.activity))[:PATHS]:
        path = space.project(found.activity[k])
        if conditions == 1:
            colour = COLOURS[int(np.searchsorted(sides, choice[k])) % 2] if choice[k] in sides else GREY
        else:
            of = [place for place, each in enumerate(sets) if each.trials[k]]
            colour = _colours(len(sets))[of[0]] if of else GREY
        plane.plot(path[:, 0], path[:, 1], color=colour, linewidth=0.5, alpha=0.4)
