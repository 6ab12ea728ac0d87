"""Runs, fits and sweeps are found by path, by name and as the newest."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ngym_cli import runs
from ngym_cli.errors import UserError
from ngym_cli.fitting import folder as fits
from ngym_cli.runs import finding


def make(root: Path, path: str, hour: int | None, written: float, file: str = "manifest.json") -> Path:
    """Write a folder with a record that states the start (hour of a day in 2020) and was written at a time."""
    folder = root / path
    folder.mkdir(parents=True, exist_ok=True)
    for name in {file, "manifest.json"}:
        started = {} if hour is None else {"started": f"2020-01-01T{hour:02d}:00:00+00:00"}
        (folder / name).write_text(json.dumps({"status": "finished", **started}))
        os.utime(folder / name, (written, written))
    return folder


START = 1577836800.0  # 2020-01-01


def test_the_newest_is_the_last_that_was_started(tmp_path: Path) -> None:
    """Notes, tags and copies change when a record was written, and nothing else."""
    make(tmp_path, "RDM-v0/ppo/first", 1, START + 90_000)
    second = make(tmp_path, "RDM-v0/ppo/second", 3, START + 20_000)
    make(tmp_path, "RDM-v0/ppo/third", 2, START + 50_000)
    assert finding.find("run", "latest", tmp_path) == second
    assert [path.name for path in finding.find_all("run", tmp_path)] == ["first", "third", "second"]


def test_a_fit_that_was_touched_is_not_the_newest(tmp_path: Path) -> None:
    """A command about `latest` takes the newest of runs and fits."""
    fit = make(tmp_path, "table/fit/fit1", 1, START + 90_000, "fit.json")
    run = make(tmp_path, "RDM-v0/ppo/it", 2, START + 10_000)
    assert fits.named("latest", tmp_path) is None and finding.find(("run", "fit"), "latest", tmp_path) == run
    assert fits.find("latest", tmp_path).path == fit and runs.find("latest", tmp_path).path == run
    make(tmp_path, "table/fit/fit2", 3, START + 20_000, "fit.json")
    newest = fits.named("latest", tmp_path)
    assert newest is not None and newest.path.name == "fit2"


def test_records_without_a_start_are_the_oldest(tmp_path: Path) -> None:
    """A damaged record does not hide the runs that can be read."""
    good = make(tmp_path, "RDM-v0/ppo/good", 1, START + 4_000)
    damaged = make(tmp_path, "RDM-v0/ppo/damaged", None, START + 90_000)
    (damaged / "manifest.json").write_text("{")
    assert finding.find("run", "latest", tmp_path) == good


def test_sweeps_of_earlier_versions_are_as_old_as_their_list(tmp_path: Path) -> None:
    """They have no record of the start."""
    old = make(tmp_path, "old", None, START, "list.json")
    (old / "manifest.json").unlink()
    new = make(tmp_path, "new", 1, START + 90_000, "list.json")
    assert finding.find("sweep", "latest", tmp_path) == new
    os.utime(old / "list.json", (START + 90_000, START + 90_000))
    assert finding.find("sweep", "latest", tmp_path) == old


def test_the_newest_of_thousands_is_found_by_reading_a_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time does not grow with the number of records that have to be read."""
    for k in range(3000):
        folder = tmp_path / "RDM-v0" / "ppo" / f"run{k:04d}"
        folder.mkdir(parents=True)
        started = f"2020-01-{1 + k // 200:02d}T{k % 200 // 10:02d}:{k % 10:02d}:00+00:00"
        (folder / "manifest.json").write_text(json.dumps({"status": "finished", "started": started}))
        written = START + 86400 * (k // 200) + 3600 * (k % 200 // 10) + 60 * (k % 10) + 30
        os.utime(folder / "manifest.json", (written, written))
    os.utime(tmp_path / "RDM-v0" / "ppo" / "run0007" / "manifest.json")
    read: list[Path] = []
    read_json = finding.read_json
    monkeypatch.setattr(finding, "read_json", lambda path: read.append(path) or read_json(path))
    assert runs.find("latest", tmp_path).name == "run2999"
    assert len(read) == 2
    assert runs.find("run0003", tmp_path).name == "run0003" and len(read) <= 3


def test_a_name_is_the_end_of_a_path(tmp_path: Path) -> None:
    """Of several runs with a name, the newest is meant."""
    make(tmp_path, "RDM-v0/ppo/it", 2, START + 9_000)
    second = make(tmp_path, "RDM-v0/a2c/it", 1, START + 9_000)
    assert finding.find("run", "it", tmp_path).parent.name == "ppo"
    assert finding.find("run", "a2c/it", tmp_path) == second == finding.find("run", str(second), tmp_path)
    assert finding.match("run", "*", tmp_path) is None and finding.match("run", "../it", tmp_path) is None


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("frist", "no such run: frist; did you mean 'first'"),
        ("fit1", "no such run"),
        ("{root}/table/fit/fit1", "is a fit, not a run; see ngym fit"),
        ("{root}/table", "is not a run folder: it has no manifest.json"),
        ("a\0b", "no such run"),
    ],
)
def test_other_references_are_refused_in_a_line(tmp_path: Path, reference: str, message: str) -> None:
    """The line says what is there, or the nearest name."""
    make(tmp_path, "RDM-v0/ppo/first", 1, START)
    make(tmp_path, "table/fit/fit1", 1, START, "fit.json")
    with pytest.raises(UserError, match=message):
        finding.find("run", reference.format(root=tmp_path), tmp_path)
    with pytest.raises(UserError, match="no sweeps below"):
        finding.find("sweep", "latest", tmp_path / "sweeps")
