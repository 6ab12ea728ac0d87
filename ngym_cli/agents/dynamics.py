"""Trained networks as dynamical systems: exact derivatives, visited states, read-outs, points under constant inputs."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.analysis.trial_tables import Table
from neurogym.dynamics import find_attractors, find_between, find_fixed_points, spread, systems
from neurogym.spaces import Index
from ngym_cli.agents.acting import Actor
from ngym_cli.agents.compiled.network import GATES
from ngym_cli.agents.compiled.steps import Stepper
from ngym_cli.config.values import Scalar, split_entries
from ngym_cli.errors import UserError, check_known, option
from ngym_cli.runs import summary
from ngym_cli.runs.conditions import conditions_of
from ngym_cli.runs.populations import period_spans

if TYPE_CHECKING:
    from neurogym.analysis.activity import Activity
    from neurogym.dynamics import Attractors, FixedPoints
    from neurogym.dynamics.systems import System
    from ngym_cli.agents.networks.base import RecurrentNetwork

#: Most visited states from which the search starts for each input, starts times units beyond which there are fewer
#: starts, fewest starts, and largest speed of a slow point.
STARTS, STATES, FEWEST, SLOW = 256, 32_768, 64, 1e-4

#: Standard deviation of the noise around visited states, as a share of the standard deviation of each unit.
NOISE = 0.1

#: Steps under constant input that half of the starts take before the search, which leads these to attractors.
SETTLING = 200

#: Steps of the shortest period for which states must hold, and spread of states below which those of all periods count,
#: as a share of the spread of all.
SHORTEST_PERIOD, FEW = 10, 0.05

#: Periods whose mean input is held unless others are named; trials and steps of which unrecorded states are computed
#: again, at least.
PERIODS = ("stimulus", "measure", "delay")
REPLAYED, REPLAYED_STEPS = 30, 2000


@dataclass(frozen=True)
class InputSet:
    """Constant input for which points are searched.

    Attributes:
        label: condition and period.
        trials: trials of the condition, shape (trials,) bool.
        steps: rows of the recording whose mean is the input.
        inputs: shape (channels,).
        values: values of the columns that define the condition.
        period: name of the period; empty for all steps.
    """

    label: str
    trials: np.ndarray
    steps: np.ndarray
    inputs: np.ndarray
    values: dict[str, Scalar]
    period: str


def system_of(network: Stepper | RecurrentNetwork) -> System:
    """Return a network of an agent as a dynamical system with exact derivatives, without recurrent noise.

    Several arrays of a state follow one another, layer by layer: hidden and cell state for the LSTM.

    Args:
        network: a ``Stepper``, or a network in torch. A user's own cell gets central differences.

    Raises:
        ValueError: for several layers of a user's own cell.
    """
    stepper: Any = network if isinstance(network, Stepper) else copy.deepcopy(network).cpu().stepper()
    source: Any = stepper if stepper.cell is not None else stepper.net  # in torch where nothing is compiled
    if source.cell is not None:
        weights = source.weights if source is stepper else source.arrays()
        layers = [_layer(source.cell, weight, source.alpha) for weight in weights]
        return layers[0] if len(layers) == 1 else systems.Stack(layers, [stepper.shape[1]] * len(layers))
    if stepper.shape[0] > 1:
        raise ValueError("the dynamics of several layers of a user's own cell are not available")
    return _in_torch(stepper.net)


def _layer(cell: str, weights: Sequence[np.ndarray], alpha: float) -> System:
    """Return a layer from its weights as ``CompiledNetwork.pack`` takes them."""
    added = *weights[:2], np.add(*weights[2:])  # in the precision of the network
    recurrent, inputs, bias = (np.asarray(array, float) for array in added)
    units = len(recurrent) // GATES[cell]
    if cell == "lstm":
        return systems.LSTM(recurrent, inputs, bias)
    if cell != "gru":
        return systems.Leaky(recurrent, inputs, bias, cell, alpha)
    rows_inputs, rows_state = np.arange(3 * units), np.r_[: 2 * units, 3 * units : 4 * units]
    from_state = np.where(np.arange(3 * units) < 2 * units, 0.0, bias[rows_state])
    return systems.GRU(recurrent[rows_state], inputs[rows_inputs], bias[rows_inputs], from_state)


def _in_torch(network: RecurrentNetwork) -> System:
    """Return a single-layer network in double precision, with derivatives by central differences."""
    import torch

    network = copy.deepcopy(network).double().cpu()
    bounds = np.cumsum(network.state_sizes)[:-1]

    @torch.no_grad()
    def step(state: np.ndarray, x: np.ndarray) -> np.ndarray:
        initial = tuple(torch.from_numpy(array)[None] for array in np.split(np.asarray(state, float), bounds, axis=1))
        inputs = np.array(np.broadcast_to(np.asarray(x, float), (len(state), np.shape(x)[-1])))
        _, after = network.one_step(torch.from_numpy(inputs), initial)
        return np.concatenate([array[0].numpy() for array in after], axis=1)

    return systems.FiniteDifferences(step, sum(network.state_sizes), int(network.input_size))


def attractors_of_sets(
    system: System, visited: np.ndarray, of_step: np.ndarray, sets: Sequence[InputSet], duration: int
) -> list[tuple[InputSet, Attractors]]:
    """Return the attractors under each constant input.

    Args:
        system: from `system_of`.
        visited: states, from `visited_states`.
        of_step: step of the recording of each state.
        sets: from `input_sets`.
        duration: steps for which states must hold, from `longest_period`.

    Returns:
        Inputs and their ``neurogym.dynamics.Attractors``.
    """
    results = []
    for each in sets:
        near = visited[np.isin(of_step, each.steps)]
        states = near if len(near) >= 2 and spread(near) > FEW * spread(visited) else visited
        results.append((each, find_attractors(system, states, each.inputs, duration, noise=NOISE)))
    return results


def longest_period(table: Table, activity: Activity) -> int:
    """Return the steps of the longest period of a task, `SHORTEST_PERIOD` at least.

    Args:
        table: the trials; without columns of periods the longest trial counts.
        activity: of the same trials.
    """
    spans = [span for spans in period_spans(table, activity.offsets, activity.dt).values() for span in spans]
    steps = [span.stop - span.start for span in spans] or np.diff(activity.offsets).tolist()
    return max(SHORTEST_PERIOD, *steps)


def search_points(
    system: System,
    states: Sequence[np.ndarray],
    inputs: np.ndarray,
    starts: int | None = None,
    slow: float | None = None,
    between: int = 0,
) -> FixedPoints:
    """Search points for all inputs at once from visited states with noise; half of the starts run freely first.

    Args:
        system: from `system_of`.
        states: visited states of each input, each of shape (states, units).
        inputs: constant inputs, shape (conditions, channels).
        starts: number of starts for each input; None for 256, fewer for networks of more than 128 units.
        slow: largest speed of slow points; None returns fixed points only.
        between: further starts between each pair of neighbouring stable points, where saddles lie.
    """
    starts = starts or min(STARTS, max(FEWEST, STATES // system.units))
    rng = np.random.default_rng(0)
    begin = np.stack([_starts(each, starts, rng) for each in states])
    half = starts // 2
    settled = begin[:, half:].reshape(-1, system.units)
    constant = np.repeat(np.asarray(inputs, float), starts - half, axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(SETTLING):
            settled = system.step(settled, constant)
    begin[:, half:] = settled.reshape(len(inputs), starts - half, system.units)
    return find_between(system, find_fixed_points(system, begin, inputs, slow=slow), between)


def _starts(states: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    drawn = states[rng.choice(len(states), n, replace=len(states) < n)].astype(float)
    return drawn + NOISE * states.std(axis=0) * rng.standard_normal(drawn.shape)


def input_sets(
    table: Table, activity: Activity, observations: np.ndarray, by: Sequence[str], periods: Sequence[str] = PERIODS
) -> list[InputSet]:
    """Return the mean input of each available period, condition by condition.

    Args:
        table: the trials.
        activity: of the same trials.
        observations: shape (steps, channels).
        by: columns that tell conditions apart.
        periods: names of periods; of all steps together if the trials have none of them.
    """
    spans, sets = period_spans(table, activity.offsets, activity.dt), list[InputSet]()
    conditions = conditions_of(table, by)
    for k, values in enumerate(conditions.levels):
        members = conditions.index == k
        for period in periods:
            inside = [spans[period][trial] for trial in np.flatnonzero(members)] if period in spans else []
            steps = np.concatenate([np.zeros(0, int), *(np.arange(span.start, span.stop) for span in inside)])
            if len(steps):
                words = [f"{name} {summary.label(value)}" for name, value in values.items()]
                mean = observations[steps].mean(axis=0)
                sets.append(InputSet(", ".join([*words, period]), members, steps, mean, values, period))
    everything = np.arange(len(observations))
    all_steps = InputSet("all steps", np.ones(len(activity), bool), everything, observations.mean(axis=0), {}, "")
    return sets or [all_steps]


def visited_states(
    system: System, activity: Activity, observations: np.ndarray, sessions: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return states visited in trials, shape (n, units), and the step of the recording of each state.

    States that are not recorded (cell states, lower layers) are computed again, from zero or from the end of the
    trial before in the session, whichever gives the recorded activity.

    Args:
        system: from `system_of`.
        activity: recorded units of the top layer.
        observations: shape (steps, channels).
        sessions: session of each trial, shape (trials,); all trials begin at zero where left out.
    """
    values, offsets = activity.values, activity.offsets
    if system.units == values.shape[1]:
        return np.asarray(values, float), np.arange(len(values))
    trials = min(len(activity), max(REPLAYED, int(np.searchsorted(offsets, REPLAYED_STEPS))))
    first = system.units - int(getattr(system, "layers", [system])[-1].units)  # hidden units of the top layer
    last: dict[object, np.ndarray] = {}
    visited = []
    for k in range(trials):
        steps = slice(offsets[k], offsets[k + 1])
        session = k if sessions is None else sessions[k]
        state = np.stack([np.zeros(system.units), last.get(session, np.zeros(system.units))])
        after = system.step(state, observations[steps.start])[:, first : first + values.shape[1]]
        begin = int(np.linalg.norm(after - values[steps.start], axis=1).argmin())
        state = state[begin : begin + 1]
        for x in observations[steps]:
            state = system.step(state, x)
            visited.append(state[0])
        last[session] = state[0]
    return np.array(visited), np.arange(offsets[0], offsets[trials])


