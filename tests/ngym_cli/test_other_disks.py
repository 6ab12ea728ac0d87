"""Disks of other kinds, and folders that several users share.

No disk of these kinds is mounted: what they refuse (locks, a rename over what is there) is refused in their place, and
for a disk that does not tell capital letters the names are looked at.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from ngym_cli.files import writing
from tests.ngym_cli.apart import call

SMALL = "run --task RDM-v0 --timesteps 512 --n-envs 2 --units 4 --set n_steps=32 --eval-trials 4 --name it".split()
SMALL += ["--checkpoint-every", "128"]


def no_locks(monkeypatch):
    def refuse(handle, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(writing.fcntl, "flock", refuse)


def no_rename_over(monkeypatch):
    rename = os.rename

    def refuse(source, target, **places):
        if os.path.lexists(target):
            raise PermissionError(errno.EPERM, "Operation not permitted", str(source), None, str(target))
        rename(source, target, **places)

    monkeypatch.setattr(os, "rename", refuse)
    monkeypatch.setattr(os, "replace", refuse)


@pytest.mark.usefixtures("one_figure")
@pytest.mark.parametrize("lacks", [no_locks, pytest.param(no_rename_over, marks=pytest.mark.long)])
def test_a_run_on_a_disk_that_lacks(ngym, tmp_path, monkeypatch, lacks):
    lacks(monkeypatch)
    folder = tmp_path / "runs/RDM-v0/recurrent_ppo/it"
    for line in (
        SMALL,
        [*SMALL, "--overwrite"],
        ["eval", folder, "--trials", "4"],
        ["eval", folder, "--trials", "4"],
        ["plot", folder, "learning"],
        ["plot", folder, "learning"],
        ["report", folder],
        ["report", folder],
        ["runs", "note", folder, "mine"],
        ["list", "runs"],
    ):
        result = ngym(*line)
        assert result.code == 0, (line, result)
    assert len(list(folder.glob("checkpoints/step_*"))) >= 1
    assert not [path for path in tmp_path.rglob(".*") if "ngym-" in path.name], "leftovers"


def test_no_two_names_differ_in_capital_letters_alone(run_folder):
    from neurogym.envs import registration

    names = [str(path.relative_to(run_folder)) for path in run_folder.rglob("*")]
    for result in (names, list(registration.every_task())):
        assert max(Counter(name.casefold() for name in result).values()) == 1


@pytest.fixture
def shared():
    """A folder that everybody may write to, and nobody may remove another's files from."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs root to become other users")
def test_two_users_share_a_folder_of_runs(shared):
    first, second = 65_533, 65_534
    assert call(SMALL, shared, user=first).code == 0
    for folder in ("runs", "runs/RDM-v0", "runs/RDM-v0/recurrent_ppo"):
        (shared / folder).chmod(0o1777)
    run = shared / "runs/RDM-v0/recurrent_ppo/it"
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert "finished" in call(["list", "runs"], shared, user=second).out
    for line in (
        SMALL,
        [*SMALL, "--overwrite"],
        ["eval", "it", "--trials", "4"],
        ["plot", "it", "learning"],
        ["report", "it"],
        ["runs", "rm", "it", "--yes"],
        ["run", "--resume", "it"],
    ):
        ended = call(line, shared, user=second)
        assert ended.wrong is None and ended.code == 2 and len(ended.err.strip().splitlines()) <= 3, (line, ended)
    ours = call([*SMALL[:-3], "other", *SMALL[-2:]], shared, user=second)
    assert ours.wrong is None and ours.code == 0, ours
    listed = call(["list", "runs"], shared, user=second)
    assert listed.code == 0 and "/other" in listed.out and "/it" in listed.out
    assert before == {path: path.read_bytes() for path in before}
