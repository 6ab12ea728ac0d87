"""Figures of the network as a dynamical system: points, flow, modes and bifurcations under constant inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from ngym_cli.agents.dynamics import SLOW, STARTS, InputSet, input_sets, points_of_sets, system_of, visited_states
from ngym_cli.agents.trained import remembers
from ngym_cli.figures import registry
from ngym_cli.figures.aligned import population
from ngym_cli.figures.style import COLOURS, GREY, Unavailable, legend_below, new_figure
from ngym_cli.figures.view import View
from ngym_cli.runs.recordings import NEEDED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from neurogym.dynamics import FixedPoints, Plane
    from neurogym.dynamics.systems import System
    from ngym_cli.figures.aligned import Population

#: Trials whose paths are drawn, and most sets of points in one figure.
PATHS = 30
MOST_SETS = 8

#: Most time constants that are drawn for a point, and places of a path between two inputs.
MODES, PLACES = 10, 21

#: Columns that give two inputs where a task has one period with a stimulus and no conditions are named.
SIDES = ("ground_truth", "choice")

#: Largest speed of a fixed point, and visited states from which new points are searched at each place.
FIXED, FOLLOWED = 1e-16, 16


@dataclass(frozen=True)
class Dynamics:
    """The network of a run with the states that the run visited and the constant inputs that are held.

    Attributes:
        system: the network with derivatives.
        population: recorded trials.
        states: visited states, shape (n, units).
        of_step: step of the recording of each state, shape (n,).
        searched: inputs with their points, where any was found.
    """

    system: System
    population: Population
    states: np.ndarray
    of_step: np.ndarray
    searched: list[tuple[InputSet, FixedPoints]]

    @cached_property
    def plane(self) -> Plane:
        """Plane of the first two principal components of the visited states."""
        from neurogym.dynamics import Plane

        return Plane.principal(self.states)

    @property
    def labels(self) -> list[str]:
        """Labels of the two axes of the plane with the share of the variance."""
        along = self.plane.project(self.states).var(axis=0) / max(float(self.states.var(axis=0).sum()), 1e-300)
        return [f"PC{k + 1} ({100 * part:.0f} %)" for k, part in enumerate(along)]

    @property
    def extent(self) -> list[float]:
        """Smallest and largest coordinates of the visited states in the plane, with a margin."""
        places = self.plane.project(self.states)
        low, high = places.min(axis=0), places.max(axis=0)
        margin = 0.15 * (high - low) + 1e-9
        return [low[0] - margin[0], high[0] + margin[0], low[1] - margin[1], high[1] + margin[1]]

    def paths(self, trials: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Return coordinates in the plane of up to `PATHS` trials, shape (steps, 2) each, with the trial's index."""
        offsets = self.population.activity.offsets
        last = np.searchsorted(offsets, self.of_step[-1], side="right") - 1
        chosen = np.random.default_rng(0).permutation(np.flatnonzero(trials[: last + 1]))[:PATHS]
        places = self.plane.project(self.states)
        return [(int(k), places[slice(*np.searchsorted(self.of_step, offsets[k : k + 2]))]) for k in chosen]


def _recurrent(view: View) -> None:
    if not remembers(view.first.actor):
        raise Unavailable("a memoryless agent has no recurrent dynamics")


def _dynamics(view: View, by: tuple[str, ...] = ()) -> Dynamics:
    """Return the network of the first run with visited states and points, cached for the next figure."""
    by = by or view.by
    key = f"dynamics {by}"
    if key in view.memory:
        found: Dynamics = view.memory[key]
        return found
    trials = population(view)
    for name in by:
        if name not in trials.table:
            raise Unavailable(f"the trials have no column {name}")
    source = view.recorded.members[0][0]
    observations, _ = view.recorded.recording.first("observations", len(trials.activity))
    observations = observations.reshape(len(observations), -1)
    sets = input_sets(trials.table, trials.activity, observations, by)
    if len(sets) > MOST_SETS:
        raise Unavailable(f"{len(sets)} conditions and periods are too many to tell apart; at most {MOST_SETS}")
    try:
        networks: Any = source.actor.networks
        system = system_of(networks[0])
    except ValueError as error:
        raise Unavailable(str(error)) from None
    states, of_step = visited_states(system, trials.activity, observations)
    searched = points_of_sets(system, trials.activity, observations, sets)
    if not searched:
        raise Unavailable(f"no point slower than {SLOW:g} was found from {STARTS} states")
    view.memory[key] = Dynamics(system, trials, states, of_step, searched)
    return _dynamics(view, by)


