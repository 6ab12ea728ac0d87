"""A command line without a new process, and small runs shared by the tests."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from ngym_cli.commands import app


class Result(NamedTuple):
    """What a command left: exit code and both outputs."""

    code: int
    out: str
    err: str


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
def on_terminal(monkeypatch):
    """Let results be printed as on a terminal of some width."""
    from rich.console import Console

    from ngym_cli import terminal

    def begin(width: int) -> None:
        made = lambda: Console(force_terminal=True, color_system=None, width=width, highlight=False, emoji=False)  # noqa: E731
        monkeypatch.setattr(terminal, "console", made)

    return begin


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory) -> Path:
    """A small finished run of recurrent PPO on random-dots motion with short trials."""
    from ngym_cli.config import from_dict
    from ngym_cli.training.main_loop import train

    config = from_dict(
        {
            "task": "RDM-v0",
            "wrappers": "pass_reward,pass_action",
            "timing": {"stimulus": 300, "decision": 300},
            "alg": "recurrent_ppo",
            "n_envs": 8,
            "timesteps": 8192,
            "hyperparameters": {"n_steps": 256},
            "evaluation": {"every": 4096, "trials": 100},
            "seed": 3,
        }
    )
    return train(config, tmp_path_factory.mktemp("work") / "runs", "shared").run.path
