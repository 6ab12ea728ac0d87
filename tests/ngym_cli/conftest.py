"""A command line without a new process, and small runs shared by the tests."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ngym_cli.commands import app
from ngym_cli.training.progress import Display


class Result(NamedTuple):
    """What a command left: exit code and both outputs."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What a command that succeeded printed with ``--json``."""
        assert self.code == 0, self.err
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """As the command line has it, and only until the test ends."""
    monkeypatch.setenv("NGYM_STRICT", "1")


@pytest.fixture
def ngym(monkeypatch, capsys, tmp_path):
    """Run a command line in an empty folder, as a shell would, and return what came out."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> Result:
        capsys.readouterr()
        monkeypatch.setattr("sys.argv", ["ngym", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            app.main()
        return Result(int(ended.value.code or 0), *capsys.readouterr())

    return call


@pytest.fixture
def in_process(monkeypatch):
    """Do the jobs of sweeps and reproductions in this process, for tests of what comes out rather than of workers."""
    do_jobs_here(monkeypatch)


def do_jobs_here(monkeypatch):
    """Let the launcher of processes do its jobs in this one."""
    from ngym_cli.sweeps import worker
    from ngym_cli.sweeps.launchers.local import Local

    def launch(self, order):
        for job in order.jobs:
            (order.perform or worker.perform)(str(order.sweep.path), job, order.trust)
            order.look()

    monkeypatch.setattr(Local, "launch", launch)


@pytest.fixture
def one_figure(monkeypatch):
    """Draw the learning curve alone unless figures are named, for tests of files rather than of figures."""
    from ngym_cli.figures import requests
    from ngym_cli.figures.registry import find_figure

    monkeypatch.setattr(requests, "natural_figures", lambda seen: [find_figure("learning")])


@pytest.fixture
def on_terminal(monkeypatch):
    """Let results be printed as on a terminal of some width."""
    from rich.console import Console

    from ngym_cli import terminal

    def begin(width: int) -> None:
        created = lambda: Console(force_terminal=True, color_system=None, width=width, highlight=False, emoji=False)  # noqa: E731
        monkeypatch.setattr(terminal, "console", created)

    return begin


@pytest.fixture(scope="session", autouse=True)
def without_last_figure():
    """Training ends without the figure for TensorBoard, which takes as long as a small run; yields what draws it."""
    from ngym_cli.training.curves import Evaluator

    draw = Evaluator.draw
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Evaluator, "draw", lambda _: None)
        yield draw


@pytest.fixture
def last_figure(monkeypatch, without_last_figure):
    """The figure for TensorBoard is drawn where training ends."""
    monkeypatch.setattr("ngym_cli.training.curves.Evaluator.draw", without_last_figure)


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory, without_last_figure) -> Iterator[Path]:
    """A small finished run of recurrent PPO on random-dots motion with short trials; who writes into it copies it."""
    from ngym_cli.config.model import from_dict
    from ngym_cli.training.main_loop import train

    config = from_dict(
        {
            "task": "RDM-v0",
            "wrappers": "pass_reward,pass_action",
            "timing": {"stimulus": 300, "decision": 300},
            "alg": "recurrent_ppo",
            "n_envs": 8,
            "units": 16,
            "timesteps": 8192,
            "hyperparameters": {"n_steps": 256},
            "evaluation": {"every": 4096, "trials": 100},
            "seed": 3,
        }
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ngym_cli.training.curves.Evaluator.draw", without_last_figure)
        path = train(config, tmp_path_factory.mktemp("work") / "runs", "shared").run.path
    files = set(path.rglob("*"))
    yield path
    assert set(path.rglob("*")) == files, "a test wrote into the run that others read"


#: A run that takes seconds and is long enough to be interrupted.
BASE = {
    "task": "RDM-v0",
    "wrappers": "pass_reward,pass_action",
    "timing": {"stimulus": 300, "decision": 200},
    "n_envs": 8,
    "units": 16,
    "timesteps": 9000,
    "evaluation": {"every": 4000, "trials": 40},
    "checkpoint": {"every": 2500},
    "seed": 5,
}
#: Hyperparameters that make short runs of an algorithm meaningful.
QUICK = {
    "recurrent_ppo": {"n_steps": 128},
    "ppo": {"n_steps": 128, "batch_size": 256},
    "trpo": {"n_steps": 128, "batch_size": 256},
    "dqn": {"learning_starts": 500, "buffer_size": 2000, "train_freq": 16},
    "qrdqn": {"learning_starts": 500, "buffer_size": 2000, "train_freq": 64},
    "supervised": {"batch_size": 8, "seq_len": 32, "n_updates": 2},
}


class Interrupting(Display):
    """Sends this process a signal when a run has come to a step."""

    def __init__(self, step, number=signal.SIGTERM):
        self.step, self.number = step, number

    def update(self, step, numbers):
        if step >= self.step:
            os.kill(os.getpid(), self.number)


def configuration(alg="recurrent_ppo", **more):
    """The run that is interrupted, with some settings changed."""
    from ngym_cli.config.model import from_dict

    return from_dict({**BASE, "alg": alg, "hyperparameters": QUICK.get(alg, {}), **more})


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory) -> Path:
    """The run that others are compared with that were interrupted."""
    from ngym_cli.training.main_loop import train

    return train(configuration(), tmp_path_factory.mktemp("uninterrupted"), "run").run.path


@pytest.fixture(scope="session")
def interrupted(tmp_path_factory) -> Path:
    """The same run, interrupted, with a checkpoint; copied before it is changed."""
    return interrupt(configuration(), tmp_path_factory.mktemp("interrupted"), "cut", 6000).path


def interrupt(config, root, name, step, number=signal.SIGTERM):
    """Train until a step and be interrupted there; returns the run."""
    from ngym_cli.training.main_loop import Hooks, train

    outcome = train(config, root, name, hooks=Hooks(make_display=lambda *_: Interrupting(step, number)))
    assert outcome.status == "interrupted"
    return outcome.run
