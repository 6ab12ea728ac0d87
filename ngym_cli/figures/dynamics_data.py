"""Network of a run as a dynamical system: visited states, constant inputs, points, and the plane that is drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from neurogym.analysis.trial_tables import Table
from neurogym.dynamics import FixedPoints, Plane, basins, describe_attractor
from neurogym.dynamics.systems import System
from neurogym.spaces import Index
from ngym_cli.agents.dynamics import (
    SLOW,
    InputSet,
    held_input,
    input_sets,
    points_of_sets,
    read_outs,
    visited_states,
)
from ngym_cli.errors import UserError
from ngym_cli.figures.population import population
from ngym_cli.figures.style import FigureUnavailableError, unavailable_on
from ngym_cli.figures.view import PlotData
from ngym_cli.runs.trial_table import concatenate

if TYPE_CHECKING:
    from stable_baselines3.common.policies import BasePolicy

    from ngym_cli.agents.acting import Actor
    from ngym_cli.figures.population import Population

#: Trials whose paths are drawn, and most sets of points in one figure.
PATHS, MOST_SETS = 30, 8

#: Starts between each pair of neighbouring stable points; visited states whose basins are found, and steps of these.
BETWEEN, BASIN_STATES, BASIN_STEPS = 5, 200, 500


class NoPointsError(FigureUnavailableError):
    """Error of a search that found no slow point."""


@dataclass(frozen=True)
class Dynamics:
    """Network of a run with visited states and points under constant inputs.

    Attributes:
        system: the network with derivatives.
        policy: agent of the run.
        names: positions of the named input channels.
        axes: two axes of the plane that is drawn, as after ``--axes``.
        population: recorded trials.
        states: visited states, shape (n, units).
        of_step: step of the recording of each state, shape (n,).
        searched: inputs with their points, where any was found.
    """

    system: System
    policy: Actor | BasePolicy
    names: dict[str, Index]
    axes: tuple[str, str]
    population: Population
    states: np.ndarray
    of_step: np.ndarray
    searched: list[tuple[InputSet, FixedPoints]]

    @cached_property
    def plane(self) -> Plane:
        """Plane of two axes through the mean visited state; principal components of the visited states by default."""
        try:
            return Plane.through(self.states.mean(axis=0), *(self._direction(axis) for axis in self.axes))
        except ValueError as error:
            raise UserError(f"--axes {','.join(self.axes)}: {error}") from None

    @cached_property
    def _components(self) -> np.ndarray:
        return np.linalg.svd(self.states - self.states.mean(axis=0), full_matrices=False)[2]

    def _direction(self, axis: str) -> np.ndarray:
        """Return the direction in the state space that a word after ``--axes`` names."""
        kind, number = re.fullmatch(r"(.*?)(\d*)", axis).groups()  # type: ignore[union-attr]
        if kind == "pc" and number and 1 <= int(number) <= len(self._components):
            return np.asarray(self._components[int(number) - 1])
        if kind == "output" and number:
            weights = read_outs(self.policy)
            if int(number) < len(weights):
                padded = np.zeros(self.system.units)
                # The hidden units of the top layer come first in its part of the state, which is the last.
                first = self.system.units - int(getattr(self.system, "layers", [self.system])[-1].units)
                padded[first : first + weights.shape[1]] = weights[int(number)]
                return padded
        if axis in self.names or (kind == "input" and number and int(number) < self.system.inputs):
            channels = np.atleast_1d(self.names[axis] if axis in self.names else int(number))
            middle = self.states.mean(axis=0)[None], self.searched[0][0].inputs
            return np.asarray(self.system.input_jacobian(*middle)[0][:, channels].sum(axis=1))
        last = len(self._components), len(read_outs(self.policy)) - 1, self.system.inputs - 1
        raise ValueError(
            f"unknown axis '{axis}'; expected pc1 to pc{last[0]}, output0 to output{last[1]}, input0 to input{last[2]},"
            f" or a channel: {', '.join(map(str, self.names))}"
        )

    @property
    def labels(self) -> list[str]:
        """Labels of the two axes of the plane with the share of the variance."""
        along = self.plane.project(self.states).var(axis=0) / max(float(self.states.var(axis=0).sum()), 1e-300)
        return [
            f"{axis.upper() if axis.startswith('pc') else axis} ({100 * share:.0f} %)"
            for axis, share in zip(self.axes, along, strict=True)
        ]

    @property
    def extent(self) -> list[float]:
        """Smallest and largest coordinates of the visited states in the plane, with a margin."""
        places = self.plane.project(self.states)
        low, high = places.min(axis=0), places.max(axis=0)
        margin = 0.15 * (high - low) + 1e-9
        return [low[0] - margin[0], high[0] + margin[0], low[1] - margin[1], high[1] + margin[1]]

    @property
    def surroundings(self) -> list[float]:
        """Ends of the two axes: the visited states, and points at most their size away (see `is_near`)."""
        low_x, high_x, low_y, high_y = self.extent
        every = np.concatenate([points.points for _, points in self.searched])
        places = self.plane.project(every[self.is_near(every)])
        margin_x, margin_y = 0.05 * (high_x - low_x), 0.05 * (high_y - low_y)
        return [
            min([low_x, *places[:, 0] - margin_x]),
            max([high_x, *places[:, 0] + margin_x]),
            min([low_y, *places[:, 1] - margin_y]),
            max([high_y, *places[:, 1] + margin_y]),
        ]

    def is_near(self, points: np.ndarray) -> np.ndarray:
        """Return whether points lie in the plane within the size of the visited states around these, shape (n,)."""
        low_x, high_x, low_y, high_y = self.extent
        places, size = self.plane.project(points), np.array([high_x - low_x, high_y - low_y])
        away = np.maximum(np.array([low_x, low_y]) - places, places - np.array([high_x, high_y]))
        return np.asarray((away <= size).all(axis=1))

    def paths(self, trials: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Return coordinates in the plane of up to `PATHS` trials, shape (steps, 2) each, with the trial's index."""
        offsets = self.population.activity.offsets
        last = np.searchsorted(offsets, self.of_step[-1], side="right") - 1
        chosen = np.random.default_rng(0).permutation(np.flatnonzero(trials[: last + 1]))[:PATHS]
        places = self.plane.project(self.states)
        return [(int(k), places[slice(*np.searchsorted(self.of_step, offsets[k : k + 2]))]) for k in chosen]

    def points_table(self) -> Table:
        """Return a row for each point.

        Columns: input, kind of attractor under this input, speed, stability, share of the searches that ended in the
        point, basin (share of visited states that flow into the point), leading eigenvalue, time constant (ms), state.
        """
        drawn = np.random.default_rng(0).choice(len(self.states), min(BASIN_STATES, len(self.states)), replace=False)
        pieces = []
        for each, points in self.searched:
            n, condition = len(points), int(points.condition[0])
            flown = basins(self.system, points, self.states[drawn], condition, BASIN_STEPS)
            table = points.to_table(self.population.activity.dt)
            pieces.append(
                {
                    "input": np.full(n, each.label, dtype=object),
                    "attractor": np.full(n, describe_attractor(points).kind, dtype=object),
                    **{name: table.pop(name) for name in ("speed", "stable", "n_unstable", "share")},
                    "basin": flown,
                    **{name: values for name, values in table.items() if name != "condition"},
                }
            )
        return concatenate(pieces)

    def modes_table(self) -> Table:
        """Return a row for each mode of each point: eigenvalue, time constant (ms), right and left eigenvector."""
        pieces = []
        for each, points in self.searched:
            shape = points.eigenvalues.shape
            point, mode = (index.ravel() for index in np.indices(shape))
            right, left = points.right.swapaxes(1, 2).reshape(-1, shape[1]), points.left.reshape(-1, shape[1])
            values = points.eigenvalues.ravel()
            pieces.append(
                {
                    "input": np.full(len(point), each.label, dtype=object),
                    "point": point,
                    "mode": mode,
                    "eigenvalue_real": values.real,
                    "eigenvalue_imag": values.imag,
                    "time_constant": points.time_constants(self.population.activity.dt).ravel(),
                    "right_real": right.real,
                    "right_imag": right.imag,
                    "left_real": left.real,
                    "left_imag": left.imag,
                }
            )
        return concatenate(pieces)