def _table(searched: Sequence[tuple[InputSet, FixedPoints]], dt: float) -> dict[str, np.ndarray]:
    """Return a row for each point: input, speed, stability, leading eigenvalue, time constant (ms) and state."""
    parts = [
        {"input": np.full(len(points), each.label, dtype=object), **points.to_table(dt)} for each, points in searched
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _mark(plane: Axes, found: Dynamics, points: FixedPoints, colour: str, label: str | None = None) -> None:
    """Draw points in the plane: filled if stable, open if not."""
    places = found.plane.project(points.points)
    for stable in (True, False):
        rows = points.stable == stable
        fill = colour if stable else "white"
        plane.plot(*places[rows].T, "o", color=colour, markerfacecolor=fill, markersize=6)
    if label is not None:
        plane.plot([], [], "o", color=colour, label=label)


@registry.figure(
    "fixed and slow points of the network under the mean input of a period", record=NEEDED, check=_recurrent
)
def fixed_points(view: View) -> Figure:
    """Draw the fixed and slow points for the mean input of each condition and period, on common axes, and paths."""
    found = _dynamics(view)
    figure, (plane, spectrum) = new_figure(1, 2, width=4.4, height=4.4)
    _draw_paths(plane, found)
    for (each, points), colour in zip(found.searched, _colours(len(found.searched)), strict=True):
        n_stable = int(points.stable.sum())
        label = f"{each.label}: {n_stable} stable, {len(points) - n_stable} not, speed {points.speed[0]:.0e}"
        _mark(plane, found, points, colour, label)
        values = points.eigenvalues[0]
        spectrum.plot(values.real, values.imag, "o", markersize=3, color=colour)
    plane.set(xlabel=found.labels[0], ylabel=found.labels[1], title=f"points slower than {SLOW:g} (open: unstable)")
    angle = np.linspace(0, 2 * np.pi, 200)
    spectrum.plot(np.cos(angle), np.sin(angle), color=GREY, linewidth=0.8)
    spectrum.set(
        xlabel="real part", ylabel="imaginary part", aspect="equal", title="eigenvalues, slowest points",
    )  # fmt: skip
    spectrum.set_xticks([-1, 0, 1])
    spectrum.set_yticks([-1, 0, 1])
    legend_below(plane)
    view.table = _table(found.searched, found.population.activity.dt)
    return figure


@registry.figure(
    "flow of the activity in a plane under the mean input of each period",
    record=NEEDED, check=_recurrent, on_request=True,
)  # fmt: skip
def flow(view: View) -> Figure:
    """Draw the flow field in the plane of the principal components for each input, with points and paths of trials."""
    from neurogym.dynamics import flow_field

    found = _dynamics(view)
    figure, axes = new_figure(1, len(found.searched), width=3.4, height=3.4)
    for plane, (each, points) in zip(np.atleast_1d(axes), found.searched, strict=True):
        field = flow_field(found.system, found.plane, each.inputs, found.extent)
        length = np.maximum(np.linalg.norm(field.velocity, axis=2, keepdims=True), 1e-12)
        arrows = field.velocity / length * np.minimum(1.0, length / np.median(length))
        plane.quiver(field.x, field.y, *np.moveaxis(arrows, 2, 0), color=GREY, pivot="mid", scale=30, width=0.004)
        for _, path in found.paths(each.trials):
            plane.plot(*path.T, color=COLOURS[0], linewidth=0.6, alpha=0.5)
        _mark(plane, found, points, "black")
        plane.set(xlabel=found.labels[0], ylabel=found.labels[1], title=each.label)
        plane.set(xlim=found.extent[:2], ylim=found.extent[2:])
    return figure


@registry.figure(
    "eigenvalues and time constants of the network at its points",
    record=NEEDED, check=_recurrent, on_request=True,
)  # fmt: skip
def modes(view: View) -> Figure:
    """Draw the eigenvalues of all points, and the longest time constants of the slowest point, for each input."""
    from neurogym.dynamics import describe_attractor

    found = _dynamics(view)
    dt = found.population.activity.dt
    figure, (spectrum, constants) = new_figure(1, 2, width=4.0, height=3.8)
    angle = np.linspace(0, 2 * np.pi, 200)
    spectrum.plot(np.cos(angle), np.sin(angle), color=GREY, linewidth=0.8)
    for (each, points), colour in zip(found.searched, _colours(len(found.searched)), strict=True):
        values = points.eigenvalues.ravel()
        spectrum.plot(values.real, values.imag, ".", markersize=3, color=colour, alpha=0.6)
        longest = points.time_constants(dt)[0, :MODES]
        shape = describe_attractor(points).kind if len(points) else ""
        constants.plot(np.arange(1, len(longest) + 1), longest, "o-", color=colour, label=f"{each.label}: {shape}")
    spectrum.set(xlabel="real part", ylabel="imaginary part", aspect="equal", title="eigenvalues of all points")
    constants.set(xlabel="mode", ylabel="time constant (ms)", yscale="log", title="slowest point")
    legend_below(constants)
    return figure


@registry.figure("points followed from one input to another", record=NEEDED, check=_recurrent, on_request=True)
def bifurcation(view: View) -> Figure:
    """Draw the points while the input goes from that of the first condition or period to that of the last."""
    from neurogym.dynamics import follow

    found = _dynamics(view)
    for column in (name for name in SIDES if name in found.population.table):
        if len(found.searched) < 2:
            found = _dynamics(view, (column,))
    if len(found.searched) < 2:
        raise Unavailable("needs the inputs of two periods or conditions; --by names a column of conditions")
    (first, points), *_, (last, others) = found.searched
    fixed = np.concatenate([each.points[each.speed <= FIXED] for each in (points, others)])
    starts = np.concatenate([fixed, found.states[:: max(1, len(found.states) // FOLLOWED)][:FOLLOWED]])
    branches, changes = follow(found.system, starts, first.inputs, last.inputs, n=PLACES)
    if not any(len(branch.place) > 1 for branch in branches):
        raise Unavailable(f"no fixed point could be followed from {first.label} to {last.label}")
    figure, axes = new_figure(1, 1, width=4.8, height=3.6)
    for branch in branches:
        height = found.plane.project(branch.points)[:, 0]
        axes.plot(branch.place, height, color=GREY, linewidth=0.8)
        for stable in (True, False):
            rows = (branch.n_unstable == 0) == stable
            fill = "black" if stable else "white"
            axes.plot(branch.place[rows], height[rows], "o", color="black", markerfacecolor=fill, markersize=4)
    for change in changes:
        axes.axvline(change.place, color=COLOURS[1], linewidth=0.8, linestyle=":")
    kinds = ", ".join(dict.fromkeys(change.kind for change in changes)) or "no bifurcation"
    axes.set(xlabel=f"input from {first.label} (0) to {last.label} (1)", ylabel=found.labels[0])
    axes.set_title(f"fixed points (open: unstable): {kinds}")
    view.table = {
        "branch": np.concatenate([np.full(len(each.place), k) for k, each in enumerate(branches)]),
        "place": np.concatenate([each.place for each in branches]),
        "n_unstable": np.concatenate([each.n_unstable for each in branches]),
        "eigenvalue_real": np.concatenate([each.leading.real for each in branches]),
        "eigenvalue_imag": np.concatenate([each.leading.imag for each in branches]),
        **{f"h{k}": values for k, values in enumerate(np.concatenate([each.points for each in branches]).T)},
    }
    return figure


def _colours(n: int) -> list[str]:
    return ["black"] if n == 1 else [COLOURS[k % len(COLOURS)] for k in range(n)]


def _draw_paths(plane: Axes, found: Dynamics) -> None:
    """Draw paths of trials, coloured by choice if there is a single condition, else by condition."""
    sets = [each for each, _ in found.searched]
    choice = found.population.table["choice"]
    if choice.ndim > 1:  # a movement
        choice = np.full(len(choice), np.nan)
    sides = np.unique(choice[np.isfinite(choice)])[-2:]
    conditions = len({each.trials.tobytes() for each in sets})
    for k, path in found.paths(np.ones(len(choice), bool)):
        if conditions == 1:
            colour = COLOURS[int(np.searchsorted(sides, choice[k])) % 2] if choice[k] in sides else GREY
        else:
            of = [place for place, each in enumerate(sets) if each.trials[k]]
            colour = _colours(len(sets))[of[0]] if of else GREY
        plane.plot(path[:, 0], path[:, 1], color=colour, linewidth=0.5, alpha=0.4)
