"""Fixed and slow points of a trained network under the mean input of each condition and period."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ngym_cli.runs import summary
from ngym_cli.runs.trial_table import Table

if TYPE_CHECKING:
    from neurogym.analysis import Activity, FixedPoints
    from ngym_cli.agents.networks.policy import RecurrentPolicy

#: States from which the search starts, steps that each may take, and the speed below which a point counts as slow.
STARTS, STEPS, SLOW = 16, 60, 1e-4
#: Steps of the network under constant input after which a second search starts from where each state has come to.
SETTLING = 500

#: Periods whose mean input is held unless others are named; trials from which hidden states are run again.
PERIODS = ("stimulus", "measure", "delay")
REPLAYED = 30

Step = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class InputSet:
    """A constant input for which points are looked for.

    Attributes:
        label: condition and period.
        trials: whose paths belong to it, shape (trials,) bool.
        steps: rows of the recording that it is the mean of.
        inputs: shape (channels,).
        values: of the columns that tell the conditions apart.
        period: name of the period; empty for all steps.
    """

    label: str
    trials: np.ndarray
    steps: np.ndarray
    inputs: np.ndarray
    values: dict[str, Any]
    period: str


def network_step(policy: RecurrentPolicy) -> tuple[Step, int]:
    """Return the actor's network as ``h' = F(h, x)`` in NumPy, and the size of its state.

    Several arrays of a state follow one another: shape (n, 2 * units) for a network with a cell state (LSTM).

    Args:
        policy: a recurrent policy of one layer.
    """
    import torch

    network = copy.deepcopy(policy.networks[0]).double().cpu()  # slopes are taken over differences of 1e-6 and less

    bounds = np.cumsum(network.state_sizes)[:-1]

    @torch.no_grad()
    def step(state: np.ndarray, x: np.ndarray) -> np.ndarray:
        given = tuple(torch.from_numpy(part)[None] for part in np.split(state.astype(np.float64), bounds, axis=1))
        inputs = torch.from_numpy(np.tile(np.asarray(x, np.float64), (len(state), 1)))
        _, after = network.sequence(inputs, [len(state)], tuple(given))
        return np.concatenate([part[0].numpy() for part in after], axis=1)

    return step, sum(network.state_sizes)


def points_of_sets(
    policy: RecurrentPolicy, activity: Activity, observations: np.ndarray, sets: Sequence[InputSet], **search: Any
) -> list[tuple[InputSet, FixedPoints]]:
    """Return the points of each set of inputs for which any was found.

    Args:
        policy: a recurrent policy of one layer.
        activity: of its units in recorded trials, a ``neurogym.analysis.Activity``.
        observations: what it saw, shape (steps, channels).
        sets: from `input_sets`.
        **search: see `search_points`.

    Returns:
        Inputs and their ``neurogym.analysis.FixedPoints``.
    """
    step, size = network_step(policy)
    visited, of_step = _states(step, size, activity, observations)
    found = []
    for each in sets:
        near = visited[np.isin(of_step, each.steps)]
        points = search_points(step, near if len(near) >= 2 else visited, each.inputs, **search)
        if len(points.points):
            found.append((each, points))
    return found


def search_points(
    step: Step, states: np.ndarray, inputs: np.ndarray, starts: int = STARTS, slow: float = SLOW, max_steps: int = STEPS
) -> FixedPoints:
    """Look for points from visited states, and from where these come to under the input.

    Args:
        step: from `network_step`.
        states: that were visited, shape (states, units).
        inputs: the constant input, shape (channels,).
        starts: states to start from.
        slow: largest speed of a point.
        max_steps: evaluations allowed per start.
    """
    from neurogym.analysis import find_fixed_points

    begin = states[np.random.default_rng(0).permutation(len(states))[:starts]]
    settled = begin
    for _ in range(SETTLING):  # leads to the attractors, where the search alone may end at a lesser slow place
        settled = step(settled, inputs)
    return find_fixed_points(step, np.concatenate([begin, settled]), inputs, max_speed=slow, max_steps=max_steps)


def input_sets(
    table: Table, activity: Activity, observations: np.ndarray, by: Sequence[str], periods: Sequence[str] = PERIODS
) -> list[InputSet]:
    """Return the mean input of each period (of those that there are), condition by condition.

    Args:
        table: the trials.
        activity: of the same trials.
        observations: shape (steps, channels).
        by: columns that tell conditions apart.
        periods: names of periods; of all steps together if the trials have none of them.
    """
    lengths = activity.lengths
    place = np.arange(len(observations)) - np.repeat(activity.offsets[:-1], lengths)
    trial = np.repeat(np.arange(len(lengths)), lengths)
    sets: list[InputSet] = []
    for values, members in _conditions(table, by):
        for period in periods:
            begin, end = _span(table, period, activity.dt)
            if begin is None:
                continue
            inside = members[trial] & (place >= begin[trial]) & (place < np.minimum(end, lengths)[trial])
            if inside.any():
                words = [f"{name} {summary.label(value)}" for name, value in values.items()]
                steps = np.flatnonzero(inside)
                mean = observations[steps].mean(axis=0)
                sets.append(InputSet(", ".join([*words, period]), members, steps, mean, values, period))
    everything = np.arange(len(observations))
    whole = InputSet("all steps", np.ones(len(lengths), bool), everything, observations.mean(axis=0), {}, "")
    return sets or [whole]


def _conditions(table: Table, by: Sequence[str]) -> list[tuple[dict[str, Any], np.ndarray]]:
    """Return the values of each condition and the trials that it holds, shape (trials,) bool."""
    found: list[tuple[dict[str, Any], np.ndarray]] = [({}, np.ones(len(table["choice"]), bool))]
    for name in by:
        values = [value for value in dict.fromkeys(sorted(table[name].tolist(), key=str)) if value == value]
        found = [
            ({**before, name: value}, members & (table[name] == value)) for before, members in found for value in values
        ]
    return [(values, members) for values, members in found if members.any()]


def _span(table: Table, period: str, dt: float) -> tuple[np.ndarray | None, Any]:
    """Return first and last step (exclusive) of a period in each trial; None where there is none."""
    length, onset = table.get(f"period_{period}"), table.get(f"onset_{period}")
    if length is None or onset is None or not np.any(length > 0):
        return None, None
    length, onset = np.nan_to_num(length), np.nan_to_num(onset)
    begin = (onset / dt).astype(int)
    return begin, begin + (length / dt).astype(int)


def _states(step: Step, size: int, activity: Activity, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return states visited in trials, and the step of the recording that each belongs to.

    A cell state, which is not recorded, is run again from the start of trials.
    """
    values, offsets = activity.values, activity.offsets
    if size == values.shape[1]:
        return np.asarray(values, float), np.arange(len(values))
    trials = min(REPLAYED, len(activity))
    visited = []
    for k in range(trials):
        state = np.zeros((1, size))
        for x in observations[offsets[k] : offsets[k + 1]]:
            state = step(state, x)
            visited.append(state[0])
    return np.array(visited), np.arange(offsets[0], offsets[trials])
