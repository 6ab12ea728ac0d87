"""Points of a network whose dynamics are known, under the inputs of its recorded trials."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from neurogym.analysis import Activity
from neurogym.dynamics import FiniteDifferences, systems
from ngym_cli.agents.dynamics import (
    attractors_of_sets,
    held_input,
    input_sets,
    longest_period,
    system_of,
    visited_states,
)
from ngym_cli.agents.networks.gated import GRU, LSTM
from ngym_cli.agents.networks.leaky import CTRNN, EIRNN, RNN
from ngym_cli.errors import UserError

LENGTH, UNITS = 10, 3


@pytest.fixture
def policy():
    """The first unit keeps one of two states, the others follow the two inputs."""
    network = RNN(2, UNITS)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        network.weight_hh_l0[0, 0] = 1.5
        network.weight_ih_l0[1, 0] = network.weight_ih_l0[2, 1] = 1.0
    return SimpleNamespace(networks=[network])


@pytest.fixture
def recorded():
    """Two contexts, each the height of one channel, in trials of a fixation and a stimulus of five steps."""
    rng = np.random.default_rng(0)
    context = np.repeat([0, 1], 20)
    offsets = np.arange(0, 40 * LENGTH + 1, LENGTH)
    observations = np.zeros((40 * LENGTH, 2), np.float32)
    for trial, index in enumerate(context):
        observations[offsets[trial] + 5 : offsets[trial + 1], index] = 0.5
    activity = Activity(rng.uniform(-1, 1, (40 * LENGTH, UNITS)), offsets, 100.0)
    fifty = np.full(40, 500.0)
    table = {
        "choice": np.ones(40),
        "context": context,
        "onset_stimulus": fifty,
        "period_stimulus": fifty,
        "onset_delay": np.where(context == 0, 0.0, np.nan),
        "period_delay": np.where(context == 0, 200.0, np.nan),
    }
    return table, activity, observations


def test_inputs_are_means_of_conditions_and_periods(recorded):
    table, activity, observations = recorded
    sets = input_sets(table, activity, observations, ("context",))
    assert [(each.values, each.period) for each in sets] == [
        ({"context": 0}, "stimulus"),
        ({"context": 0}, "delay"),
        ({"context": 1}, "stimulus"),
    ]
    assert [each.inputs.tolist() for each in sets] == [[0.5, 0], [0, 0], [0, 0.5]]
    assert sets[0].label == "context 0, stimulus" and sets[0].trials.sum() == 20
    assert len(sets[1].steps) == 40
    (uninterrupted,) = input_sets(table, activity, observations, (), ("sample",))
    assert uninterrupted.label == "all steps" and uninterrupted.inputs.tolist() == [0.125, 0.125]


def test_points_are_those_of_the_network_under_each_input(policy, recorded):
    table, activity, observations = recorded
    sets = input_sets(table, activity, observations, ("context",), ("stimulus",))
    system = system_of(policy.networks[0])
    assert longest_period(table, activity) == 10  # half a second is 5 steps, fewer than the least
    results = attractors_of_sets(system, *visited_states(system, activity, observations), sets, 10)
    for (each, found), driven in zip(results, (1, 2), strict=True):
        points = found.points.take(found.points.fixed)
        assert found.name == "2 stable points"
        assert np.unique(np.round(points.points[:, 0], 3)).tolist() == [-0.859, 0, 0.859]
        assert points.points[:, driven] == pytest.approx(np.tanh(0.5), abs=1e-6)
        assert each.values["context"] == driven - 1
    moved = system.step(np.zeros((1, UNITS)), np.array([1.0, 0]))[0]
    assert system.units == UNITS and moved == pytest.approx([0, np.tanh(1), 0])


@pytest.mark.usefixtures("variant")
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", [LSTM, GRU, RNN, CTRNN, EIRNN])
def test_a_network_as_a_system_steps_as_it_acts_and_has_exact_derivatives(cell, layers):
    torch.manual_seed(0)
    network, rng = cell(3, 5, num_layers=layers), np.random.default_rng(0)
    system = system_of(network)
    sizes = [size for _ in range(layers) for size in network.state_sizes]
    state = [rng.uniform(0.1, 1, (layers, 4, size)).astype(np.float32) for size in network.state_sizes]
    x, out = rng.normal(size=(4, 3)).astype(np.float32), [np.empty_like(array) for array in state]
    network.stepper().step(x, tuple(state), tuple(out))

    def joined(arrays):
        return np.concatenate([array[layer] for layer in range(layers) for array in arrays], axis=1).astype(float)

    assert system.units == sum(sizes)
    assert system.step(joined(state), x) == pytest.approx(joined(out), abs=1e-5)
    differences = FiniteDifferences(system.step, system.units, 3)
    assert system.jacobian(joined(state), x) == pytest.approx(differences.jacobian(joined(state), x), abs=1e-6)


NAMES = {"fixation": 0, "stimulus": [1, 2]}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.5", [0.5, 0.5, 0.5]),
        ("1,0,-1", [1, 0, -1]),
        ("stimulus=2", [0, 2, 2]),
        ("fixation=1,stimulus=.5", [1, 0.5, 0.5]),
    ],
)
def test_an_input_is_held_at_numbers_or_by_the_names_of_channels(text, values):
    assert held_input(text, NAMES, 3).tolist() == values


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,2", "expected 1 or 3 numbers, got 2"),
        ("stim=1", "did you mean 'stimulus'"),
        ("a", "expected numbers"),
        ("fixation=", "expected numbers"),
        ("", "got 0"),
        ("nan", "finite"),
        ("stimulus=inf", "finite"),
    ],
)
def test_an_input_that_does_not_fit_says_why(text, words):
    with pytest.raises(UserError, match=words):
        held_input(text, NAMES, 3)


@pytest.mark.parametrize("carried", [True, False])
def test_states_that_are_not_recorded_carry_on_within_a_session_if_the_activity_does(carried):
    """Cell states of two sessions whose trials alternate in the recording, each of three steps."""
    rng, units = np.random.default_rng(0), 4
    weights = rng.normal(size=(4 * units, units)), rng.normal(size=(4 * units, 2)), rng.normal(size=4 * units)
    system = systems.LSTM(*weights)
    observations, sessions = rng.normal(size=(24, 2)), np.array([0, 1] * 4)
    last, expected = {0: np.zeros((1, 2 * units)), 1: np.zeros((1, 2 * units))}, []
    for trial, session in enumerate(sessions):
        state = last[session] if carried else np.zeros((1, 2 * units))
        for x in observations[3 * trial : 3 * trial + 3]:
            state = system.step(state, x)
            expected.append(state[0])
        last[session] = state
    activity = Activity(np.array(expected)[:, :units], np.arange(0, 25, 3), 100.0)
    states, steps = visited_states(system, activity, observations, sessions)
    assert states == pytest.approx(np.array(expected)) and steps.tolist() == list(range(24))
