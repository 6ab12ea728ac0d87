"""A program of a user passes a strict type checker, and wrong types do not."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROJECT = """
from pathlib import Path

import ngym_cli as nc


def score(seed: int) -> float | None:
    run = nc.train("RDM-v0", "pass_reward", "gru", timesteps=1e5, seed=seed, progress=False, tag="baseline")
    evaluation = run.evaluate(100)
    page = nc.info("RDM-v0")
    sweep = nc.sweep({"task": "RDM-v0"}, seed=range(3))
    best = sweep.best
    if best is not None:
        run = nc.train(config=best["config"])
    names: list[str] = list(nc.plot(run, "learning"))
    path: Path = nc.export(run)
    print(evaluation, page["id"], sweep.status["done"], names, path, nc.reproduce("roitman2002").claims)
    print(nc.list("tasks"), nc.diff(run, "latest"), nc.fit("rat.csv", model="gru").scores)
    return run.performance
"""
WRONG = """
import ngym_cli as nc

run = nc.train("RDM-v0", overwrite="yes")
number: int = nc.load("latest").name
nc.evaluat(run)
"""


def checked(tmp_path, program):
    (tmp_path / "project.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "project.py"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout


@pytest.mark.long
def test_a_project_passes_a_strict_type_checker(tmp_path):
    assert "Success" in checked(tmp_path, PROJECT)


@pytest.mark.long
def test_wrong_types_and_names_are_found(tmp_path):
    result = checked(tmp_path, WRONG)
    assert "Found 3 errors" in result and 'has no attribute "evaluat"' in result
