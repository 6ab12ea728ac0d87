"""The command line: a run of supervised learning is a run like any other."""

import json
import tomllib
from pathlib import Path

import pytest
from safetensors.torch import load_file

from ngym_cli.environments.properties import TaskProperties
from ngym_cli.runs.trial_table import read_trials

SHORT = ("--n-envs", 4, "--units", 8, "--eval-trials", 40, "--eval-every", 0, "--timesteps", 6000)
RDM = ("--task", "RDM-v0", "--timing", "stimulus=300")


def weights(run):
    return load_file(Path(run) / "model" / "weights.safetensors")


def manifest(run):
    return json.loads((Path(run) / "manifest.json").read_text())


def test_a_run_has_the_same_folder_trials_and_evaluation(ngym):
    assert ngym("run", *RDM, "--alg", "supervised", *SHORT, "--name", "a", "--loss-weight", "fixation=0.05").code == 0
    run = Path("runs/RDM-v0/supervised/a")
    config = tomllib.loads((run / "config.toml").read_text())
    assert config["hyperparameters"]["loss_weight"] == {"fixation": 0.05}
    table = read_trials(run / "trials")
    result = manifest(run)
    assert result["status"] == "finished" and result["steps"] >= 6000 and len(table["trial"]) == result["trials"] > 20
    assert {"coh", "performance", "outcome", "rt"} <= set(table)
    assert ngym("eval", run, "--trials", 50).code == 0
    assert ngym("run", "--config", run / "config.toml", "--name", "again").code == 0
    single, second = weights(run), weights("runs/RDM-v0/supervised/again")
    assert all((single[name] == second[name]).all() for name in single)


@pytest.mark.parametrize(("first", "second"), [("supervised", "recurrent_ppo"), ("recurrent_ppo", "supervised")])
def test_one_learner_begins_where_the_other_ended(ngym, first, second):
    assert ngym("run", *RDM, "--alg", first, *SHORT, "--name", "a").code == 0
    little = ("--set", "learning_rate=1e-9", "--name", "b", "--init-from", f"runs/RDM-v0/{first}/a")
    assert ngym("run", *RDM, "--alg", second, *SHORT, *little).code == 0
    run = f"runs/RDM-v0/{second}/b"
    before, after = weights(f"runs/RDM-v0/{first}/a"), weights(run)
    assert all((before[name] - after[name]).abs().max() < 1e-4 for name in before)
    assert manifest(run)["init_from"]["fresh"] == []


def test_weights_that_do_not_fit_are_refused(ngym):
    assert ngym("run", *RDM, "--alg", "supervised", *SHORT, "--name", "a").code == 0
    begin = ("--init-from", "runs/RDM-v0/supervised/a", "--name", "b")
    second = ngym("run", *RDM, "--alg", "supervised", *SHORT, "--network", "gru", *begin)
    assert second.code == 2 and "has network lstm, not gru" in second.err
    second = ngym("run", *RDM, "--alg", "supervised", *SHORT, "--network-arg", "readout=4", *begin)
    assert second.code == 2 and "action_net.weight has shape" in second.err
    assert [path.name for path in Path("runs/RDM-v0/supervised").iterdir()] == ["a"]


@pytest.mark.parametrize("task", [pytest.param("ContextDecisionMaking-v0", marks=pytest.mark.long), "GoNogo-v0"])
def test_the_recurrent_part_is_kept_where_inputs_or_actions_differ(ngym, task):
    assert ngym("run", *RDM, "--alg", "supervised", *SHORT, "--name", "a").code == 0
    begin = ("--set", "learning_rate=1e-9", "--init-from", "runs/RDM-v0/supervised/a", "--name", "b")
    process = ngym("run", "--task", task, "--alg", "supervised", *SHORT, *begin)
    assert process.code == 0, process.err
    run = f"runs/{task}/supervised/b"
    before, after, fresh = weights("runs/RDM-v0/supervised/a"), weights(run), manifest(run)["init_from"]["fresh"]
    assert "lstm_actor.weight_hh_l0" not in fresh and all(name in process.err for name in fresh)
    assert fresh and all(("weight_ih" in name or "action_net" in name) for name in fresh)
    for name in before:
        assert ((before[name].shape != after[name].shape) or (before[name] - after[name]).abs().max() > 1e-3) == (
            name in fresh
        )


