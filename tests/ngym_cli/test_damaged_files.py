"""Damaged files of every format that is read: one line about the file, no crash, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ngym_cli.damage import FORMATS

ROOT = Path(__file__).parents[2]


def damage(names, examples, folder):
    """Read damaged copies of files in a process of its own, which a crash ends."""
    command = [sys.executable, "-m", "tests.ngym_cli.damage", str(examples), str(folder), *names]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, (ended.returncode, ended.stdout.splitlines()[-1:], ended.stderr[-3000:])


def test_some_damaged_files_of_every_format(tmp_path):
    damage(FORMATS, 25, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
def test_a_thousand_damaged_files(tmp_path, name):
    damage([name], int(os.environ.get("NGYM_FUZZ", "1000")), tmp_path)
