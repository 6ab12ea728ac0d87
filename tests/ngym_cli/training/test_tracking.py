"""Curves go to Weights & Biases and MLflow too, without a network; a service that fails does not end a run."""

from __future__ import annotations

import json
import struct
import subprocess
import sys

import pytest

from ngym_cli.training import prepare, tracked_fits, tracking

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


@pytest.mark.usefixtures("last_figure")
def test_a_figure_that_fails_does_not_end_the_tracking(ngym, monkeypatch):
    steps = []

    class WithoutFigures:
        def __init__(self, run, group, settings):
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

class Ending(BaseCallback):
    def _on_step(self):
        if self.num_timesteps == 5200:
            os._exit(9) if "killed" in sys.argv else os.kill(os.getpid(), signal.SIGINT)
        return True

if "resumed" in sys.argv:
    print(nc.load("a").resume(progress=False))
else:
    nc.train("GoNogo-v0", timesteps=8000, n_envs=4, eval_every=1000, eval_trials=20, checkpoint_every=3500, name="a",
             track=sys.argv[1], callbacks=[Ending()], progress=False)
"""


def resumed(tmp_path, service, ending):
    """End a run some evaluations after its last checkpoint, and resume it."""
    command = [sys.executable, "-c", RESUMED, service]
    first = subprocess.run([*command, ending], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert first.returncode == (9 if ending == "killed" else 0), first.stderr
    result = subprocess.run([*command, "resumed"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "finished, 8,192 steps" in result.stdout and "tracking ended" not in result.stderr, result.stderr


def wandb_records(path):
    """Yield the records of a file of W&B: LevelDB's log (blocks of 32 KiB, checksum, length, kind) after 7 bytes."""
    data, position, record = path.read_bytes(), 7, b""
    while position + 7 <= len(data):
        if (left := 32768 - position % 32768) < 7:
            position += left
            continue
        length, kind = struct.unpack("<HB", data[position + 4 : position + 7])
        record += data[position + 7 : position + 7 + length]
        position += 7 + length
        if kind in (1, 4):  # complete, or the last part
            yield record
            record = b""


def wandb_steps(path, name):
    """Return the steps of a curve in a file that W&B would send."""
    from wandb.proto.wandb_internal_pb2 import Record

    rows = [Record.FromString(data).history for data in wandb_records(path)]
    values = [{item.key or "/".join(item.nested_key): item.value_json for item in row.item} for row in rows]
    return [int(row["_step"]) for row in values if name in row]


@pytest.mark.long
@pytest.mark.parametrize("ending", ["interrupted", "killed"])
def test_a_resumed_run_has_every_step_once_in_mlflow(ending, tmp_path, offline):
    mlflow = pytest.importorskip("mlflow")
    resumed(tmp_path, "mlflow", ending)
    client = mlflow.MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    (run,) = client.search_runs([client.get_experiment_by_name("ngym").experiment_id])
    assert run.info.status == "FINISHED" and run.data.params["timesteps"] == "8000"
    for name in ("behaviour/performance", "evaluation/performance"):
        steps = [point.step for point in client.get_metric_history(run.info.run_id, name)]
        assert len(steps) > 2 and len(steps) == len(set(steps)), (name, steps)
    assert [entry.path for entry in client.list_artifacts(run.info.run_id)]


@pytest.mark.long
def test_a_resumed_run_has_every_step_once_in_wandb(tmp_path, offline):
    pytest.importorskip("wandb")
    resumed(tmp_path, "wandb", "interrupted")
    files = sorted((tmp_path / "wandb-files" / "wandb").glob("offline-run-*/run-*.wandb"))
    assert len(files) == 2 and len({file.name for file in files}) == 1  # two parts with one id
    for name in ("behaviour/performance", "evaluation/performance"):
        steps = [step for file in files for step in wandb_steps(file, name)]
        assert len(steps) > 3 and steps == sorted(set(steps)), (name, steps)


class Noted:
    """Tracker that writes down what it is given."""

    def __init__(self, run, group, settings):
        self.begun, self.values, self.figures, self.closed = (run.name, settings["folds"], group), {}, [], False

    def scalars(self, values, step):
        """Note numbers."""
        self.values |= values

    def figure(self, tag, figure, step):
        """Note the name of a figure."""
        self.figures.append(tag)

    def close(self):
        """Note the end."""
        self.closed = True


def test_fits_are_tracked_with_scores_parameters_and_figures(ngym, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{k // 10},{k % 2 if k % 3 else 1 - k % 2},{k % 2}\n" for k in range(60))
    (tmp_path / "rat.csv").write_text("session,choice,stimulus\n" + rows)
    made = []
    monkeypatch.setattr(tracked_fits, "tracking_library", lambda name: None)
    for name in ("wandb", "mlflow"):
        monkeypatch.setitem(tracking.TRACKERS, name, lambda *given: made.append(Noted(*given)) or made[-1])
    command = ("fit", "rat.csv", "--model", "logistic", "--folds", "2", "--stimuli", "stimulus", "--name", "a")
    record = ngym(*command, "--track", "wandb,mlflow", "--json").document
    assert [each.begun for each in made] == [("a", 2, "rat")] * 2 and all(each.closed for each in made)
    assert made[0].values["log_likelihood/logistic"] == record["scores"]["logistic"]["log_likelihood"]["value"]
    weight = record["models"]["logistic"]["parameters"]["subject"]["stimulus"]["value"]
    assert made[1].values["parameters/logistic/subject/stimulus"] == weight and "likelihood" in made[0].figures

    def fails(*arguments):
        raise ConnectionError("the service is down")

    monkeypatch.setitem(tracking.TRACKERS, "wandb", fails)
    again = ngym(*command[:-1], "b", "--track", "wandb")
    assert again.code == 0 and "tracking in wandb failed: ConnectionError: the service is down" in again.err
    assert (
        ngym(*command[:-1], "c", "--track", "wanb").err.startswith("ngym: ")
        and not (tmp_path / "runs/rat/fit/c").exists()
    )
