"""Rows that are read from runs are made by the engine of sweeps, and another call goes on where one ended."""

from __future__ import annotations

import dataclasses

import pytest

from experiments.records import made, registry, sweeping
from experiments.records.record import Record
from ngym_cli import runs
from ngym_cli.config.launch import LaunchSettings
from tests.ngym_cli.conftest import do_jobs_here

SMALL = {"task": "GoNogo-v0", "units": 4, "timesteps": 100, "n_envs": 2, "evaluation": {"every": 0, "trials": 4}}


def read(item, seed, folder):
    return {"steps": runs.RunFolder(folder).manifest()["config"]["timesteps"]}


@pytest.fixture
def record(tmp_path, monkeypatch):
    created = Record(
        name="it",
        what="a record of runs",
        file=tmp_path / "results.json",
        items=lambda: ["group/a"],
        make=read,
        run=lambda item: SMALL,
        seeds=2,
    )
    monkeypatch.setitem(registry.RECORDS, "it", created)
    monkeypatch.setattr(made, "commit", lambda: "0123456789")
    do_jobs_here(monkeypatch)
    return created


def test_missing_rows_are_made_once(record, tmp_path):
    rows = sweeping.needed(("it", *each) for each in record.to_make(record.items(), "0123456789"))
    position = tmp_path / "runs"
    assert sweeping.make(rows[:1], LaunchSettings(workers=1), position) == (0, False)
    assert record.to_make(record.items(), "0123456789") == [("group/a", 1)]
    assert record.rows()["group/a"]["0"]["steps"] == 100
    record.file.unlink()
    created = {path: path.stat().st_mtime for path in position.rglob("manifest.json")}
    assert sweeping.make(rows[:1], LaunchSettings(workers=1), position) == (0, False)  # the finished run is read again
    assert created == {path: path.stat().st_mtime for path in position.rglob("manifest.json")}


def test_kept_runs_are_measured_again_without_training_where_the_weights_are_those_of_the_row(
    record, tmp_path, monkeypatch
):
    job = ("it", "group/a", 0)
    assert sweeping.make(sweeping.needed([job]), LaunchSettings(workers=1), tmp_path / "runs") == (0, False)
    other = dataclasses.replace(record, make=lambda item, seed, folder: {"name": folder.name})
    monkeypatch.setitem(registry.RECORDS, "it", other)
    monkeypatch.setattr(made, "commit", lambda: "9876543210")
    assert sweeping.read_again([job, ("it", "group/a", 1)], tmp_path / "runs") == 1
    row = other.rows()["group/a"]["0"]
    assert row["name"] == "it.group.a.s0.0123456789" and row["made"]["commit"] == "9876543210"
    next((tmp_path / "runs").rglob("weights.safetensors")).write_bytes(b"other weights")
    assert sweeping.read_again([job], tmp_path / "runs") == 0


#: A task that can be made and checked, and fails as soon as a run has a folder.
BROKEN = """
from pathlib import Path

from neurogym.envs.native.gonogo import GoNogo


class Broken(GoNogo):
    def _new_trials(self, trials):
        if list(Path(__file__).parent.rglob("manifest.json")):
            raise RuntimeError("no more trials")
        super()._new_trials(trials)
"""


def test_a_run_that_fails_leaves_its_row_missing(record, tmp_path, capsys, monkeypatch):
    (tmp_path / "broken.py").write_text(BROKEN)
    monkeypatch.setitem(SMALL, "task", f"{tmp_path / 'broken.py'}:Broken")
    rows = sweeping.needed([("it", "group/a", 0)])
    assert sweeping.make(rows, LaunchSettings(workers=1), tmp_path / "runs") == (1, False)
    assert "it/group/a, seed 0:" in capsys.readouterr().out and not record.rows()
