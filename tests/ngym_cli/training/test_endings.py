"""How a run may end beside being done: its terminal is closed, its files are taken away, its disk is full."""

from __future__ import annotations

import io
import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from rich.console import Console

from ngym_cli import runs
from ngym_cli.agents import checkpoints
from ngym_cli.config.model import from_dict
from ngym_cli.errors import UserError
from ngym_cli.training.main_loop import Hooks, train
from ngym_cli.training.progress import LiveDisplay
from ngym_cli.training.stopping import StopRequest, stopping_on_signals
from tests.ngym_cli.conftest import BASE
from tests.ngym_cli.sameness import assert_whole

NGYM = [sys.executable, "-m", "ngym_cli"]
LONG = "run --task RDM-v0 --n-envs 8 --units 8 --timesteps 5000000 --eval-trials 10 --name it".split()
PLACE = "runs/RDM-v0/recurrent_ppo/it"


@pytest.mark.parametrize("name", ["SIGHUP", pytest.param("SIGTERM", marks=pytest.mark.long)])
def test_a_closed_terminal_leaves_a_run_that_can_be_resumed(tmp_path, name):
    process = subprocess.Popen([*NGYM, *LONG], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob(f"{PLACE}/**/events.*")) and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(1)
    process.send_signal(getattr(signal, name))
    error = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 130, error
    run = runs.RunFolder(tmp_path / PLACE)
    assert run.manifest()["status"] == "interrupted" and run.manifest()["exit_reason"] == name
    assert checkpoints.latest(run.path / checkpoints.CHECKPOINTS_FOLDER)[0] is not None


@pytest.mark.parametrize("lines", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_run_whose_output_is_cut_off_is_finished(tmp_path, lines):
    arguments = "run --task RDM-v0 --n-envs 8 --units 8 --timesteps 3000 --eval-trials 10 --name it".split()
    process = subprocess.Popen([*NGYM, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for _ in range(lines):
        process.stdout.readline()
    process.stdout.close()
    process.wait(timeout=120)
    manifest = runs.RunFolder(tmp_path / PLACE).manifest()
    assert (manifest["status"], manifest["exit_reason"]) == ("finished", "all steps taken")


def test_the_printed_command_can_be_pasted(tmp_path, ngym):
    name = "Maus №3 'a'"
    result = ngym(
        "run", "--task", "RDM-v0", "--timesteps", 256, "--n-envs", 4, "--units", 8, "--eval-trials", 4, "--name", name
    )
    (line,) = [line for line in result.out.splitlines() if line.startswith("next: ")]
    assert shlex.split(line.removeprefix("next: ")) == ["ngym", "plot", f"runs/RDM-v0/recurrent_ppo/{name}"]


def test_under_nohup_a_run_goes_on(monkeypatch):
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopping_on_signals(StopRequest(), print):
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) not in (signal.SIG_DFL, signal.SIG_IGN)
    finally:
        signal.signal(signal.SIGHUP, old)


def test_a_run_that_a_callback_ends_says_so(tmp_path, ngym):
    (tmp_path / "mine.py").write_text(
        "from stable_baselines3.common.callbacks import BaseCallback\n"
        "class Short(BaseCallback):\n"
        "    def _on_step(self):\n"
        "        return self.num_timesteps < 100\n"
    )
    requested = ("--task", "RDM-v0", "--timesteps", 400, "--n-envs", 2, "--units", 8, "--callback", "mine.py:Short")
    assert ngym("run", *requested, "--name", "short").code == 0
    manifest = runs.find("short").manifest()
    assert manifest["steps"] == 100 and manifest["exit_reason"] == "100 steps: ended by a callback"


def test_six_runs_of_one_second_have_six_names(tmp_path):
    def make(_):
        return runs.create(tmp_path / "T/ppo/20300101-000000-s0", False, "", {"status": "finished"}, rename=True).path

    with ThreadPoolExecutor(6) as pool:
        created = list(pool.map(make, range(24)))
    assert len(set(created)) == 24
    assert sorted(os.listdir(tmp_path / "T/ppo")) == sorted(path.name for path in created)


def test_a_name_that_was_asked_for_is_taken_once(tmp_path):
    def make(_):
        try:
            return runs.create(tmp_path / "T/ppo/it", False, "", {"status": "finished"})
        except UserError as error:
            return str(error)

    with ThreadPoolExecutor(6) as pool:
        created = list(pool.map(make, range(12)))
    assert sum(isinstance(first, runs.RunFolder) for first in created) == 1
    assert all("exists" in first for first in created if isinstance(first, str))


@pytest.mark.parametrize("case", ["manifest.json", "config.toml", "trials", "trials/part-000000.parquet", "."])
def test_a_run_that_lost_files_has_not_finished(tmp_path, case):
    def take_away(step, summary):
        path = (tmp_path / "RDM-v0/recurrent_ppo/it" / case).resolve()
        if step > 2000 and path.exists():
            path.rename(tmp_path / f"taken away at {step}")

    often = {"evaluation": {"every": 1000, "trials": 10}, "checkpoint": {"every": 500}}
    config = from_dict(BASE | often | {"timesteps": 3000, "hyperparameters": {"n_steps": 32}})
    with pytest.raises(UserError, match=r"missing|removed|No such file"):
        train(config, tmp_path, "it", hooks=Hooks(watch=take_away))
    record = tmp_path / "RDM-v0/recurrent_ppo/it/manifest.json"
    assert not record.exists() or json.loads(record.read_text())["status"] == "failed"


class Closed(io.StringIO):
    """A terminal that was closed."""

    def write(self, text):
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize("terminal", [True, False])
def test_a_display_that_nobody_sees_does_not_end_a_run(terminal):
    display = LiveDisplay(Console(file=Closed(), force_terminal=terminal), 100, {"chance": 0.5})
    numbers = {"performance": 0.5, "trials": 3, "reward_per_trial": 0.0, "fixation_breaks": "", "steps_per_second": 1.0}
    display.start()
    display.update(50, numbers)
    display.say("text")
    display.stop()


@pytest.mark.parametrize(
    ("kilobytes", "units"),
    [(4, 64), (100, 64), *(pytest.param(kilobytes, 8, marks=pytest.mark.long) for kilobytes in (20, 40))],
)
def test_a_full_disk_is_one_line(tmp_path, kilobytes, units):
    """With the largest limit weights can be written and the state of a checkpoint cannot."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, kilobytes * 1024))

    steps = ("--timesteps", "20000", "--checkpoint-every", "4096")
    arguments = [*LONG[:-2], "--units", str(units), *steps, "--name", "it"]
    process = subprocess.run(
        [*NGYM, *arguments], cwd=tmp_path, preexec_fn=limit, capture_output=True, text=True, timeout=300, check=False
    )
    assert process.returncode == 2, process
    assert "Traceback" not in process.stderr and "Exception" not in process.stderr, process.stderr
    assert process.stderr.strip().splitlines()[-1].startswith("ngym: cannot "), process.stderr
    if kilobytes == 100:
        assert_whole(tmp_path / PLACE)


@pytest.mark.parametrize("command", [["list", "tasks", "--json"], ["--help"]])
def test_what_cannot_be_printed_is_one_line(tmp_path, command):
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [*NGYM, *command], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert process.returncode == 2
    assert process.stderr == "ngym: No space left on device\n"


def test_a_terminal_that_knows_few_letters(tmp_path):
    environment = {**os.environ, "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "PYTHONUTF8": "0"}
    process = subprocess.run(
        [*NGYM, "info", "RDM-v0"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0 and process.stderr == ""
    assert "fixation" in process.stdout
