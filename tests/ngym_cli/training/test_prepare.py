"""Preparation of a run: complete, frozen, and refused before anything is written."""

from __future__ import annotations

import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from pydantic import ValidationError

from ngym_cli.agents.defaults import read_config
from ngym_cli.config.fields import checked
from ngym_cli.config.model import ResolvedConfig, from_dict
from ngym_cli.errors import UserError
from ngym_cli.runs.folder import CONFIG, RunFolder
from ngym_cli.training.prepare import new_run


def test_a_prepared_run_is_complete_and_frozen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    resolved = new_run(from_dict({"task": "GoNogo-v0", "wrappers": "pass_action", "seed": 3}), name="first")
    config = resolved.config
    assert isinstance(config, ResolvedConfig) and config.network == "lstm" and config.units == 64
    assert config.evaluation.trials == 2_000 and config.timing["stimulus"] and config.hyperparameters["n_steps"]
    assert config.reset_state == "trial" and resolved.path == Path("runs/GoNogo-v0/recurrent_ppo/first")
    with pytest.raises(ValidationError):
        config.units = 3
    with pytest.raises(FrozenInstanceError):
        resolved.path = tmp_path
    assert not list(tmp_path.iterdir())


def test_the_task_is_made_once_to_be_tried_and_once_to_be_restored(monkeypatch):
    from neurogym.envs import registration

    made, make = [], registration.make
    monkeypatch.setattr(registration, "make", lambda name, **arguments: made.append(name) or make(name, **arguments))
    resolved = new_run(from_dict({"task": "GoNogo-v0", "timing": {"delay": 300}}))
    assert made == ["GoNogo-v0"] * 2 and resolved.config.timing["delay"] == 300


def test_timing_is_that_of_the_task_before_wrappers_change_it():
    wrapped = new_run(from_dict({"task": "RDM-v0", "wrappers": "reaction_time"})).config
    assert wrapped.timing == new_run(from_dict({"task": "RDM-v0"})).config.timing


def test_the_written_configuration_is_the_same_run():
    import tomllib

    config = new_run(from_dict({"task": "Priors-v0", "units": 16})).config
    again = checked(ResolvedConfig, tomllib.loads(config.to_toml()))
    assert again == config and new_run(from_dict(config.model_dump())).config == config


def test_a_record_of_an_earlier_version_is_completed_when_it_is_read(tmp_path):
    config = new_run(from_dict({"task": "GoNogo-v0", "evaluation": {"trials": 20}})).config
    data = config.model_dump(exclude_none=True)
    del data["hyperparameters"]["gae_lambda"], data["network_args"]["readout"], data["evaluation"]["exact"]
    (tmp_path / CONFIG).write_text(from_dict(data).to_toml())
    again = read_config(RunFolder(tmp_path))
    assert isinstance(again, ResolvedConfig) and again == config
    (tmp_path / CONFIG).write_text(from_dict({**data, "network": None}).to_toml())
    with pytest.raises(UserError, match="lacks settings of the run"):
        read_config(RunFolder(tmp_path))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"task": "GoNogo-v0", "init_from": "nowhere"}, "nowhere"),
        ({"task": "GoNogo-v0", "network": "mlp"}, "does not train 'mlp'"),
        ({"task": "GoNogo-v0", "hyperparameters": {"lr": 1}}, "did you mean 'learning_rate'"),
        ({"task": "GoNogo-v0", "stages": [{"trials": 5}, {"task": "RDM-v1"}]}, "stage 2"),
    ],
)
def test_what_does_not_work_is_refused(settings, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        new_run(from_dict(settings))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["--dry-run", "--print-config"])
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--init-from", "nothing"), "no such run: nothing"),
        (("--callback", "nofile.py:CB"), "nofile.py"),
        (("--track", "mlflow"), "mlflow"),
        (("--until", "0.9", "--task", "CartPole-v1"), "ceiling, which is not known"),
        (("--alg", "ppo", "--set", "batch_size=1"), "batch_size"),
        (("--name", "taken"), "exists"),
        (("--device", "cuda:7"), "cuda"),
    ],
)
def test_a_plan_refuses_what_the_run_refuses(ngym, tmp_path, monkeypatch, command, flags, message):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    (tmp_path / "runs/RDM-v0/recurrent_ppo/taken").mkdir(parents=True)
    (tmp_path / "runs/RDM-v0/recurrent_ppo/taken/notes.txt").touch()
    arguments = ("--timesteps", "500", *(() if "--task" in flags else ("--task", "RDM-v0")), *flags)
    planned, run = ngym("run", *arguments, command), ngym("run", *arguments)
    assert planned.code == run.code == 2 and not planned.out
    assert planned.err.splitlines()[-1] == run.err.splitlines()[-1] and message in planned.err
