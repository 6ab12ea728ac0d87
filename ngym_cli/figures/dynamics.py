"""The network as a dynamical system: fixed points under a constant input."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from ngym_cli.figures.population import population
from ngym_cli.figures.style import COLOURS, GREY, Unavailable, legend_below, new_figure
from ngym_cli.figures.view import View

#: States from which the search starts, steps that each may take, and the speed below which a point counts as slow.
STARTS, STEPS, SLOW = 16, 60, 1e-4
#: Steps of the network under constant input after which a second search starts from where each state has come to.
SETTLING = 500

#: Trials whose paths are drawn.
PATHS = 30


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


def fixed_points(view: View) -> Figure:
    """Draw the fixed and slow points under the mean input of the steps after the stimulus, and paths of trials."""
    from neurogym.analysis import find_fixed_points, pca_trajectories

    found = population(view)
    source = view.recorded.members[0][0]
    step, parts = network_step(source.policy)
    recording = view.recorded.recording
    observations, _ = recording.first("observations", len(found.activity))
    inputs, what = _input(found, observations.reshape(len(observations), -1))
    states = _states(step, parts, found, observations.reshape(len(observations), -1))
    rng = np.random.default_rng(0)
    starts = states[rng.permutation(len(states))[:STARTS]]
    settled = starts
    for _ in range(SETTLING):  # leads to the attractors, where the search alone may end at a lesser slow place
        settled = step(settled, inputs)
    result = find_fixed_points(step, np.concatenate([starts, settled]), inputs, max_speed=SLOW, max_steps=STEPS)
    if not len(result.points):
        raise Unavailable(f"no point slower than {SLOW:g} was found from {STARTS} states")
    units = found.activity.n_units
    space = pca_trajectories(found.activity.values[None], 2)
    figure, (plane, spectrum) = new_figure(1, 2, width=4.4)
    choice = found.table["choice"]
    sides = np.unique(choice[np.isfinite(choice)])[-2:]
    for k in rng.permutation(len(found.activity))[:PATHS]:
        path = space.project(found.activity[k])
        colour = COLOURS[int(np.searchsorted(sides, choice[k])) % 2] if choice[k] in sides else GREY
        plane.plot(path[:, 0], path[:, 1], color=colour, linewidth=0.5, alpha=0.5)
    points = space.project(result.points[:, :units])
    for stable, fill, name in ((True, "black", "stable"), (False, "white", "unstable")):
        rows = result.stable == stable
        label = f"{name}, n = {int(rows.sum())}"
        plane.plot(*points[rows].T, "o", color="black", markerfacecolor=fill, markersize=6, label=label)
    share = [f"PC{k + 1} ({100 * part:.0f} %)" for k, part in enumerate(space.explained)]
    plane.set(xlabel=share[0], ylabel=share[1], title=f"points slower than {SLOW:g}, input: {what}")
    legend_below(plane)
    values = result.eigenvalues[0]
    angle = np.linspace(0, 2 * np.pi, 200)
    spectrum.plot(np.cos(angle), np.sin(angle), color=GREY, linewidth=0.8)
    spectrum.plot(values.real, values.imag, "o", markersize=3, color=COLOURS[0])
    spectrum.set(
        xlabel="real part", ylabel="imaginary part", aspect="equal",
        title=f"eigenvalues, slowest point ({result.speed[0]:.0e})",
    )  # fmt: skip
    return figure


def _input(found: Any, observations: np.ndarray) -> tuple[np.ndarray, str]:
    """Return the mean input during the delay, else during the stimulus, else over all."""
    table, dt = found.table, found.activity.dt
    for period in ("delay", "stimulus", "measure"):
        name = f"period_{period}"
        if name in table and f"onset_{period}" in table and np.any(table[name] > 0):
            begin = (table[f"onset_{period}"] / dt).astype(int)
            end = np.minimum(begin + (table[name] / dt).astype(int), found.activity.lengths)
            step = np.arange(len(observations)) - np.repeat(found.activity.offsets[:-1], found.activity.lengths)
            rows = (step >= np.repeat(begin, found.activity.lengths)) & (step < np.repeat(end, found.activity.lengths))
            if rows.any():
                return observations[rows].mean(axis=0), f"mean of the {period}"
    return observations.mean(axis=0), "mean of all steps"


def _states(step: Any, parts: int, found: Any, observations: np.ndarray) -> np.ndarray:
    """Return states visited in trials; a cell state, which is not recorded, is run again from the start of trials."""
    values, offsets = found.activity.values, found.activity.offsets
    if parts == 1:
        return np.asarray(values, float)
    trials = min(PATHS, len(found.activity))
    visited = []
    for k in range(trials):
        state = np.zeros((1, parts * values.shape[1]))
        for x in observations[offsets[k] : offsets[k + 1]]:
            state = step(state, x)
            visited.append(state[0])
    return np.array(visited)
