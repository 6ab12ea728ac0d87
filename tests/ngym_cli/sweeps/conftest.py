"""Recipes of runs that take a second."""

from __future__ import annotations

import pytest

#: A run of a few hundred steps.
TINY = {
    "task": "GoNogo-v0",
    "n_envs": 4,
    "timesteps": 512,
    "hyperparameters": {"n_steps": 64, "n_epochs": 1},
    "evaluation": {"every": 0, "trials": 10},
    "checkpoint": {"every": 256},
}


@pytest.fixture
def make_sweep(tmp_path):
    """Make the folder of a sweep of tiny runs."""
    from ngym_cli.sweeps import folder, recipe

    def make(name="it", values=None, **tables):
        run = {**TINY, **tables.pop("run", {})}
        created = recipe.build({"run": run, **tables}, values or {})
        return folder.make(tmp_path / "sweeps", name, created)

    return make
