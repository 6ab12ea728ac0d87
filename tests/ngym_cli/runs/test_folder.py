"""Run folders: found by name, described honestly, never half-written."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ngym_cli import runs
from ngym_cli.errors import UserError
from ngym_cli.files.reading import read_json
from ngym_cli.files.writing import atomic_path, write_json


def make(root, name, **manifest):
    started = f"2030-01-01T00:00:{len(list(root.glob('*/*/*'))):02d}"
    return runs.create(
        root / "T-v0" / "ppo" / name, False, "task = 'RDM-v0'\n", {"status": "finished", "started": started, **manifest}
    )


def test_a_run_whose_process_is_gone_has_crashed(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    alive = {**runs.this_process(), "pid": child.pid, "started": runs.start_of_process(child.pid)}
    run = make(tmp_path, "it", status="running", process=alive)
    assert run.manifest()["status"] == "running"
    with pytest.raises(UserError, match="in use"):
        runs.create(run.path, True, "", {})
    child.communicate(b"\n")
    assert run.manifest()["status"] == "crashed"
    assert runs.describe(run)["status"] == "crashed"


def test_another_process_with_the_same_number_is_not_the_run(tmp_path):
    impostor = {**runs.this_process(), "started": "0"}
    assert make(tmp_path, "it", status="running", process=impostor).manifest()["status"] == "crashed"


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.json"
    write_json(path, {"old": True})
    with pytest.raises(RuntimeError), atomic_path(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert read_json(path) == {"old": True}
    assert list(tmp_path.iterdir()) == [path]


def test_numbers_that_json_has_not_become_null(tmp_path):
    write_json(tmp_path / "a.json", {"x": float("nan"), "y": [float("inf"), 1.5]})
    assert read_json(tmp_path / "a.json") == {"x": None, "y": [None, 1.5]}


def test_a_folder_that_is_no_run_is_never_overwritten(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "data.txt").write_text("years of work")
    with pytest.raises(UserError, match="not a run folder"):
        runs.create(tmp_path / "precious", True, "", {})
    assert (tmp_path / "precious" / "data.txt").exists()


@pytest.mark.parametrize(
    ("task", "folder"),
    [
        ("RDM-v0", "RDM-v0"),
        ("dir/mine.py:Mine", "mine.Mine"),
        ("pkg.mod:Mine", "pkg.mod.Mine"),
        ("../../etc", "_.._etc"),
    ],
)
def test_task_names_are_plain_folder_names(task, folder):
    assert runs.safe_name(task) == folder
    assert "/" not in runs.safe_name(task)