def dynamics_of(view: PlotData, by: tuple[str, ...] = ()) -> Dynamics:
    """Return the network of the first run with visited states and points, cached for the next figure.

    Args:
        view: the runs, with the inputs that are held and the axes of the plane.
        by: columns that tell conditions apart; those of the view by default.

    Raises:
        FigureUnavailableError: if there are no such columns, too many conditions, or no points.
    """
    by = by or view.by
    key = ("dynamics", view.recorded.members[0][1].folder, by, view.held)
    if key in view.memory:
        return view.memory[key]
    trials = population(view)
    for name in by:
        if name not in trials.table:
            raise FigureUnavailableError(f"the trials have no column {name}")
    source = view.recorded.members[0][0]
    observations, _ = view.recorded.recording.first("observations", len(trials.activity))
    observations = observations.reshape(len(observations), -1)
    names = source.properties.labels["observation"]
    sets = _held_constant(view.held, names, observations, len(trials.activity))
    sets = sets or input_sets(trials.table, trials.activity, observations, by)
    if len(sets) > MOST_SETS:
        raise FigureUnavailableError(
            f"{len(sets)} conditions and periods are too many to tell apart; at most {MOST_SETS}"
        )
    with unavailable_on(ValueError):
        system = source.system
    if observations.shape[1] != system.inputs:
        raise FigureUnavailableError(
            f"an encoder turns the {observations.shape[1]:,} entries of an observation into the {system.inputs} inputs "
            "of the network; points are searched for networks that see observations as they are"
        )
    states, of_step = visited_states(system, trials.activity, observations)
    searched = points_of_sets(system, trials.activity, observations, sets, between=BETWEEN)
    if not searched:
        raise NoPointsError(
            f"no point slower than {SLOW:g} was found under the inputs {', '.join(s.label for s in sets)}"
        )
    view.memory[key] = Dynamics(system, source.actor, names, view.axes, trials, states, of_step, searched)
    return view.memory[key]


def _held_constant(
    texts: Sequence[str], names: dict[str, Index], observations: np.ndarray, trials: int
) -> list[InputSet]:
    """Return the constant inputs that are given in words."""
    steps, channels = np.arange(len(observations)), observations.shape[1]
    return [
        InputSet(f"input {text}", np.ones(trials, bool), steps, held_input(text, names, channels), {}, "")
        for text in texts
    ]
