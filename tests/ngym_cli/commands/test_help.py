"""What ``--help`` says, word for word; ``NGYM_WRITE_HELP=1 pytest tests/ngym_cli/test_help.py`` accepts a change."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import typer

from ngym_cli.commands import app

FOLDER = Path(__file__).parent / "help"


def commands(group=None, path=()):
    """Return every command of the command line as the words that call it."""
    group = group or typer.main.get_command(app.app)
    found = [path]
    for name, command in getattr(group, "commands", {}).items():
        found += commands(command, (*path, name))
    return found


def words(text):
    """Return a help text without frames and folding."""
    lines = [re.sub(r"[─-╿]+", " ", line).split() for line in text.splitlines()]
    return "\n".join(" ".join(line) for line in lines if line) + "\n"


@pytest.mark.parametrize("path", commands(), ids=lambda path: "-".join(path) or "ngym")
def test_help_is_as_it_was(ngym, monkeypatch, path):
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("TERM", "dumb")
    result = ngym(*path, "--help")
    assert result.code == 0
    file = FOLDER / f"{'-'.join(path) or 'ngym'}.txt"
    if os.environ.get("NGYM_WRITE_HELP"):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(words(result.out))
    assert file.is_file(), f"{file.name} is missing; NGYM_WRITE_HELP=1 writes it"
    assert words(result.out) == file.read_text()


def test_every_option_is_explained():
    for path in commands():
        command = typer.main.get_command(app.app)
        for name in path:
            command = command.commands[name]
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"ngym {' '.join(path)}: {parameter.name}"
