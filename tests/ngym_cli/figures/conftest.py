"""Runs that figures are drawn of, each made once."""

from __future__ import annotations

import shutil

import pytest

from ngym_cli.evaluation import service
from ngym_cli.evaluation.request import EvalRequest
from ngym_cli.figures import population
from ngym_cli.figures.view import PlotData
from tests.ngym_cli.figures.made_up import TASKS, made_up_run


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """Intervals of few bootstrap samples, and few moments that are decoded: both are tested where they are computed."""
    monkeypatch.setattr(population, "MOST_STEPS", 8)
    monkeypatch.setattr(PlotData, "draws", lambda _, usual, least=20: min(usual, 20))


@pytest.fixture(scope="session")
def made_up(tmp_path_factory):
    """Return the made-up run of a task."""
    created = {}

    def make(task, settings=None, trials=1200):
        if task not in created:
            arguments = TASKS[task][0] if settings is None else settings
            created[task] = made_up_run(tmp_path_factory.mktemp("made") / "run", task, arguments, trials)
        return created[task]

    return make


@pytest.fixture(scope="session")
def recorded_run(run_folder, tmp_path_factory):
    """A run with an evaluation of its activity, and evaluations of its checkpoints."""
    run = shutil.copytree(run_folder, tmp_path_factory.mktemp("recorded") / "run")
    wanted = EvalRequest(trials=300, deterministic=False, record=("activity", "observations"))
    for requested in (wanted, EvalRequest(trials=50, checkpoints="all")):
        assert list(service.evaluate([str(run)], run.parent, requested))
    return run
