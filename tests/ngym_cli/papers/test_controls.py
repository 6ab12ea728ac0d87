"""Controls: networks before training, without some inputs, and strategies in place of networks."""

from __future__ import annotations

import numpy as np
import pytest

from ngym_cli import runs
from ngym_cli.papers import controls
from ngym_cli.papers.model import EvaluationRequest
from ngym_cli.papers.paper_runs import PaperRun


@pytest.fixture(scope="module")
def trained(run_folder):
    """A trained network with an evaluation."""
    requested = {"main": EvaluationRequest(trials=60)}
    return PaperRun.evaluated(runs.RunFolder(run_folder), 0, requested)


def weights(run):
    return {name: value.numpy() for name, value in run.agent.policy.state_dict().items()}


def test_an_untrained_network_has_other_weights_and_trials_of_its_own(trained):
    result = controls.untrained(trained)
    ours, reference = weights(trained), weights(result)
    assert ours.keys() == reference.keys() and not all(np.array_equal(ours[name], reference[name]) for name in ours)
    assert len(result.trials()["trial"]) == 60 and result.path != trained.path
    assert weights(controls.untrained(trained)).keys() == reference.keys()
    assert np.array_equal(result.trials()["choice"], controls.untrained(trained).trials()["choice"])


def test_channels_are_cut_by_name(trained):
    result, before = controls.cut(trained, "fixation", controls.FEEDBACK), weights(trained)
    for name, value in weights(result).items():
        if name.endswith("weight_ih_l0"):
            assert not value[:, 0].any() and value[:, 1].any()
            size = trained.agent.make_env().unwrapped.observation_space.shape[0]
            assert not value[:, size:].any()
        else:
            assert np.array_equal(value, before[name])
    with pytest.raises(ValueError, match="no channel 'sound'"):
        controls.cut(trained, "sound")


def test_networks_whose_weights_have_other_names_are_not_called_cut(trained):
    with pytest.raises(ValueError, match=r"no weights weights_of_my_cell .* with rewired"):
        controls.cut(trained, "fixation", weights="weights_of_my_cell")


def test_recurrent_weights_are_shuffled_within_each_unit(trained):
    result, before = weights(controls.shuffled(trained)), weights(trained)
    for name, value in result.items():
        same = np.array_equal(value, before[name])
        assert same != name.endswith("weight_hh_l0")
        if not same:
            assert np.array_equal(np.sort(value, 1), np.sort(before[name], 1))


def test_a_strategy_answers_in_place_of_the_network(trained):
    right = controls.answered(trained, lambda table: {**table, "outcome": np.full(len(table["trial"]), "correct")})
    assert set(right.trials()["outcome"]) == {"correct"}
    assert right.summary()["trials"] == 60
    with pytest.raises(ValueError, match="no activity"):
        right.recording()
