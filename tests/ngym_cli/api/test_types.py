"""A program of a user passes strict type checkers, and wrong types and names do not."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("typed")
MYPY = (sys.executable, "-m", "mypy", "--strict")
#: Lines of the wrong program that have a mistake.
WRONG_LINES = {
    number
    for number, line in enumerate((PROGRAMS / "wrong.py").read_text().splitlines(), start=1)
    if "nc." in line or "run." in line
}


def checked(tmp_path, name, command=MYPY):
    """Return what a type checker prints of a program outside of the repository."""
    shutil.copy(PROGRAMS / name, tmp_path)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    return subprocess.run([*command, name], cwd=tmp_path, capture_output=True, text=True, check=False).stdout


def lines_with_errors(result):
    """Return the numbers of lines in which a type checker finds errors."""
    return {int(line) for line in re.findall(r"wrong.py:(\d+):(?:\d+ -)? error", result)}


@pytest.mark.long
def test_a_project_passes_a_strict_type_checker(tmp_path):
    assert "Success" in checked(tmp_path, "project.py")


@pytest.mark.long
def test_wrong_types_and_names_are_found(tmp_path):
    result = checked(tmp_path, "wrong.py")
    assert lines_with_errors(result) == WRONG_LINES, result
    assert 'has no attribute "evaluat"' in result and 'did you mean "network"' in result


@pytest.mark.long
def test_pyright_agrees(tmp_path):
    pytest.importorskip("pyright")
    command = (sys.executable, "-m", "pyright", "--pythonpath", sys.executable)
    assert "0 errors" in checked(tmp_path, "project.py", command)
    assert lines_with_errors(checked(tmp_path, "wrong.py", command)) == WRONG_LINES