def held_input(text: str, names: Mapping[str, Index], channels: int) -> np.ndarray:
    """Return a constant input that is given in words, shape (channels,).

    Args:
        text: a number for all channels, a number for each channel, as in ``0,0,1``, or values of named channels, as in
            ``fixation=1,stimulus=0.5``, all others 0.
        names: positions of the named channels.
        channels: number of channels.

    Raises:
        UserError: on an unknown channel, or values that are not numbers or do not fit the channels.
    """
    values, words = np.zeros(channels), split_entries(text)
    try:
        if not words or "=" not in text:
            numbers = [float(word) for word in words]
            if len(numbers) not in (1, channels):
                raise UserError(f"{option('--input')} {text}: expected 1 or {channels} numbers, got {len(numbers)}")
            values += np.array(numbers)
        for word in words if "=" in text else ():
            name, _, number = word.partition("=")
            check_known("channel", name, names)
            values[np.atleast_1d(np.asarray(names[name], int))] = float(number)
    except ValueError:
        raise UserError(f"{option('--input')} {text}: expected numbers, or NAME=NUMBER for channels by name") from None
    if not np.isfinite(values).all():
        raise UserError(f"{option('--input')} {text}: expected finite numbers")
    return values


def read_outs(policy: Any) -> np.ndarray:
    """Return the weights from the units of the top layer to the actions, shape (actions, units).

    Args:
        policy: an ``Actor``, or a policy in torch.

    Raises:
        ValueError: if hidden layers lie between units and actions.
    """
    if isinstance(policy, Actor):
        weights = [weight.T for weight, _, _ in policy.read_out.policy]
    else:
        hidden = [layer for layer in policy.mlp_extractor.policy_net if hasattr(layer, "weight")]
        weights = [layer.weight.detach().cpu().numpy() for layer in [*hidden, policy.action_net]]
    if len(weights) != 1:
        raise ValueError("hidden layers lie between the units and the actions")
    return np.asarray(weights[0], float)
