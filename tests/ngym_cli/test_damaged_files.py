"""Damaged files of every format that is read: one line about the file, no crash, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ngym_cli.damage import FORMATS

ROOT = Path(__file__).parents[2]


def damage(name, examples, folder):
    """Read damaged copies of a file in a process of its own, which a crash ends."""
    command = [sys.executable, "-m", "tests.ngym_cli.damage", name, str(examples), str(folder)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, (ended.returncode, ended.stderr[-3000:])


@pytest.mark.parametrize("name", FORMATS)
def test_a_hundred_damaged_files(tmp_path, name):
    damage(name, 100, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
def test_a_thousand_damaged_files(tmp_path, name):
    damage(name, int(os.environ.get("NGYM_FUZZ", "1000")), tmp_path)
