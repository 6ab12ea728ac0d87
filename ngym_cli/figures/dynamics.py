"""Figures of the network as a dynamical system: points, flow, modes and bifurcations under constant inputs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from neurogym.dynamics import Attractors, Bifurcation, Branch, FlowField, flow_field, follow, linearise
from ngym_cli.agents.trained import remembers
from ngym_cli.errors import option
from ngym_cli.figures import registry
from ngym_cli.figures.dynamics_data import Dynamics, dynamics_of
from ngym_cli.figures.style import COLOURS, GREY, FigureUnavailableError, colours, legend_below, new_figure, unit_circle
from ngym_cli.figures.view import PlotData
from ngym_cli.figures.wording import Wording
from ngym_cli.runs.recordings import NETWORK_QUANTITIES
from ngym_cli.runs.trial_table import concatenate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Most time constants that are drawn for a point, and places of a path between two inputs.
MODES, PLACES = 10, 21

#: Columns that give two inputs where a task has one period with a stimulus and no conditions are named.
SIDES = ("ground_truth", "choice")

#: Visited states from which new points are searched at each place.
FOLLOWED = 16


def _recurrent(view: PlotData) -> None:
    if not remembers(view.first.actor):
        raise FigureUnavailableError("a memoryless agent has no recurrent dynamics")


_figure = partial(registry.figure, record=NETWORK_QUANTITIES, check=_recurrent)


def _dots(axes: Axes, places: np.ndarray, stable: np.ndarray, colour: str, size: float) -> None:
    """Draw points of shape (n, 2), filled if stable and open if not."""
    axes.plot(*places[stable].T, "o", color=colour, markerfacecolor=colour, markersize=size)
    axes.plot(*places[~stable].T, "o", color=colour, markerfacecolor="white", markersize=size)


def _mark(plane: Axes, dynamics: Dynamics, result: Attractors, colour: str, name: str = "") -> None:
    """Draw attractors in the plane: points filled if stable, else open; slow points as crosses; cycles as lines.

    Without a fixed point nearby the slowest states are drawn, with their speed; the legend has them where the input is
    named.
    """
    points = result.points
    places, fixed = dynamics.plane.project(points.points), points.fixed
    plane.plot(*places[~fixed].T, "x", color=colour, markersize=5)
    plane.plot(*places[points.on_kink].T, "s", color=colour, markerfacecolor="none", markersize=10)
    _dots(plane, places[fixed], points.stable[fixed], colour, 6)
    for limit in result.limits:
        if limit.extent:
            path = dynamics.plane.project(limit.states)
            closed = np.concatenate([path, path[:1]]) if limit.kind == "cycle" else path
            plane.plot(*closed.T, "-" if limit.kind == "cycle" else ",", color=colour, linewidth=1.5)
    if dynamics.is_empty(result):
        positions, speed = dynamics.plane.project(result.slowest), dynamics.speed_of(result.slowest[0], result)
        plane.plot(
            *positions.T,
            "+",
            color=colour,
            markersize=9,
            label=f"{name}: slowest states, movement" if name else None,
        )
        upwards = positions[0, 1] < np.mean(dynamics.surroundings[2:])  # away from the title
        plane.annotate(speed, positions[0], (4, 4 if upwards else -10), textcoords="offset points", fontsize=7)


def _arrows(plane: Axes, dynamics: Dynamics, inputs: np.ndarray) -> FlowField:
    """Draw the flow field under an input; arrows of equal length where activity is fast."""
    field = flow_field(dynamics.system, dynamics.plane, inputs, dynamics.extent)
    length = np.maximum(np.linalg.norm(field.velocity, axis=2, keepdims=True), 1e-12)
    arrows = field.velocity / length * np.minimum(1.0, length / np.median(length))
    plane.quiver(field.x, field.y, *np.moveaxis(arrows, 2, 0), color=GREY, pivot="mid", scale=30, width=0.004)
    return field


@_figure("attractors of the network under the mean input of a period: fixed and slow points, cycles")
def fixed_points(view: PlotData) -> Figure:
    """Draw the attractors for the mean input of each condition and period, on common axes, and paths of trials.

    Without a fixed point nearby under the first input its flow field is drawn, with the slowest states.
    """
    dynamics = dynamics_of(view)
    spectra = any(result.points.fixed.any() for _, result in dynamics.searched)
    figure, axes = new_figure(1, 1 + spectra, width=4.4, height=4.4, squeeze=False)
    plane = axes[0, 0]
    first, attractors = dynamics.searched[0]
    if dynamics.is_empty(attractors):
        _arrows(plane, dynamics, first.inputs)
    _draw_paths(plane, dynamics, Wording(view.properties.labels))
    outside = 0
    for (each, result), colour in zip(dynamics.searched, _colours(dynamics), strict=True):
        points, fixed = result.points, result.points.fixed
        counts = f"{points.stable.sum()} stable, {(fixed & ~points.stable).sum()} other fixed, {(~fixed).sum()} slow"
        if points.on_kink.any():
            slopes = points.slopes[points.on_kink]
            counts += f", {len(slopes)} on a kink (slopes {slopes.min():.2g} to {slopes.max():.2g})"
        outside += int((~dynamics.is_near(points.points)).sum())
        _mark(plane, dynamics, result, colour, each.label)
        plane.plot([], [], "o", color=colour, label=f"{each.label}: {result.name} (points: {counts})")
        if fixed.any():
            values = points.eigenvalues[fixed][0]
            axes[0, 1].plot(values.real, values.imag, "o", markersize=3, color=colour)
    low_x, high_x, low_y, high_y = dynamics.surroundings
    plane.set(xlabel=dynamics.labels[0], ylabel=dynamics.labels[1], xlim=(low_x, high_x), ylim=(low_y, high_y))
    far = f"; {outside} far from the visited states not shown" if outside else ""
    plane.set_title(f"attractors (filled: stable; crosses: slow{far})")
    if spectra:
        unit_circle(axes[0, 1])
        axes[0, 1].set(title="eigenvalues, first fixed point", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    legend_below(plane)
    view.table, view.caption = dynamics.points_table(), dynamics.sentence()
    return figure


@_figure("number of networks with each attractor, by learner", runs=2, each_run=True, on_request=True)
def attractors(view: PlotData) -> Figure:
    """Draw a block for each network in the colour of its attractor under each input, put together by ``--group-by``.

    By default they are put together by algorithm, or by network if the algorithm is the same.
    """
    by = view.compare or ("alg" if len({source.property("alg") for source in view.sources}) > 1 else "network")
    rows = []
    for source in view.sources:
        one = replace(view, sources=[source], left_out={}, compare=None)
        try:
            searched = dynamics_of(one).searched
        except FigureUnavailableError as error:
            view.left_out[source.run.name] = str(error)
            continue
        rows += [(source.property(by), source.run.name, each.label, found) for each, found in searched]
    if not rows:
        raise FigureUnavailableError(next(iter(view.left_out.values())))
    group, run, label, found = zip(*rows, strict=True)
    names, groups, inputs = ([*dict.fromkeys(each)] for each in ([f.name for f in found], group, label))
    figure, axes = new_figure(1, len(inputs), width=3.6, height=1.6 + 0.5 * len(groups), squeeze=False)
    palette = colours(len(names))
    for panel, period in zip(axes[0], inputs, strict=True):
        for y, each in enumerate(groups):
            here = sorted(names.index(f.name) for g, _, i, f in rows if (g, i) == (each, period))
            panel.barh(y, np.ones(len(here)), left=range(len(here)), color=[palette[k] for k in here], edgecolor="w")
        panel.set(title=period, xlabel="networks", ylabel=by, yticks=range(len(groups)), yticklabels=groups)
        panel.invert_yaxis()
        panel.xaxis.get_major_locator().set_params(integer=True)
    for name, colour in zip(names, palette, strict=True):
        axes[0, 0].plot([], [], "s", color=colour, label=name)
    legend_below(axes[0, 0])
    view.table = {
        **{key: np.array(each, object) for key, each in ((by, group), ("name", run), ("input", label))},
        "attractor": np.array([each.name for each in found], object),
        "stable_points": np.array([each.points.stable.sum() for each in found]),
        "cycles": np.array([sum(limit.kind == "cycle" for limit in each.limits) for each in found]),
    }
    return figure


@_figure("flow of the activity in a plane under the mean input of each period", on_request=True)
def flow(view: PlotData) -> Figure:
    """Draw the flow field in a plane for each input, with attractors and paths of trials."""
    dynamics = dynamics_of(view)
    figure, axes = new_figure(1, len(dynamics.searched), width=3.6, height=3.4)
    tables = []
    for plane, (each, result) in zip(np.atleast_1d(axes), dynamics.searched, strict=True):
        field = _arrows(plane, dynamics, each.inputs)
        for k, (_, path) in enumerate(dynamics.paths(each.trials)):
            mark = "." if len(path) < 3 else "-"
            plane.plot(*path.T, mark, color=COLOURS[0], linewidth=0.6, alpha=0.5, label=None if k else "trials")
        _mark(plane, dynamics, result, "black")
        x, y = dynamics.plane.project(result.points.points).T
        low_x, high_x, low_y, high_y = dynamics.extent
        outside = int(((x < low_x) | (x > high_x) | (y < low_y) | (y > high_y)).sum())
        hidden = f"{outside} point{'s' * (outside > 1)} outside not shown"
        title = f"{each.label}\n{hidden}" if outside else each.label
        plane.set(xlabel=dynamics.labels[0], ylabel=dynamics.labels[1], title=title)
        plane.set(xlim=dynamics.extent[:2], ylim=dynamics.extent[2:])
        x, y = np.meshgrid(field.x, field.y)
        moved = dict(zip(("velocity_x", "velocity_y"), field.velocity.reshape(-1, 2).T, strict=True))
        label = np.full(x.size, each.label, dtype=object)
        tables.append({"input": label, "x": x.ravel(), "y": y.ravel(), **moved, "speed": field.speed.ravel()})
    _legend_of_marks(np.atleast_1d(axes)[0], dynamics)
    view.table, view.caption = concatenate(tables), dynamics.sentence()
    return figure


def _legend_of_marks(plane: Axes, dynamics: Dynamics) -> None:
    """Add a legend for the marks of `_mark` that are drawn."""
    results = [result for _, result in dynamics.searched]
    points = [result.points for result in results]
    for drawn, mark, label in (
        (any(each.stable.any() for each in points), {"marker": "o"}, "stable point"),
        (
            any((each.fixed & ~each.stable).any() for each in points),
            {"marker": "o", "mfc": "white"},
            "other fixed point",
        ),
        (any((~each.fixed).any() for each in points), {"marker": "x"}, "slow point"),
        (any(map(dynamics.is_empty, results)), {"marker": "+"}, "slowest state, movement"),
        (any(limit.kind == "cycle" for each in results for limit in each.limits), {"linestyle": "-"}, "limit cycle"),
    ):
        if drawn:
            look: dict[str, Any] = {"linestyle": "", "color": "black", "label": label, **mark}
            plane.plot([], [], **look)
    legend_below(plane, 2)


@_figure("eigenvalues and time constants of the network at its fixed points", on_request=True)
def modes(view: PlotData) -> Figure:
    """Draw the eigenvalues of all fixed points, and the first time constants of a stable point if there is any.

    Under an input without a fixed point the eigenvalues are those at the slowest state, which has no time constants.
    """
    dynamics = dynamics_of(view)
    any_fixed = any(result.points.fixed.any() for _, result in dynamics.searched)
    figure, axes = new_figure(1, 1 + any_fixed, width=4.0, height=3.8, squeeze=False)
    spectrum = axes[0, 0]
    unit_circle(spectrum)
    for (each, result), colour in zip(dynamics.searched, _colours(dynamics), strict=True):
        points = result.points.take(result.points.fixed)
        label = f"{each.label}: {result.name}"
        if not len(points):
            values = linearise(dynamics.system, result.slowest[0], each.inputs).eigenvalues
            spectrum.plot(values.real, values.imag, "+", markersize=4, color=colour, label=f"{label} (slowest state)")
            continue
        values = points.eigenvalues.ravel()
        spectrum.plot(values.real, values.imag, ".", markersize=3, color=colour, alpha=0.6, label=label)
        of = int(np.argmax(points.stable))  # the first if none is
        constant = points.time_constants(dynamics.population.activity.dt)[of, :MODES]
        grows = np.abs(points.eigenvalues[of, :MODES]) > 1
        rank = np.arange(1, len(constant) + 1)
        axes[0, 1].plot(rank, constant, "o-", color=colour)
        axes[0, 1].plot(rank[grows], constant[grows], "o", color=colour, markerfacecolor="white")
    title = "eigenvalues of all fixed points" if any_fixed else "eigenvalues at the slowest state"
    spectrum.set_title(title)
    if any_fixed:
        axes[0, 1].set(xlabel="mode", ylabel="time constant (ms)", yscale="log", title="a fixed point (open: growing)")
    legend_below(spectrum)
    view.table, view.caption = dynamics.modes_table(), dynamics.sentence()
    return figure


@_figure("points followed from one input to another", on_request=True)
def bifurcation(view: PlotData) -> Figure:
    """Draw the points while the input goes from that of the first condition or period to that of the last."""
    dynamics = dynamics_of(view)
    table = dynamics.population.table
    for column in (name for name in (*SIDES, *dynamics.population.conditions.names) if _single(table.get(name))):
        if len(dynamics.sets) < 2 and not view.held:
            dynamics = dynamics_of(view, (column,))
    if len(dynamics.sets) < 2:
        raise FigureUnavailableError(
            f"needs two inputs; name a column of conditions with {option('--by')}, or two inputs with "
            f"{option('--input')}"
        )
    (first, one), *_, (last, two) = dynamics.searched
    fixed = np.concatenate([each.points.points[each.points.fixed] for each in (one, two)])
    starts = np.concatenate([fixed, dynamics.states[:: max(1, len(dynamics.states) // FOLLOWED)][:FOLLOWED]])
    branches, changes = follow(dynamics.system, starts, first.inputs, last.inputs, n=PLACES)
    if not any(len(branch.place) > 1 for branch in branches):
        raise FigureUnavailableError(f"no fixed point could be followed from {first.label} to {last.label}")
    figure, axes = new_figure(1, 1, width=4.8, height=3.6)
    for branch in branches:
        height = dynamics.plane.project(branch.points)[:, 0]
        axes.plot(branch.place, height, color=GREY, linewidth=0.8)
        _dots(axes, np.stack([branch.place, height], axis=1), branch.n_unstable == 0, "black", 4)
    for change in changes:
        axes.axvline(change.place, color=COLOURS[1], linewidth=0.8, linestyle=":")
    kinds = ", ".join(dict.fromkeys(change.kind for change in changes)) or "no bifurcation"
    axes.set(xlabel=f"input from {first.label} (0) to {last.label} (1)", ylabel=dynamics.labels[0])
    axes.set_title(f"fixed points (open: unstable): {kinds}")
    view.table = _branches_table(branches, changes)
    return figure


def _single(values: np.ndarray | None) -> bool:
    """Whether a column holds single values rather than vectors."""
    return values is not None and values.ndim == 1 and not any(isinstance(value, list) for value in values[:1])


def _branches_table(branches: list[Branch], changes: list[Bifurcation]) -> dict[str, np.ndarray]:
    """Return a row for each place of each branch, with the bifurcation that follows on the branch, if any."""
    rows = np.concatenate([np.full(len(each.place), k) for k, each in enumerate(branches)])
    points, position = (np.concatenate([getattr(each, name) for each in branches]) for name in ("points", "place"))
    kinds = np.full(len(rows), "", dtype=object)
    for change in changes:
        near = np.abs(position - change.place) + np.linalg.norm(points - change.state, axis=1)
        kinds[int(near.argmin())] = change.kind
    return {
        "branch": rows,
        "place": position,
        "n_unstable": np.concatenate([each.n_unstable for each in branches]),
        "bifurcation": kinds,
        "eigenvalue_real": np.concatenate([each.leading.real for each in branches]),
        "eigenvalue_imag": np.concatenate([each.leading.imag for each in branches]),
        **{f"h{k}": values for k, values in enumerate(points.T)},
    }


def _colours(dynamics: Dynamics) -> list[str]:
    n = len(dynamics.searched)
    return ["black"] if n == 1 else colours(n)


def _draw_paths(plane: Axes, dynamics: Dynamics, words: Wording) -> None:
    """Draw paths of trials, coloured by choice if there is a single condition, else by condition."""
    sets = [each for each, _ in dynamics.searched]
    choice = dynamics.population.table["choice"]
    if choice.ndim > 1:  # a movement
        choice = np.full(len(choice), np.nan)
    sides = np.unique(choice[np.isfinite(choice)])[-2:]
    conditions = len({each.trials.tobytes() for each in sets})
    for k, path in dynamics.paths(np.ones(len(choice), bool)):
        if conditions == 1:
            colour = COLOURS[int(np.searchsorted(sides, choice[k])) % 2] if choice[k] in sides else GREY
        else:
            of = [position for position, each in enumerate(sets) if each.trials[k]]
            colour = _colours(dynamics)[of[0]] if of else GREY
        plane.plot(path[:, 0], path[:, 1], "." if len(path) < 3 else "-", color=colour, linewidth=0.5, alpha=0.4)
    for k, side in enumerate(sides if conditions == 1 else ()):
        plane.plot([], [], color=COLOURS[k], linewidth=1, label=f"trials, {words.phrase('choice', float(side))}")
