"""The network as a dynamical system: fixed points under a constant input."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from ngym_cli.figures.population import population
from ngym_cli.figures.style import COLOURS, GREY, Unavailable, legend_below, new_figure
from ngym_cli.figures.view import View
from ngym_cli.runs import summary

#: States from which the search starts, steps that each may take, and the speed below which a point counts as slow.
STARTS, STEPS, SLOW = 16, 60, 1e-4
#: Steps of the network under constant input after which a second search starts from where each state has come to.
SETTLING = 500

#: Trials whose paths are drawn, periods whose mean input is held, and most sets of points in one figure.
PATHS = 30
PERIODS = ("stimulus", "measure", "delay")
MOST_SETS = 8


def fixed_points_check(view: View) -> None:
    """Say why there are no fixed points to look for."""
    source = view.recorded.members[0][0]
    if not hasattr(source.policy, "actor"):
        raise Unavailable("a memoryless agent has no recurrent dynamics")
    policy = source.policy
    if int(policy.initial_state(1)[0].shape[0]) > 1:
        raise Unavailable("the network has several layers; the recording holds the last one only")


def network_step(policy: Any) -> tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], int]:
    """Return the actor's network as ``h' = F(h, x)`` in NumPy, and the number of its state arrays.

    The state of a network with a cell state (LSTM) is both, one after the other: shape (n, 2 * units).

    Args:
        policy: a recurrent policy of one layer.
    """
    network = copy.deepcopy(policy.networks[0]).double().cpu()  # slopes are taken over differences of 1e-6 and less

    @torch.no_grad()
    def step(state: np.ndarray, x: np.ndarray) -> np.ndarray:
        given = tuple(
            torch.from_numpy(part)[None] for part in np.split(state.astype(np.float64), network.n_states, axis=1)
        )
        inputs = torch.from_numpy(np.tile(np.asarray(x, np.float64), (len(state), 1)))
        _, after = network.sequence(inputs, [len(state)], tuple(given))
        return np.concatenate([part[0].numpy() for part in after], axis=1)

    return step, network.n_states


@dataclass(frozen=True)
class InputSet:
    """A constant input for which points are looked for.

    Attributes:
        label: condition and period.
        trials: whose paths belong to it, shape (trials,) bool.
        steps: rows of the recording that it is the mean of.
        inputs: shape (channels,).
    """

    label: str
    trials: np.ndarray
    steps: np.ndarray
    inputs: np.ndarray


def fixed_points(view: View) -> Figure:
    """Draw the fixed and slow points for the mean input of each condition and period, on common axes, and paths."""
    from neurogym.analysis import pca_trajectories

    found = population(view)
    source = view.recorded.members[0][0]
    step, parts = network_step(source.policy)
    observations, _ = view.recorded.recording.first("observations", len(found.activity))
    observations = observations.reshape(len(observations), -1)
    sets = _inputs(view, found, observations)
    visited, of_step = _states(step, parts, found, observations)
    searched = []
    for each in sets:
        near = visited[np.isin(of_step, each.steps)]
        result = _search(step, near if len(near) >= 2 else visited, each.inputs)
        if len(result.points):
            searched.append((each, result))
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


def _colours(n: int) -> list[Any]:
    return ["black"] if n == 1 else [COLOURS[k % len(COLOURS)] for k in range(n)]


def _search(step: Any, states: np.ndarray, inputs: np.ndarray) -> Any:
    """Look for points from visited states, and from where these come to under the input."""
    from neurogym.analysis import find_fixed_points

    starts = states[np.random.default_rng(0).permutation(len(states))[:STARTS]]
    settled = starts
    for _ in range(SETTLING):  # leads to the attractors, where the search alone may end at a lesser slow place
        settled = step(settled, inputs)
    return find_fixed_points(step, np.concatenate([starts, settled]), inputs, max_speed=SLOW, max_steps=STEPS)


def _paths(plane: Any, found: Any, space: Any, sets: Sequence[InputSet]) -> None:
    """Draw paths of trials: by choice where there is one condition, else in the colour of the condition."""
    choice = found.table["choice"]
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


def _inputs(view: View, found: Any, observations: np.ndarray) -> list[InputSet]:
    """Return the mean input of each period (stimulus and delay where there are any), condition by condition.

    Raises:
        Unavailable: if a column to split by is missing or has too many values.
    """
    table, lengths = found.table, found.activity.lengths
    for name in view.by:
        if name not in table:
            raise Unavailable(f"the trials have no column {name}")
    place = np.arange(len(observations)) - np.repeat(found.activity.offsets[:-1], lengths)
    trial = np.repeat(np.arange(len(lengths)), lengths)
    sets: list[InputSet] = []
    for words, members in _conditions(table, view.by):
        for period in PERIODS:
            begin, end = _span(table, period, found.activity.dt)
            if begin is None:
                continue
            inside = members[trial] & (place >= begin[trial]) & (place < np.minimum(end, lengths)[trial])
            if inside.any():
                label = ", ".join(part for part in (words, period) if part)
                steps = np.flatnonzero(inside)
                sets.append(InputSet(label, members, steps, observations[steps].mean(axis=0)))
    if len(sets) > MOST_SETS:
        raise Unavailable(f"{len(sets)} conditions and periods are too many to tell apart; at most {MOST_SETS}")
    everything = np.arange(len(observations))
    return sets or [InputSet("all steps", np.ones(len(lengths), bool), everything, observations.mean(axis=0))]


def _conditions(table: Any, by: Sequence[str]) -> list[tuple[str, np.ndarray]]:
    """Return the words for each condition and the trials that it holds, shape (trials,) bool."""
    n = len(table["choice"])
    found = [("", np.ones(n, bool))]
    for name in by:
        values = [value for value in dict.fromkeys(sorted(table[name].tolist(), key=str)) if value == value]
        found = [
            (
                ", ".join(part for part in (words, f"{name} {summary.label(value)}") if part),
                members & (table[name] == value),
            )
            for words, members in found
            for value in values
        ]
    return [(words, members) for words, members in found if members.any()]


def _span(table: Any, period: str, dt: float) -> tuple[np.ndarray | None, Any]:
    """Return first and last step (exclusive) of a period in each trial; None where there is none."""
    length, onset = table.get(f"period_{period}"), table.get(f"onset_{period}")
    if length is None or onset is None or not np.any(length > 0):
        return None, None
    begin = (onset / dt).astype(int)
    return begin, begin + (length / dt).astype(int)


def _states(step: Any, parts: int, found: Any, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return states visited in trials, and the step of the recording that each belongs to.

    A cell state, which is not recorded, is run again from the start of trials.
    """
    values, offsets = found.activity.values, found.activity.offsets
    if parts == 1:
        return np.asarray(values, float), np.arange(len(values))
    trials = min(PATHS, len(found.activity))
    visited = []
    for k in range(trials):
        state = np.zeros((1, parts * values.shape[1]))
        for x in observations[offsets[k] : offsets[k + 1]]:
            state = step(state, x)
            visited.append(state[0])
    return np.array(visited), np.arange(offsets[0], offsets[trials])
