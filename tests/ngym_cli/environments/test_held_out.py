"""Runs whose tasks are told by instructions and partly held out of training."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from ngym_cli.runs.trial_table import read_trials

TASKS = "yang19.go-v0+yang19.anti-v0+yang19.dm1-v0"
ALGORITHMS = {
    "recurrent_ppo": ("--timesteps", "2048", "--set", "n_steps=64", "--n-envs", "8"),
    "supervised": ("--timesteps", "8000"),
}


@pytest.mark.parametrize(
    ("alg", "schedule"),
    [
        ("recurrent_ppo", "random"),
        ("supervised", "sequential"),
        pytest.param("recurrent_ppo", "sequential", marks=pytest.mark.long),
        pytest.param("supervised", "random", marks=pytest.mark.long),
    ],
)
def test_training_leaves_out_what_evaluations_present(ngym, alg, schedule, tmp_path):
    (tmp_path / "words").mkdir()
    table = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
    np.save(tmp_path / "words" / "table.npy", table)
    task_args = {"instructions": tmp_path / "words" / "table.npy", "held_out": "dm1"}
    settings = [piece for name, value in task_args.items() for piece in ("--task-arg", f"{name}={value}")]
    summary = ngym(
        *("run", "--task", TASKS, "--alg", alg, "--schedule", schedule, *settings, *ALGORITHMS[alg]),
        *("--name", "told", "--eval-trials", "60", "--json"),
    ).document
    folder = Path(summary["id"])
    assert set(read_trials(folder / "trials")["task"]) == {"yang19.go-v0", "yang19.anti-v0"}
    assert {row["value"] for row in summary["conditions"] if row["condition"] == "task"} == set(TASKS.split("+"))
    saved = tomllib.loads((folder / "config.toml").read_text())["task_args"]
    assert saved["instructions"] == table.tolist() and saved["held_out"] == "dm1"


@pytest.mark.parametrize("argument", ["held_out=dlydm", "instructions=none/such.npy", "instructions=-1"])
def test_wrong_arguments_are_refused_in_one_line(ngym, argument):
    result = ngym("run", "--task", TASKS, "--task-arg", argument, "--timesteps", "100")
    assert result.code == 2 and result.err.count("\n") == 1
