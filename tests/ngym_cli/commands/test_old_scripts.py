"""``ngym check --neurogym`` and ``ngym list differences``."""

from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """import neurogym as ngym
from neurogym.utils.info import show_info
env = ngym.make("Mante-v0")
ob, reward, done, info = env.step(0)
"""


def test_a_script_is_read_line_by_line(ngym, tmp_path):
    file = tmp_path / "old.py"
    file.write_text(SCRIPT)
    result = ngym("check", file, "--neurogym")
    assert result.code == 1
    assert "neurogym.info" in result.out and "ContextDecisionMaking-v0" in result.out and "five values" in result.out
    rows = json.loads(ngym("check", file, "--neurogym", "--json").out)
    assert [(row["line"], row["status"]) for row in rows] == [(2, "works"), (3, "changed"), (3, "works"), (4, "fails")]


def test_a_notebook_is_read(ngym, tmp_path):
    file = tmp_path / "old.ipynb"
    cells = [
        {"cell_type": "markdown", "source": ["text"]},
        {"cell_type": "code", "source": "%%bash\nls -l | head"},
        {"cell_type": "code", "source": ["%%time\n", "if not False:\n", "    !pip install x\n", "    %cd x\n"]},
        {
            "cell_type": "code",
            "source": ["%matplotlib inline\n", "!pip install x\n", "from neurogym.utils.spaces import Box"],
        },
    ]
    file.write_text(json.dumps({"cells": cells}))
    result = ngym("check", file, "--neurogym", "--json")
    assert result.code == 0 and json.loads(result.out)[0]["becomes"] == "neurogym.spaces"


def test_what_is_no_script_is_one_line(ngym, tmp_path):
    (tmp_path / "bad.py").write_text("def (")
    (tmp_path / "bad.ipynb").write_text("[]")
    for settings in ((), ("nowhere.py",), ("bad.py",), ("bad.ipynb",)):
        result = ngym("check", *settings, "--neurogym")
        assert result.code == 2 and len(result.err.strip().splitlines()) == 1


def test_differences_of_the_toolkit_are_listed(ngym):
    rows = json.loads(ngym("list", "differences", "toolkit", "reset", "--json").out)
    assert rows and all(row["task"].startswith("toolkit: ") for row in rows)


def test_a_reader_that_leaves_early_hears_no_complaint():
    command = [sys.executable, "-m", "ngym_cli", "list", "differences"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()  # before anything is written; later, all might have been
        assert process.stderr.read() == "" and process.wait(60) == 1