def test_several_tasks_are_drawn_by_weight_and_reported_each(ngym):
    several = ("--task", "GoNogo-v0+RDM-v0", "--task-weight", "RDM-v0=3", "--set", "draw=batch")
    assert ngym("run", *several, "--alg", "supervised", *SHORT, "--name", "a").code == 0
    run = Path("runs/GoNogo-v0+RDM-v0/supervised/a")
    assert len(set(read_trials(run / "trials")["task"])) == 2
    summary = json.loads((run / "eval" / "final" / "summary.json").read_text())
    assert len([row for row in summary["conditions"] if row["condition"] == "task"]) == 2


TIMING = [f"--timing={period}" for period in ("fixation=100", "sample=200", "delay=100", "decision=200")]
GAZE = ("--task", "VisualSearch-v0", *TIMING)


def test_a_place_is_chosen_by_attention_in_a_run_that_can_be_resumed_and_exported(ngym, monkeypatch):
    monkeypatch.setattr(TaskProperties, "chance", None)  # two thousand trials of images, not the subject
    assert ngym("run", *GAZE, *SHORT, "--units", 16, "--timesteps", 1000, "--name", "a").code == 0
    run = Path("runs/VisualSearch-v0/supervised/a")
    config = tomllib.loads((run / "config.toml").read_text())
    assert config["network"] == "attention" and config["network_args"]["places"] == 9 and config["dt"] == 100
    assert weights(run)["action_net.weight"].shape == (81, 16)
    assert ngym("eval", run, "--trials", 20, "--record", "activity").code == 0
    assert ngym("plot", run).code == 0
    assert ngym("export", run, "--to", "torchscript").code == 0


def test_a_response_is_learned_as_a_choice_among_places(ngym):
    task = ("--task", "ReachingDelayResponse-v0", "--alg", "supervised", "--network-arg", "places=9")
    short = ("--timing", "delay=100", "--timesteps", 100000, "--eval-every", 0)
    assert ngym("run", *task, *short, "--name", "a").code == 0
    summary = json.loads(Path("runs/ReachingDelayResponse-v0/supervised/a/eval/final/summary.json").read_text())
    assert summary["performance"] > 0.75  # the best response without the stimulus scores 0.67


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--task", "GoNogo-v0", "--network-arg", "places=5"), "places: the actions of the task are not continuous"),
        (("--task", "MemoryRecall-v0", "--network-arg", "places=5"), "a grid of 10 axes has more than 4,096 places"),
        (("--task", "PathIntegration-v0", "--network-arg", "places=1"), "places"),
        (
            ("--task", "PathIntegration-v0", "--alg", "recurrent_ppo", "--network-arg", "places=5"),
            "supervised learning",
        ),
        ((*RDM, "--network", "attention"), "network attention reads places of images"),
        ((*GAZE, "--units", "9"), "more units than the image has places (9), not 9"),
        ((*GAZE, "--network-arg", "layers=2"), "a single layer, not 2"),
    ],
)
def test_places_that_do_not_exist_are_refused_in_a_line(ngym, flags, message):
    result = ngym("run", "--alg", "supervised", *SHORT, *flags)
    assert result.code == 2 and message in result.err and "Traceback" not in result.err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--task", "Bandit-v0"), "no ground truth"),
        ((*RDM, "--loss-weight", "fixaton=1"), "fixation"),
        ((*RDM, "--task-weight", "dm1=1"), "several tasks"),
        ((*RDM, "--set", "draw=batch", "--reset-state", "never"), "draw=batch needs reset_state=trial, not never"),
        ((*RDM, "--init-from", "nowhere"), "nowhere"),
    ],
)
def test_what_makes_no_sense_leaves_no_folder(ngym, flags, message):
    result = ngym("run", *flags, "--alg", "supervised", *SHORT)
    assert result.code == 2 and message in result.err and len(result.err.strip().splitlines()[-1]) > 10
    assert not Path("runs").exists()
