"""Points of a network whose dynamics are known, under the inputs of its recorded trials."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from neurogym.analysis import Activity
from ngym_cli.agents.fixed_points import input_sets, network_step, points_of_sets
from ngym_cli.agents.networks.leaky import RNN

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
    for trial, which in enumerate(context):
        observations[offsets[trial] + 5 : offsets[trial + 1], which] = 0.5
    activity = Activity(rng.uniform(-1, 1, (40 * LENGTH, UNITS)), offsets, 100.0)
    fifty = np.full(40, 500.0)
    table = {
        "choice": np.ones(40), "context": context, "onset_stimulus": fifty, "period_stimulus": fifty,
        "onset_delay": np.where(context == 0, 0.0, np.nan), "period_delay": np.where(context == 0, 200.0, np.nan),
    }  # fmt: skip
    return table, activity, observations


def test_inputs_are_means_of_conditions_and_periods(recorded):
    table, activity, observations = recorded
    sets = input_sets(table, activity, observations, ("context",))
    assert [(each.values, each.period) for each in sets] == [
        ({"context": 0}, "stimulus"), ({"context": 0}, "delay"), ({"context": 1}, "stimulus"),
    ]  # fmt: skip
    assert [each.inputs.tolist() for each in sets] == [[0.5, 0], [0, 0], [0, 0.5]]
    assert sets[0].label == "context 0, stimulus" and sets[0].trials.sum() == 20
    assert len(sets[1].steps) == 40
    (whole,) = input_sets(table, activity, observations, (), ("sample",))
    assert whole.label == "all steps" and whole.inputs.tolist() == [0.125, 0.125]


def test_points_are_those_of_the_network_under_each_input(policy, recorded):
    table, activity, observations = recorded
    sets = input_sets(table, activity, observations, ("context",), ("stimulus",))
    found = points_of_sets(policy, activity, observations, sets, slow=1e-8)
    for (each, points), driven in zip(found, (1, 2), strict=True):
        assert np.unique(np.round(points.points[:, 0], 3)).tolist() == [-0.859, 0, 0.859]
        assert points.points[:, driven] == pytest.approx(np.tanh(0.5), abs=1e-3)
        assert each.values["context"] == driven - 1
    step, size = network_step(policy)
    assert size == UNITS and step(np.zeros((1, UNITS)), np.array([1.0, 0]))[0] == pytest.approx([0, np.tanh(1), 0])
