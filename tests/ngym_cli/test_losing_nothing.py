"""No command removes or replaces what it did not make: folders, files of the user's, devices."""

from __future__ import annotations

import os
import shutil

import pytest

pytestmark = pytest.mark.usefixtures("one_figure")


@pytest.fixture
def run(run_folder, tmp_path):
    return shutil.copytree(run_folder, tmp_path / "runs/RDM-v0/recurrent_ppo/it")


@pytest.fixture
def precious(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/data.txt").write_text("years of work")
    return tmp_path / "precious"


def kept(precious):
    return os.listdir(precious.parent / "precious") and (precious / "data.txt").read_text() == "years of work"


@pytest.mark.parametrize("out", ["precious", "precious/", ".", "runs", "new", "new/deep/page.html"])
def test_a_report_goes_into_a_folder(ngym, run, precious, tmp_path, out):
    result = ngym("report", run, "--out", out)
    assert result.code == 0, result
    assert kept(precious) and (run / "manifest.json").exists()
    page = tmp_path / out
    assert (page if page.suffix else page / "report.html").is_file()


def test_a_file_of_the_users_is_replaced_only_on_demand(ngym, run, precious):
    for command in (["report", run, "--out"], ["info", "RDM-v0", "--figure"]):
        for path in ("page.html", "trial.png")[command[0] == "info" :][:1]:
            (precious / path).write_text("mine")
            refused = ngym(*command, precious / path)
            assert refused.code == 2 and "--overwrite" in refused.err and refused.err.count("\n") == 1
            assert (precious / path).read_text() == "mine"
            assert ngym(*command, precious / path, "--overwrite").code == 0
            assert (precious / path).read_bytes() != b"mine"


def test_a_figure_does_not_take_the_place_of_a_folder(ngym, precious):
    for more in ([], ["--overwrite"]):
        result = ngym("info", "RDM-v0", "--figure", precious, *more)
        assert result.code == 2 and "is a folder" in result.err and result.err.count("\n") == 1
    assert kept(precious)


def test_a_report_where_a_folder_has_its_name(ngym, run, precious, tmp_path):
    precious.rename(tmp_path / "page.html")
    result = ngym("report", run, "--out", tmp_path / "page.html", "--overwrite")
    assert result.code == 0
    assert (tmp_path / "page.html/data.txt").exists() and (tmp_path / "page.html/report.html").is_file()


def test_devices_stay(ngym, run, tmp_path):
    os.mkfifo(tmp_path / "pipe.html")
    assert "not a regular file" in ngym("report", run, "--out", "pipe.html", "--overwrite").err


def test_pruning_leaves_what_is_not_a_checkpoint(tmp_path):
    from ngym_cli.agents import checkpoints

    for step in range(3):
        folder = tmp_path / checkpoints.folder_of(step)
        folder.mkdir()
        for name in checkpoints.CHECKPOINT_FILES:
            (folder / name).write_text("")
    (tmp_path / checkpoints.folder_of(0) / "notes.txt").write_text("mine")
    checkpoints.prune(tmp_path, 1, total=2)
    assert (tmp_path / checkpoints.folder_of(0) / "notes.txt").exists()
    assert not (tmp_path / checkpoints.folder_of(1)).exists()
    assert (tmp_path / checkpoints.folder_of(2) / checkpoints.STATE).exists()
