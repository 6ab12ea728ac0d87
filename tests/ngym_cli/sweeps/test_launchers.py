"""Where jobs are done: processes here, a Ray cluster, Slurm; each survives the loss of a worker."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys

import pytest

from ngym_cli.config.launch import LaunchSettings
from ngym_cli.errors import UserError
from ngym_cli.sweeps import launchers, status
from ngym_cli.sweeps.launchers import JobSpec
from ngym_cli.sweeps.launchers.local import Local

KILLER = """
import os, pathlib, signal
import neurogym as ngym

class Killer(ngym.envs.registration.entry("GoNogo-v0")):
    def _new_trials(self, trials):
        super()._new_trials(trials)
        mark = pathlib.Path("killed")
        if pathlib.Path("armed").exists() and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
"""


def order(sweep, look=lambda: None):
    return JobSpec(sweep, list(sweep.jobs), True, look)


def states(sweep):
    return [row["state"] for row in status.StatusReader(sweep).rows()]


def test_a_worker_that_is_killed_is_replaced_and_its_run_resumed(make_sweep, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "killer.py").write_text(KILLER)
    (tmp_path / "armed").touch()
    sweep = make_sweep(run={"task": "killer.py:Killer"}, grid={"seed": [0]})
    looks = []
    Local(1).launch(order(sweep, lambda: looks.append(1)))
    assert (tmp_path / "killed").exists()
    assert states(sweep) == ["done"]
    assert looks


def test_interrupting_lets_workers_write_checkpoints_and_leaves_no_process(make_sweep):
    import psutil

    sweep = make_sweep(run={"timesteps": 50_000_000}, grid={"seed": [0, 1]})
    seen = []

    def look():
        rows = status.StatusReader(sweep).rows()
        if any(row["state"] == "running" for row in rows):
            seen.extend(child.pid for child in psutil.Process().children(recursive=True))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Local(1).launch(order(sweep, look))
    assert seen
    assert states(sweep) == ["interrupted", "queued"]
    assert not [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"on": "slrum"}, "did you mean 'slurm'"),
        ({"on": "local:5"}, "no address"),
        ({"on": "local", "slurm": {"time": 5}}, "--on slurm"),
    ],
)
def test_wrong_launchers_are_refused(settings, message):
    with pytest.raises(UserError, match=message):
        launchers.find(LaunchSettings(**settings))


@pytest.mark.parametrize(("on", "package", "extra"), [("ray:auto", "ray", "ray"), ("slurm", "submitit", "slurm")])
def test_a_missing_package_gives_the_line_that_installs_it(monkeypatch, on, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=rf"pip install 'ngym\[{extra}\]'"):
        launchers.find(LaunchSettings(on=on))


@pytest.mark.parametrize("text", ["", "soon", "1:2:3:4", "0", "-5", "2h"])
def test_times_that_slurm_does_not_know_are_refused(text):
    from ngym_cli.sweeps.launchers.slurm import minutes

    with pytest.raises(UserError, match="time"):
        minutes(text)


def test_a_warned_job_is_handed_back_and_the_rest_of_its_batch_waits(make_sweep, monkeypatch):
    """What submitit and Slurm do is replaced by a signal to this process and a handler that notes it."""
    from ngym_cli.sweeps.launchers.slurm import ArrayTask
    from ngym_cli.training.session import TrainingSession

    sweep = make_sweep(grid={"seed": [0, 1]})
    original, sent, requeued = TrainingSession.on_rollout, [], []

    def warn_once(self):
        original(self)
        if not sent:
            sent.append(os.kill(os.getpid(), signal.SIGUSR1))

    monkeypatch.setattr(TrainingSession, "on_rollout", warn_once)
    before = signal.signal(signal.SIGUSR1, lambda *_: requeued.append(1))
    try:
        batch = ArrayTask(str(sweep.path), [0, 1], True)
        assert batch() == ["stopped"]
        assert (requeued, states(sweep)) == ([1], ["interrupted", "queued"])
        assert batch() == ["done", "done"]
        assert batch() == []
        assert (requeued, states(sweep)) == ([1], ["done", "done"])
    finally:
        signal.signal(signal.SIGUSR1, before)


def answers() -> bool:
    try:
        process = subprocess.run(["sinfo", "--noheader"], capture_output=True, text=True, check=False, timeout=5)
    except subprocess.TimeoutExpired:
        return False
    return process.returncode == 0 and bool(process.stdout.strip())


def test_slurm_runs_a_job_array(make_sweep, monkeypatch):
    pytest.importorskip("submitit", reason="submitit is not installed (pip install 'ngym[slurm]')")
    if shutil.which("sbatch") is None:
        pytest.skip("Slurm is not installed here (there is no sbatch)")
    if not answers():
        pytest.skip("Slurm is installed, but no cluster answers (sinfo)")
    sweep = make_sweep(grid={"seed": [0, 1, 2]})
    launcher = launchers.find(LaunchSettings(on="slurm", slurm={"time": "5", "mem": "1G"}))
    launcher.launch(JobSpec(sweep, [0], True, lambda: None))
    assert states(sweep) == ["done", "queued", "queued"]
    launcher.launch(order(sweep))
    assert states(sweep) == ["done"] * 3


@pytest.mark.long
def test_ray_runs_tasks(make_sweep):
    pytest.importorskip("ray", reason="Ray is not installed (pip install 'ngym[ray]')")
    sweep = make_sweep(grid={"seed": [0, 1]})
    launchers.find(LaunchSettings(on="ray", workers=2)).launch(order(sweep))
    assert states(sweep) == ["done", "done"]


class Head:
    """A stand-in for Ray, whose tasks never end; its head answers at a port, until it is closed."""

    exceptions = type("exceptions", (), {"RayError": RuntimeError})

    def __init__(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.gcs_address = f"127.0.0.1:{self.server.getsockname()[1]}"

    def init(self, **_):
        pass

    def get_runtime_context(self):
        return self

    def shutdown(self):
        raise AssertionError("nobody is there to be told")

    def remote(self, **_):
        return lambda function: type("task", (), {"remote": staticmethod(lambda *_: object())})

    def wait(self, running, **_):
        return [], running

    def cancel(self, *_, **__):
        raise AssertionError("nobody is there to be told")


class Refusing(Head):
    def wait(self, *_, **__):
        raise ConnectionError("the head\nis gone")


@pytest.mark.parametrize(("head", "message"), [(Head, "its head no longer answers"), (Refusing, "the head is gone")])
def test_a_ray_that_is_lost_is_one_line(make_sweep, head, message):
    from ngym_cli.sweeps.launchers.ray import Ray

    launcher = object.__new__(Ray)
    launcher.ray, launcher.address, launcher.workers = head(), "auto", 1
    sweep, looks = make_sweep(grid={"seed": [0, 1]}), []

    def look():
        looks.append(1)
        if len(looks) == 2:
            launcher.ray.server.close()

    with pytest.raises(UserError, match=f"was lost: ConnectionError: {message}; run the command again to resume"):
        launcher.launch(order(sweep, look))
    assert len(looks) == (4 if head is Head else 0)
