"""The commands of the README as they stand, in an empty folder and with short runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

#: Commands that are not run here: they train for minutes, or need a table of choices.
NOT_RUN = ("ngym sweep", "ngym reproduce", "ngym fit", "ngym data", "ngym info NAME")


def commands():
    """Return the commands of the README in the order in which they appear, each once."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^    (ngym .*?)(?:  +#.*)?$", text, re.MULTILINE)
    table = [code for row in re.findall(r"^\|.*\|$", text, re.MULTILINE) for code in re.findall(r"`(ngym [^`]+)`", row)]
    return list(dict.fromkeys([*lines, *table]))


@pytest.mark.usefixtures("one_figure")
def test_every_command_of_the_readme_works_in_an_empty_folder(ngym, tmp_path, monkeypatch):
    monkeypatch.setattr("ngym_cli.agents.defaults.default_steps", lambda *_: 2_000)
    done = []
    for line in commands():
        if line.startswith(NOT_RUN) or "--compare" in line:
            continue
        result = ngym(*shlex.split(line)[1:])
        assert result.code == 0, (line, result.err)
        done.append(line)
    assert {"ngym eval latest", "ngym plot latest", "ngym report latest"} <= set(done) and len(done) >= 6
    assert list(tmp_path.glob("runs/*/*/*/report.html"))
