"""Rows of the page of a run that are computed from its record."""

from __future__ import annotations

import pytest

from ngym_cli.figures.report import numbers_of, provenance_rows


@pytest.mark.parametrize(
    ("interval", "words"), [((0.88, 0.92), "within its interval"), ((0.897, 0.91), "beyond its interval"), (None, "")]
)
def test_a_performance_above_the_ceiling_says_whether_its_interval_has_the_ceiling(interval, words):
    performance, ceiling = (0.9, 0.896) if interval else (0.8, 0.896)
    result = {"performance": performance, "trials": 100, "ceiling": ceiling, "reward_per_trial": 0.5}
    result |= {"performance_ci": interval, "fixation_break_rate": 0.0, "fixation_periods": "fixation"}
    result |= {"early_action_rate": 0.64, "decision_period": "decision"}
    rows = numbers_of(result)
    assert words in rows[0][1] and ("above" in rows[0][1]) == bool(words)
    assert ("0.0%", "of trials break fixation in fixation") in rows
    assert ("64.0%", "of trials act before decision") in rows


def test_the_command_can_be_copied():
    rows = provenance_rows({"command": ["/usr/bin/ngym", "run", "--name", "my run", "--set", "n_steps=8"]})
    assert rows == [("command", "ngym run --name 'my run' --set n_steps=8")]
