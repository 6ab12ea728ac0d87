"""Controls: networks before training, without some inputs, and strategies in place of networks."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from ngym_cli import runs
from ngym_cli.papers import controls
from ngym_cli.papers.model import EvaluationRequest
from ngym_cli.papers.paper_runs import PaperRun


@pytest.fixture(scope="module")
def trained(run_folder, tmp_path_factory):
    """A trained network with an evaluation."""
    folder = shutil.copytree(run_folder, tmp_path_factory.mktemp("controls") / "run")
    recorded = EvaluationRequest(trials=20, record=("activity", "observations"))
    requested = {"main": EvaluationRequest(trials=60), "recorded": recorded}
    return PaperRun.evaluated(runs.RunFolder(folder), 0, requested)


def weights(run):
    return {name: value.numpy() for name, value in run.agent.policy.state_dict().items()}


def test_an_untrained_network_has_other_weights_and_trials_of_its_own(trained):
    result = controls.library("untrained", trained)
    ours, reference = weights(trained), weights(result)
    assert ours.keys() == reference.keys() and not all(np.array_equal(ours[name], reference[name]) for name in ours)
    assert len(result.trials()["trial"]) == 60 and result.path != trained.path
    again = controls.library("untrained", trained)
    assert np.array_equal(result.trials()["choice"], again.trials()["choice"])


def test_halfway_networks_lie_between_the_untrained_and_the_trained_ones(trained):
    before, after, middle = (
        weights(run) for run in (controls.library("untrained", trained), trained, controls.library("halfway", trained))
    )
    for name, value in middle.items():
        assert np.allclose(value, (before[name] + after[name]) / 2, atol=1e-6)


def test_scrambled_networks_keep_the_eigenvalues_of_each_gate(trained):
    result, before = weights(controls.library("scrambled", trained)), weights(trained)
    for name, value in result.items():
        same = np.array_equal(value, before[name])
        assert same != name.endswith("weight_hh_l0")
        if not same:
            units = value.shape[1]
            gates = zip(value.reshape(-1, units, units), before[name].reshape(-1, units, units), strict=True)
            for ours, reference in gates:
                expected = np.sort(np.abs(np.linalg.eigvals(reference)))
                assert np.allclose(np.sort(np.abs(np.linalg.eigvals(ours))), expected, atol=1e-3)


def test_networks_learn_from_the_evidence_of_other_trials(trained):
    result = controls.library("shuffled_evidence", trained)
    env = result.agent.make_env()
    env.reset(seed=0)
    trials, columns = env.unwrapped.make_trials(300), np.atleast_1d(env.unwrapped.observation_space.name["stimulus"])
    rows = trials.rows("stimulus")
    shown = np.array([trials.ob[rows.index[rows.trial == k]][:, columns].mean(axis=0) for k in range(300)])
    first = trials.gt[trials.rows("decision").index][::1]
    truth = np.array([first[trials.rows("decision").trial == k][0] for k in range(300)])
    evidence = (shown[:, -1] - shown[:, 0]) * (2 * truth - truth.min() - truth.max())
    assert abs(evidence.mean()) < 3 * evidence.std() / np.sqrt(300), "evidence says nothing about the right answer"
    assert evidence[np.abs(evidence) > 0].size > 200, "and there is some"
    assert result.manifest["steps"] == trained.manifest["steps"]


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
    with pytest.raises(ValueError, match="no weights weights_of_my_cell"):
        controls.cut(trained, "fixation", name="weights_of_my_cell")


def test_a_strategy_answers_in_place_of_the_network(trained):
    right = controls.answered(trained, lambda table: {**table, "outcome": np.full(len(table["trial"]), "correct")})
    assert set(right.trials()["outcome"]) == {"correct"}
    assert right.summary()["trials"] == 60
    with pytest.raises(ValueError, match="no activity"):
        right.recording()


def test_networks_are_stepped_and_read_out_as_the_agent_is(trained):
    observations = np.asarray(trained.recording("recorded")["observations"][:30])
    activity, inputs = trained.agent.activity(observations), observations.astype(float)[:, None]
    states = trained.states(inputs)
    assert np.allclose(states[:, 0, : trained.units], activity, atol=1e-4)
    weights, bias = trained.read_out
    assert np.allclose(trained.outputs(states[:, 0]), activity @ weights.T + bias, atol=1e-3)
    silent = trained.states(inputs, states[5], silenced=[3, 4])
    assert not silent[:, :, [3, 4]].any() and silent[:, :, :3].any()
    assert trained.channels("fixation") == [0] and trained.channels("feedback") == list(range(3, trained.system.inputs))


def test_a_variant_is_the_same_run_with_a_mark(trained):
    marked = trained.as_variant("random groups")
    assert (marked.variant, marked.trained, marked.path) == ("random groups", trained, trained.path)
    assert (trained.variant, trained.trained) == ("", trained)


def test_a_control_may_ask_for_other_evaluations(trained):
    asked = trained.asked("main", reset_state="trial")
    assert list(asked.requested) == ["main"] and asked.requested["main"].changes == {"reset_state": "trial"}
    result = controls.cut(asked, controls.FEEDBACK)
    assert len(result.trials()["trial"]) == 60
