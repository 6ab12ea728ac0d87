"""Network of a run as a dynamical system: visited states, constant inputs, points, and the plane that is drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from neurogym.analysis.trial_tables import Table
from neurogym.dynamics import Attractors, Limit, Plane, spread
from neurogym.dynamics.attractors import MOST_PERIODS
from neurogym.dynamics.limits import run
from neurogym.dynamics.systems import System
from neurogym.spaces import Index
from ngym_cli.agents.dynamics import (
    InputSet,
    attractors_of_sets,
    held_input,
    input_sets,
    longest_period,
    read_outs,
    visited_states,
)
from ngym_cli.errors import UserError, option
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

#: Distance between visited states up to which there is nothing to draw.
STILL = 1e-6

#: Kinds of limit sets in words.
LIMITS = {"cycle": "limit cycle", "quasi-periodic": "quasi-periodic motion", "chaotic": "chaos"}


@dataclass(frozen=True)
class Dynamics:
    """Network of a run with visited states and attractors under constant inputs.

    Attributes:
        system: the network with derivatives.
        policy: agent of the run.
        names: positions of the named input channels.
        axes: two axes of the plane that is drawn, as after ``--axes``.
        population: recorded trials.
        states: visited states, shape (n, units).
        of_step: step of the recording of each state, shape (n,).
        sets: constant inputs under which attractors are found.
    """

    system: System
    policy: Actor | BasePolicy
    names: dict[str, Index]
    axes: tuple[str, str]
    population: Population
    states: np.ndarray
    of_step: np.ndarray
    sets: Sequence[InputSet]

    @cached_property
    def searched(self) -> list[tuple[InputSet, Attractors]]:
        """The inputs with their attractors."""
        _ = self.plane  # unknown axes are refused before the search, which takes long
        duration = longest_period(self.population.table, self.population.activity)
        return attractors_of_sets(self.system, self.states, self.of_step, self.sets, duration)

    @cached_property
    def plane(self) -> Plane:
        """Plane of two axes through the mean visited state; principal components of the visited states by default."""
        try:
            return Plane.through(self.states.mean(axis=0), *(self._direction(axis) for axis in self.axes))
        except ValueError as error:
            raise UserError(f"{option('--axes')} {','.join(self.axes)}: {error}") from None

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
            middle = self.states.mean(axis=0)[None], self.sets[0].inputs
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
        low, high = np.reshape(self.extent, (2, 2)).T
        every = np.concatenate([attractors.points.points for _, attractors in self.searched])
        places, margin = self.plane.project(every[self.is_near(every)]), 0.05 * (high - low)
        low, high = np.vstack([low, places - margin]).min(axis=0), np.vstack([high, places + margin]).max(axis=0)
        return [low[0], high[0], low[1], high[1]]

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

    def sentence(self) -> str:
        """Return the attractors under each input in words, with the times for which they were followed."""
        dt = self.population.activity.dt
        return " ".join(f"{each.label}: {'; '.join(self._described(result, dt))}." for each, result in self.searched)

    def _described(self, result: Attractors, dt: float) -> list[str]:
        """Return the name of attractors, how long a continuum holds, and how it was seen."""
        words, points = [result.name], result.points.points[result.points.fixed]
        if result.continuum is not None:
            held, period = result.continuum, f"the longest period ({result.duration * dt:,.0f} ms)"
            times = f"{held.holds:.0f} times" if np.isfinite(held.holds) else f"more than {MOST_PERIODS} times"
            drift = f"drift takes {held.ratio:,.0f} times as long as decay" if np.isfinite(held.ratio) else "no drift"
            words.append(f"the {held.kind} holds for {times} {period}; {drift}")
        words += [_orbit(limit, dt) for limit in result.limits if limit.kind in LIMITS]
        if self.is_empty(result):
            where = "far from the visited states" if len(points) else "none"
            words.append(
                f"fixed points: {where}; try {option('--input 0')}, {option('--input NAME=VALUE')}, or conditions "
                f"with {option('--by')}"
            )
        moving = sum(limit.share for limit in result.limits if limit.kind == "unsettled")
        if moving and "not settled" not in result.name:
            words.append(f"{100 * moving:.0f} % of the visited states had not settled after {result.max_steps:,} steps")
        settled = sum(limit.share for limit in result.limits if limit.kind == "point")
        if settled:
            words.append(
                f"{100 * settled:.0f} % of the visited states settle at points within {result.max_steps:,} steps"
            )
        return words

    def is_empty(self, result: Attractors) -> bool:
        """Return whether no fixed point is near the visited states in the plane."""
        return not self.is_near(result.points.points[result.points.fixed]).any()

    def speed_of(self, state: np.ndarray, result: Attractors) -> str:
        """Return how far activity moves from a state during the task's longest period, as a share of its distances."""
        inputs = next(each.inputs for each, other in self.searched if other is result)
        moved = np.linalg.norm(run(self.system, state[None], inputs, result.duration)[0] - state) / result.scale
        return f"{100 * moved:.0f} % in {result.duration * self.population.activity.dt:,.0f} ms"

    def points_table(self) -> Table:
        """Return a row for each point, and for each cycle and other orbit (one of its states).

        Columns: input, attractor (name under this input), set (``stable point``, ``marginal point``, ``unstable
        point``, ``slow point``, ``limit cycle`` and so on), period (steps) and range of an orbit, speed, stability,
        share of the searches that ended in the point, basin (share of visited states that settle there), leading
        eigenvalue, time constant of fixed points (ms), state.
        """
        pieces = []
        for each, result in self.searched:
            points, orbits = result.points, [limit for limit in result.limits if limit.kind != "point"]
            table = points.to_table(self.population.activity.dt)
            names = np.select(
                [~points.fixed, points.stable, points.n_unstable > 0],
                ["slow point", "stable point", "unstable point"],
                "marginal point",
            )
            n, m = len(points), len(orbits)
            empty = {name: np.full(m, np.nan) for name in table} | {
                f"h{k}": values
                for k, values in enumerate(
                    np.array([o.states[-1] for o in orbits]).reshape(m, points.points.shape[1]).T
                )
            }
            basin = [_basin(point, result) for point in points.points] + [orbit.share for orbit in orbits]
            columns = {name: np.concatenate([table[name].astype(float), empty[name]]) for name in table if m or n}
            pieces.append(
                {
                    "input": np.full(n + m, each.label, dtype=object),
                    "attractor": np.full(n + m, result.name, dtype=object),
                    "set": np.array([*names, *(LIMITS.get(o.kind, o.kind) for o in orbits)], dtype=object),
                    "period": np.array([np.nan] * n + [orbit.period for orbit in orbits]),
                    "range": np.array([0.0] * n + [orbit.extent for orbit in orbits]),
                    "basin": np.array(basin),
                    **{name: values for name, values in columns.items() if name != "condition"},
                }
            )
        return concatenate(pieces)

    def modes_table(self) -> Table:
        """Return a row for each mode of each fixed point: eigenvalue, time constant (ms), right and left vector."""
        pieces = []
        for each, result in self.searched:
            points = result.points.take(result.points.fixed)
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
        FigureUnavailableError: if there are no such columns, too many conditions, or activity that does not change.
    """
    by = by or view.by
    if len(view.sources) > 1:
        others = view.sources[1].run.name if len(view.sources) == 2 else "every other run"
        view.left_out[others] = "the figure is of one run; attractors compares several"
    key = ("dynamics", view.recorded.members[0][1].folder, by, view.held)
    if key in view.memory:
        return view.memory[key]
    trials = population(view)
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
    states, of_step = visited_states(system, trials.activity, observations, trials.table.get("env"))
    if spread(states) <= STILL:
        raise FigureUnavailableError("the activity of the network does not change")
    view.memory[key] = Dynamics(system, source.actor, names, view.axes, trials, states, of_step, sets)
    return view.memory[key]


def _basin(point: np.ndarray, result: Attractors) -> float:
    """Return the share of the followed states that settle at a point."""
    ends = [limit for limit in result.limits if limit.kind == "point"]
    return sum(end.share for end in ends if np.linalg.norm(end.states[0] - point) <= 1e-3 * result.scale)


def _orbit(limit: Limit, dt: float) -> str:
    period = f" of {limit.period:.1f} steps ({limit.period * dt / 1000:.3g} s)" if limit.kind == "cycle" else ""
    growth = f", exponent {limit.exponent:.2g} per step" if limit.kind == "chaotic" else ""
    share = f"reached by {100 * limit.share:.0f} % of the visited states"
    return f"{LIMITS[limit.kind]}{period}, range {limit.extent:.2g}{growth}, {share}"


def _held_constant(
    texts: Sequence[str], names: dict[str, Index], observations: np.ndarray, trials: int
) -> list[InputSet]:
    """Return the constant inputs that are given in words."""
    steps, channels = np.arange(len(observations)), observations.shape[1]
    return [
        InputSet(f"input {text}", np.ones(trials, bool), steps, held_input(text, names, channels), {}, "")
        for text in texts
    ]
