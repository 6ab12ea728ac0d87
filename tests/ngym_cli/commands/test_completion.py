"""Completion at the press of a key, in the shells of a real terminal."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("ngym")
BEGIN = {"bash": ["--noprofile", "--norc", "-i"], "zsh": ["-f", "-i"]}
SOURCE = {"bash": "source {}", "zsh": "autoload -U compinit; compinit -u -D; source {}"}


def script_of(shell, **more):
    """Return what the program prints for a shell."""
    environment = {**os.environ, "_NGYM_COMPLETE": f"source_{shell}", **more}
    return subprocess.run([PROGRAM], env=environment, capture_output=True, text=True, check=False)


def until(terminal, word, seconds=20.0):
    """Return what the terminal shows up to a word."""
    text, end = "", time.monotonic() + seconds
    while word not in text:
        if not select.select([terminal], [], [], max(end - time.monotonic(), 0))[0]:
            raise AssertionError(f"{word!r} did not appear: {text!r}")
        text += os.read(terminal, 4096).decode(errors="replace")
    return text


@pytest.mark.skipif(not PROGRAM.exists(), reason="the command is not installed next to Python")
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_press_of_the_key_completes_a_word(shell, tmp_path):
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    script = script_of(shell)
    assert script.returncode == 0 and not script.stderr
    (tmp_path / "script").write_text(script.stdout)
    child, terminal = pty.fork()
    if child == 0:
        environment = {"PATH": f"{PROGRAM.parent}:/usr/bin:/bin", "TERM": "dumb", "HOME": str(tmp_path), "PS1": "$ "}
        os.execve(path, [shell, *BEGIN[shell]], environment)
    try:
        os.write(terminal, f"{SOURCE[shell].format(tmp_path / 'script')}; echo rea'dy'\n".encode())
        until(terminal, "ready")
        os.write(terminal, b"ngym info GoNo\t")
        shown = until(terminal, "GoNogo-v0")
        assert "SystemExit" not in shown and "ngym: " not in shown
    finally:
        os.close(terminal)
        os.kill(child, 9)
        os.waitpid(child, 0)


def test_the_script_of_a_shell_is_printed(ngym, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    printed = ngym("--show-completion", "bash")
    assert printed.code == 0 and "complete" in printed.out and not printed.err
