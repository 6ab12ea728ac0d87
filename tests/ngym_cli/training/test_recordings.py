"""Networks learn from recordings, are resumed exactly, and are judged by held-out neurons and trials."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from ngym_cli.errors import UserError
from ngym_cli.training.main_loop import resume, train
from tests.ngym_cli.conftest import configuration, interrupt
from tests.ngym_cli.sameness import resumed

COHERENCES = np.array([0, 6.4, 12.8, 25.6, 51.2])


def made(path, neurons=16, repeats=8, noise=0.5, counts=False, **changes):
    """Write a recording of neurons that ramp with the signed evidence, seen through noise; `changes` replace arrays."""
    rng = np.random.default_rng(1)
    coh, side = (each.ravel() for each in np.meshgrid(np.tile(COHERENCES, repeats), [0, 1]))
    ramp = np.arange(1, 7)[None] / 6 * ((2 * side - 1) * (10 + coh) / 60)[:, None]
    latent = np.stack([ramp, np.abs(ramp), np.broadcast_to(np.arange(6) / 6, ramp.shape)], axis=2)
    rates = latent @ rng.normal(size=(3, neurons)) + noise * rng.normal(size=(*ramp.shape, neurons))
    activity = rng.poisson(np.exp(rates)) if counts else rates
    arrays = {"activity": activity, "dt": 100.0, "condition_coh": coh, "condition_ground_truth": side, **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def settings(alg, path, **recording):
    """A small run that learns from a recording."""
    more = {
        "timing": {"fixation": 100, "stimulus": 300, "decision": 200},
        "wrappers": "",
        "recording": {"file": str(path), **recording},
    }
    return configuration(alg, **more)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return made(tmp_path_factory.mktemp("recording") / "neurons.npz")


@pytest.fixture(scope="module")
def learned(recording, tmp_path_factory):
    """A run that learned from a recording."""
    return train(settings("supervised", recording, weight=2.0), tmp_path_factory.mktemp("runs"), "learned").run.path


def course(path):
    return np.load(path / "recording.npz")["course"]


def test_the_neurons_are_learned_and_held_out_trials_are_explained(ngym, learned, recording, tmp_path):
    losses = course(learned)[:, 1]
    assert losses[-1] < losses[0] and losses[-1] < 0.5
    saved = np.load(learned / "recording.npz")
    assert saved["weights"].shape == (12, 16) and saved["held_out_neurons"].sum() == 4
    assert saved["held_out_trials"].sum() == 20  # two of the eight of each condition
    run = shutil.copytree(learned, tmp_path / "run")
    result = ngym("eval", run, "--trials", "100", "--compare-activity", recording, "--json").document["activity"]
    rows = {(row["neurons"], row["model"]): row for row in result["explained"]}
    network = rows["held out", "network"]
    assert network["n"] == 4 and network["low"] < network["value"] < network["high"]
    assert network["share"] == pytest.approx(network["value"] / network["ceiling"]) and network["share"] > 0.8
    assert rows["learned", "trained read-out"]["share"] > 0.5
    assert {model for _, model in rows} == {
        *("network", "untrained network", "averages of other trials", "task variables", "trained read-out"),
        *("network, unseen", "untrained network, unseen", "task variables, unseen"),
    }
    drawn = ngym("plot", run, "recording")
    assert drawn.code == 0 and list((run / "figures").glob("recording*")), drawn.err


@pytest.mark.usefixtures("in_process")
def test_a_sweep_over_the_weight_is_one_figure_of_performance_and_explained_variance(ngym, recording):
    made_of = "--task RDM-v0 --alg supervised --network rnn --units 8 --timesteps 3000 --eval-every 0 --eval-trials 10"
    periods = "--timing fixation=100 --timing stimulus=300 --timing decision=200 --wrappers none --workers 1"
    swept = ("--recording", recording, "--recording-weight", "0.01,10", "--name", "w")
    created = ngym("sweep", *made_of.split(), *periods.split(), *swept)
    assert created.code == 0, created.err
    (row,) = ngym("plot", "sweeps/w", "recording", "--json").document
    table = parquet.read_table(Path(row["path"]).with_suffix(".parquet")).to_pandas()
    assert table["recording.weight"].tolist() == ["0.01", "10"]
    assert ((table["low"] < table["value"]) & (table["value"] < table["ceiling"])).all()
    assert table["performance"].between(0, 1).all()


@pytest.mark.parametrize("alg", ["supervised", pytest.param("recurrent_ppo", marks=pytest.mark.long)])
def test_a_resumed_run_ends_as_an_uninterrupted_one(tmp_path, recording, alg):
    both = resumed(settings(alg, recording), tmp_path, 3000)
    first, second = (np.load(each.path / "recording.npz") for each in both)
    assert all(np.array_equal(first[name], second[name]) for name in first.files)


@pytest.mark.parametrize(
    ("more", "recording_settings"),
    [
        ({"network": "ctrnn", "network_args": {"inhibitory": 0.25}}, {"only": True}),
        ({"network": "lstm", "alg": "recurrent_a2c"}, {"weight": 5.0}),
        ({"network": "gru", "network_args": {"layers": 2}}, {"loss": "bits", "weight": 2.0}),
        ({"network": "gru", "wrappers": "pass_reward,pass_action"}, {"map": "identity", "only": True}),
        ({"network": "ei_rnn"}, {"only": True}),
    ],
)
def test_any_network_and_algorithm_learns(tmp_path, more, recording_settings):
    path = made(tmp_path / "neurons.npz", counts=recording_settings.get("loss") == "bits")
    config = settings(more.get("alg", "supervised"), path, **recording_settings)
    run = train(config.model_copy(update=dict(configuration(**{**config.model_dump(), **more}))), tmp_path, "run").run
    losses = course(run.path)[:, 1]
    assert losses[-3:].min() < losses[0]


def test_areas_read_their_own_units(tmp_path):
    areas = {"V1": {"units": 10, "input": True}, "PFC": {"units": 8, "output": True, "from": {"V1": 1.0}}}
    names = np.array(["V1"] * 8 + ["PFC"] * 8)
    config = settings("supervised", made(tmp_path / "neurons.npz", area=names), weight=1.0)
    config = configuration(**{**config.model_dump(), "network": "ctrnn", "network_args": {"areas": areas}, "units": 18})
    saved = np.load(train(config, tmp_path, "run").run.path / "recording.npz")
    own = names[~saved["held_out_neurons"]]
    assert not saved["weights"][own == "V1", 10:].any() and not saved["weights"][own == "PFC", :10].any()
    assert saved["weights"][own == "V1", :10].any(axis=1).all()  # silent units are not read
    with pytest.raises(UserError, match="neurons of MT, but the network has the areas V1, PFC"):
        made(tmp_path / "neurons.npz", area=np.where(names == "V1", "MT", names))
        train(
            config.model_copy(update={"recording": config.recording.model_copy(update={"sha256": ""})}), tmp_path, "b"
        )


def test_a_recording_that_does_not_fit_is_refused_before_training(tmp_path):
    path = made(tmp_path / "neurons.npz")
    for changes, more, words in (
        ({"condition_coh": np.tile([1.0, 2.0], 40)}, {}, "conditions that no trial of the task had: .*coh 1"),
        ({"dt": None}, {}, "its time step is not known; add dt"),
        ({"dt": 70.0}, {}, "step of 100 ms is not a multiple of the recording's 70"),
        ({"condition_coh": None, "condition_ground_truth": None}, {}, "has no condition of the trials"),
        ({}, {"by": "choice"}, "the task has no condition choice"),
        ({}, {"loss": "bits"}, "needs counts of spikes"),
        ({}, {"scale": "sqrt"}, "needs rates of 0 or more"),
        ({}, {"area": "V1"}, "does not say the area"),
        ({"neurons": 20}, {"map": "identity"}, "needs a unit for each of 20 neurons"),
    ):
        made(path, **changes)
        with pytest.raises(UserError, match=words):
            train(settings("supervised", path, **more), tmp_path, "refused")
        assert not (tmp_path / "refused").exists()
    made(path)
    for changes, words in (
        ({"alg": "ppo"}, "trains no recurrent network"),
        ({"reset_state": "never"}, "expected --reset-state trial, not never"),
        ({"hyperparameters": {"l2_rate": 0.1}, "recording": {"file": str(path), "only": True}}, "also l2_rate"),
        ({"recording": {"file": str(path.with_suffix(".csv"))}}, "--recording reads"),
        ({"recording": {"file": str(tmp_path / "none.npz")}}, "no such recording"),
    ):
        config = settings("supervised", path).model_dump()
        with pytest.raises(UserError, match=words):
            train(configuration(**{**config, "network": None, "hyperparameters": {}, **changes}), tmp_path, "refused")


def test_a_changed_recording_is_refused_when_a_run_is_resumed(tmp_path):
    path = made(tmp_path / "neurons.npz")
    run = interrupt(settings("supervised", path), tmp_path, "cut", 3000)
    made(path, noise=1.0)
    with pytest.raises(UserError, match="has changed since the run was made"):
        resume(run)


def test_settings_without_a_recording_are_refused(ngym):
    refused = ngym("run", "--task", "RDM-v0", "--recording-weight", "2", "--dry-run")
    assert refused.code == 2 and "--recording" in refused.err and refused.err.count("\n") == 1


def test_too_few_recorded_trials_are_not_taken_for_a_task_that_lacks_conditions(ngym, run_folder, tmp_path):
    run = shutil.copytree(run_folder, tmp_path / "run")
    assert ngym("eval", run, "--trials", "120", "--record", "activity", "--export", "nwb", "--name", "many").code == 0
    neurons = shutil.copy(run / "eval" / "many" / "session.nwb", tmp_path)
    result = ngym("eval", run, "--trials", "4", "--name", "few", "--compare-activity", neurons)
    assert result.code == 0, result.err
    assert (
        "no trial of the task had: " in result.out + result.err
        and "record more than 4 trials" in result.out + result.err
    )
