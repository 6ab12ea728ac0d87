"""What is said while a run goes on."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from ngym_cli.training.progress import LiveDisplay

SAID = "4,096 steps: performance 0.500 [0.366, 0.634] over 50 fresh trials, most probable actions (chance 0.333)"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_are_folded_between_words_on_a_terminal(width):
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, highlight=False, color_system=None)
    LiveDisplay(console, 10_000, {"chance": 0.333}).say(SAID)
    lines = out.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    assert " ".join(line.strip() for line in lines) == SAID


def test_lines_are_whole_where_there_is_no_terminal():
    out = io.StringIO()
    LiveDisplay(Console(file=out, width=60), 10_000, {}).say(SAID)
    assert out.getvalue() == SAID + "\n"
