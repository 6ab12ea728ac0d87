"""Whatever is written takes only the place of what ngym itself wrote; what a killed process left is cleared away."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ngym_cli.errors import UserError
from ngym_cli.files import writing
from ngym_cli.files.writing import atomic_folder, atomic_path, check_place, clear_leftovers, write_text

KILLED = """
import os, sys
from pathlib import Path
from ngym_cli.files.writing import atomic_path
with atomic_path(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), 9)
"""


def killed_while_writing(path):
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)


def test_a_folder_in_the_place_of_a_file_stays(tmp_path):
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports/precious.txt").write_text("years of work")
    with pytest.raises(UserError, match="is a folder"), atomic_path(tmp_path / "reports") as temporary:
        temporary.write_text("page")
    assert (tmp_path / "reports/precious.txt").read_text() == "years of work"
    assert os.listdir(tmp_path) == ["reports"]


def test_a_folder_that_comes_in_between_stays(tmp_path):
    with pytest.raises(UserError, match="is a folder"), atomic_path(tmp_path / "page") as temporary:
        temporary.write_text("page")
        (tmp_path / "page").mkdir()
    assert os.listdir(tmp_path) == ["page"]


def test_a_device_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="not a regular file"):
        write_text(tmp_path / "pipe", "text")
    with pytest.raises(UserError, match="not a regular file"):
        check_place(tmp_path / "pipe", overwrite=True)


def test_a_folder_is_replaced_only_if_all_in_it_is_ours(tmp_path):
    for text in ("first", "second"):
        with atomic_folder(tmp_path / "eval", ("summary.json", "part-*")) as temporary:
            (temporary / "summary.json").write_text(text)
    assert (tmp_path / "eval/summary.json").read_text() == "second"
    (tmp_path / "eval/notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"holds notes.txt"), atomic_folder(tmp_path / "eval", ("summary.json",)):
        raise AssertionError("the work is not begun")
    assert (tmp_path / "eval/notes.txt").exists()


def test_a_link_to_a_folder_is_not_replaced(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "eval").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="will not be replaced"), atomic_folder(tmp_path / "eval", ("*",)):
        pass


def test_without_patterns_nothing_is_replaced(tmp_path):
    with atomic_folder(tmp_path / "run") as temporary:
        (temporary / "a").write_text("")
    with pytest.raises(FileExistsError), atomic_folder(tmp_path / "run"):
        pass
    assert os.listdir(tmp_path) == ["run"]


def test_what_a_killed_process_left_is_cleared_at_the_next_write(tmp_path):
    killed_while_writing(tmp_path / "conditions.png")
    assert len(os.listdir(tmp_path)) == 1
    write_text(tmp_path / "other.png", "whole")
    assert os.listdir(tmp_path) == ["other.png"]


def test_what_a_living_process_is_writing_and_what_is_not_ours_stays(tmp_path):
    (tmp_path / ".mine.d").mkdir()
    (tmp_path / ".conditions.ngym-notes").mkdir()
    with atomic_path(tmp_path / "a") as temporary:
        write_text(tmp_path / "b", "text")
        clear_leftovers(tmp_path, below=True)
        temporary.write_text("still there")
    assert sorted(os.listdir(tmp_path)) == [".conditions.ngym-notes", ".mine.d", "a", "b"]


def test_what_was_moved_aside_by_a_killed_process_is_put_back(tmp_path):
    killed_while_writing(tmp_path / "run")
    holder = next(tmp_path.glob(".run.ngym-*"))
    (holder / "old/run").mkdir(parents=True)
    (holder / "old/run/manifest.json").write_text("{}")
    clear_leftovers(tmp_path)
    assert os.listdir(tmp_path) == ["run"]
    assert (tmp_path / "run/manifest.json").exists()


def plant(folder, inode=None):
    """Plant a hidden folder, named like an unfinished one of a dead process on another machine."""
    created = folder / "made"
    created.mkdir()
    hidden = folder / f".a.ngym-0badcafe-1-1-{created.stat().st_ino if inode is None else inode}"
    created.rename(hidden)
    os.utime(hidden, (0, 0))
    return hidden


def test_a_planted_hidden_folder_is_left_alone(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/thesis.tex").write_text("years of work")
    runs = tmp_path / "runs"
    runs.mkdir()
    for inode in ("abc", "12"):
        hidden = plant(runs, inode)
        (hidden / "old").symlink_to(tmp_path / "precious")
        os.utime(hidden, (0, 0))
    (plant(runs, "17") / "old").mkdir()
    (runs / ".a.ngym-0badcafe-1-1-17/old/b").write_text("a file of somebody")
    os.utime(runs / ".a.ngym-0badcafe-1-1-17", (0, 0))
    before = sorted(os.listdir(runs))
    write_text(runs / "a", "text")
    assert sorted(os.listdir(runs)) == sorted([*before, "a"])
    assert (tmp_path / "precious/thesis.tex").read_text() == "years of work"
    assert writing.foreign(runs, ("a",)) is not None


def test_a_link_in_place_of_the_folder_of_replaced_files_is_not_followed(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/thesis.tex").write_text("years of work")
    hidden = plant(tmp_path)  # with the right inode number, as if a link came later
    (hidden / "old").symlink_to(tmp_path / "precious")
    os.utime(hidden, (0, 0))
    clear_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["precious"]
    assert (tmp_path / "precious/thesis.tex").read_text() == "years of work"


def test_a_link_to_itself_is_nothing_to_lose(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/self").symlink_to("self")
    assert writing.foreign(tmp_path / "run", ()) is None
    (tmp_path / "run/other").symlink_to(tmp_path)
    assert writing.foreign(tmp_path / "run", ()) == "other"


def test_a_disk_on_which_a_rename_replaces_nothing(tmp_path, monkeypatch):
    """As sshfs and some network disks."""

    def refuse(source, target):
        if os.path.exists(target):
            raise PermissionError(1, "Operation not permitted")
        os.rename(source, target)

    monkeypatch.setattr(writing.os, "replace", refuse)
    for text in ("first", "second"):
        write_text(tmp_path / "manifest.json", text)
        assert (tmp_path / "manifest.json").read_text() == text
    assert os.listdir(tmp_path) == ["manifest.json"]


def test_longest_names(tmp_path):
    write_text(tmp_path / ("n" * 255), "text")
    with pytest.raises(OSError, match="too long"):
        write_text(tmp_path / ("n" * 256), "text")
    assert len(os.listdir(tmp_path)) == 1


def test_writing_again_does_not_list_the_folder(tmp_path, monkeypatch):
    write_text(tmp_path / "a", "1")
    monkeypatch.setattr(type(tmp_path), "glob", lambda *_: pytest.fail("the folder is listed"))
    write_text(tmp_path / "a", "2")
    assert (tmp_path / "a").read_text() == "2"
