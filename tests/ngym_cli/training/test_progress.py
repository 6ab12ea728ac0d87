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


NUMBERS = {"performance": 0.5, "trials": 100, "reward_per_trial": 0.25, "fixation_breaks": "10.00% of trials"}


def test_bars_are_drawn_on_a_terminal_and_taken_away(monkeypatch):
    out, now = io.StringIO(), [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    console = Console(file=out, force_terminal=True, width=90, highlight=False, color_system=None)
    display = LiveDisplay(console, 1_000, {"chance": 0.333})
    display.start()
    display.update(500, NUMBERS)
    display.evaluating(9, 40)
    now[0] += 0.3
    display.evaluating(10, 40)
    display.evaluated(0.1)
    display.stop()
    assert "500 of 1,000 steps" in out.getvalue() and "10 of 40 trials" in out.getvalue()
    assert "9 of 40 trials" not in out.getvalue()
    assert "chance 0.333" in out.getvalue() and "\x1b[2K" in out.getvalue()


def test_the_time_left_is_said_once_it_is_known(monkeypatch):
    out, now = io.StringIO(), [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    display = LiveDisplay(Console(file=out, width=200), 1_000, {})
    display.start()
    now[0] += 1
    display.update(10, NUMBERS)
    assert not out.getvalue()
    for step in (250, 260, 500):
        now[0] += 9
        display.update(step, NUMBERS)
    lines = out.getvalue().splitlines()
    assert [line.split(":")[0] for line in lines] == ["250 of 1,000 steps, 30 s left", "500 of 1,000 steps, 28 s left"]


def test_the_bar_of_a_run_that_ended_early_keeps_the_steps_taken():
    import io

    from rich.console import Console

    page = io.StringIO()
    display = LiveDisplay(Console(file=page, force_terminal=True, width=100), 3_000, {})
    numbers = {"performance": 0.5, "trials": 10, "reward_per_trial": 0.1, "fixation_breaks": "0.00% of trials"}
    display.start()
    display.update(1_000, numbers)
    display.evaluating(3, 10)
    display.stop()
    assert "1,000 of 3,000 steps, ended" in page.getvalue()
