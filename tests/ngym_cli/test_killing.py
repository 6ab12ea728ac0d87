"""`kill -9` at any moment: the folder is whole, resumes from its last checkpoint, and ends as if left alone."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

import pytest

from ngym_cli import runs
from tests.ngym_cli import conftest
from tests.ngym_cli.apart import server
from tests.ngym_cli.sameness import assert_same_run, assert_whole

BASE = conftest.BASE | {
    "n_envs": 16,
    "timesteps": 30_000,
    "evaluation": {"every": 5000, "trials": 50},
    "checkpoint": {"every": 2000, "keep": 2},
    "hyperparameters": {"n_steps": 64},
    "seed": 11,
}


def go(config: dict, root: Path, name: str) -> None:
    """Start the run, or go on with it if there is one: what a user or a scheduler repeats."""
    import torch

    from ngym_cli.config.model import from_dict
    from ngym_cli.training.main_loop import resume, train

    torch.set_num_threads(1)
    complete = from_dict(config)
    folder = runs.folder_for(root, complete.task, complete.alg, name, complete.seed)
    if folder.exists():
        resume(runs.RunFolder(folder))
    else:
        train(complete, root, name)


def start(*arguments) -> multiprocessing.Process:
    process = server().Process(target=go, args=arguments)
    process.start()
    return process


def kill_and_resume(root: Path, config: dict, kills: int, seed: int) -> int:
    """Kill a run at random moments until it was killed so often or has finished; return how often it was killed."""
    moments = random.Random(seed)
    warm = server().Process(target=int)  # the time that the server takes to start is no part of a run's
    warm.start()
    warm.join()
    began = time.monotonic()
    uninterrupted = start(config, root, "whole")
    uninterrupted.join()
    assert uninterrupted.exitcode == 0
    duration = time.monotonic() - began
    folder = runs.folder_for(root, "RDM-v0", config.get("alg", "recurrent_ppo"), "killed", 0)
    killed = 0
    for _ in range(kills):
        process = start(config, root, "killed")
        time.sleep(moments.uniform(0, duration if killed % 2 else duration / 3))
        if process.exitcode is None:
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
        killed += 1
        if folder.exists():
            assert_whole(folder)
            assert runs.RunFolder(folder).manifest()["status"] in ("crashed", "finished")
    if not folder.exists() or runs.RunFolder(folder).manifest()["status"] != "finished":
        last = start(config, root, "killed")
        last.join()
        assert last.exitcode == 0
    assert_same_run(folder.parent / "whole", folder)
    assert not list(folder.rglob(".*")), "leftovers of a killed process"
    return killed


def test_killed_at_random_moments(tmp_path):
    assert kill_and_resume(tmp_path, {**BASE, "timesteps": 8_000}, kills=1, seed=1) >= 1


STAGES = [
    {"name": "clear", "trials": 500, "task_args": {"cohs": [51.2]}},
    {"name": "half", "trials": 500, "task_args": {"cohs": [25.6, 51.2]}},
    {"name": "all"},
]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"alg": "supervised", "hyperparameters": {"batch_size": 8, "seq_len": 32, "n_updates": 2}},
        {"alg": "dqn", "n_envs": 8, "hyperparameters": {"train_freq": 16, "buffer_size": 3000}, "timesteps": 12_000},
        {"alg": "reinforce", "network": "gru", "hyperparameters": {"n_steps": 64}},
        {"stages": STAGES},
    ],
    ids=lambda more: more.get("alg", "curriculum" if "stages" in more else "recurrent_ppo"),
)
def test_killed_many_times(tmp_path, record_property, more, seed):
    record_property("kills", kill_and_resume(tmp_path, {**BASE, **more}, kills=10, seed=seed))
