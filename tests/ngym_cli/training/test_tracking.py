"""Curves go to Weights & Biases and MLflow too, without a network; a service that fails does not end a run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ngym_cli.training import prepare, tracking

RUN = ("run", "--task", "GoNogo-v0", "--n-envs", "4", "--timesteps", "2000", "--eval-trials", "20", "--name", "a")


@pytest.fixture
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path / "wandb-files"))
    (tmp_path / "wandb-files").mkdir()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")


def test_wandb_keeps_an_offline_run(tmp_path, offline):
    pytest.importorskip("wandb")
    command = [sys.executable, "-m", "ngym_cli", *RUN, "--track", "wandb"]  # it writes its file out when a process ends
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0 and "tracking" not in result.stderr, result.stderr
    (saved,) = (tmp_path / "wandb-files" / "wandb").glob("offline-run-*/run-*.wandb")
    assert saved.stat().st_size > 1000
    assert list((tmp_path / "runs").glob("*/*/a/events.*"))


def test_mlflow_has_parameters_and_every_point_of_the_curves(ngym, tmp_path, offline):
    mlflow = pytest.importorskip("mlflow")
    result = ngym(*RUN, "--track", "mlflow", "--json")
    assert result.code == 0, result.err
    assert "tracking ended" not in result.err
    client = mlflow.MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    (run,) = client.search_runs([client.get_experiment_by_name("ngym").experiment_id])
    assert run.data.params["task"] == "GoNogo-v0"
    assert run.info.status == "FINISHED"
    assert run.data.metrics["evaluation/performance"] == pytest.approx(json.loads(result.out)["performance"])


def test_a_service_that_fails_is_told_of_and_the_run_goes_on(ngym, offline, monkeypatch):

    def fails(*arguments):
        raise ConnectionError("the service is down")

    monkeypatch.setattr(prepare, "tracking_library", lambda name: None)
    monkeypatch.setitem(tracking.TRACKERS, "wandb", fails)
    result = ngym(*RUN, "--track", "wandb")
    assert result.code == 0
    assert "tracking ended: ConnectionError: the service is down" in result.err


def test_a_service_that_is_not_installed_is_said_before_anything_is_made(ngym, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "wandb", None)
    result = ngym(*RUN, "--track", "wandb")
    assert (result.code, result.out) == (2, "")
    assert "pip install 'ngym[wandb]'" in result.err
    assert not (tmp_path / "runs").exists()


def test_a_figure_that_fails_does_not_end_the_tracking(ngym, monkeypatch):
    steps = []

    class WithoutFigures:
        def __init__(self, run, config, key):
            pass

        def scalars(self, values, step):
            steps.append(step)

        def figure(self, tag, figure, step):
            raise AttributeError("no attribute 'pyplot'")

        def close(self):
            steps.append("closed")

    monkeypatch.setitem(tracking.TRACKERS, "wandb", WithoutFigures)
    monkeypatch.setattr(prepare, "tracking_library", lambda name: None)
    result = ngym(
        *"run --task GoNogo-v0 --timesteps 2000 --name a --track wandb --eval-every 1000 --eval-trials 20".split(),
    )
    assert result.code == 0 and steps[-1] == "closed" and len(set(steps)) > 2
    assert result.err.count("tracking continues without figures: AttributeError") == 1


RESUMED = """
import os, signal, sys
import ngym_cli as nc
from stable_baselines3.common.callbacks import BaseCallback

class Interrupting(BaseCallback):
    def _on_step(self):
        if self.num_timesteps == 4000:
            os.kill(os.getpid(), signal.SIGINT)
        return True

run = nc.train("GoNogo-v0", timesteps=8000, n_envs=4, eval_every=2000, eval_trials=20, checkpoint_every=1500, name="a",
               track=sys.argv[1], callbacks=[Interrupting()], progress=False)
assert run.status == "interrupted", run
print(run.resume(progress=False))
"""


def resumed(tmp_path, service):
    command = [sys.executable, "-c", RESUMED, service]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "finished, 8,192 steps" in result.stdout and "tracking ended" not in result.stderr, result.stderr


@pytest.mark.long
def test_a_resumed_run_has_every_step_once_in_mlflow(tmp_path, offline):
    mlflow = pytest.importorskip("mlflow")
    resumed(tmp_path, "mlflow")
    client = mlflow.MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    (run,) = client.search_runs([client.get_experiment_by_name("ngym").experiment_id])
    assert run.info.status == "FINISHED" and run.data.params["timesteps"] == "8000"
    for name in ("behaviour/performance", "evaluation/performance"):
        steps = [point.step for point in client.get_metric_history(run.info.run_id, name)]
        assert len(steps) > 2 and len(steps) == len(set(steps)), (name, steps)
    assert [entry.path for entry in client.list_artifacts(run.info.run_id)]


@pytest.mark.long
def test_a_resumed_run_is_one_run_in_wandb(tmp_path, offline):
    pytest.importorskip("wandb")
    resumed(tmp_path, "wandb")
    files = list((tmp_path / "wandb-files" / "wandb").glob("offline-run-*/run-*.wandb"))
    assert len(files) == 2 and len({file.name for file in files}) == 1  # two parts with one id
    assert all(file.stat().st_size > 1000 for file in files)
