"""Periods on time axes: shaded where most trials are in them, and the event that time is counted from."""

from __future__ import annotations

import numpy as np
import pytest

from ngym_cli.figures import time_axis


def test_periods_are_where_most_trials_are_in_them():
    rng = np.random.default_rng(0)
    delay = rng.choice([500.0, 1000.0, 1500.0], 300)
    table = {
        "onset_fixation": np.zeros(300),
        "period_fixation": np.full(300, 200.0),
        "onset_sample": np.full(300, 200.0),
        "period_sample": np.full(300, 300.0),
        "onset_delay": np.full(300, 500.0),
        "period_delay": delay,
        "onset_decision": 500 + delay,
        "period_decision": np.full(300, 100.0),
    }
    assert time_axis.first_event(time_axis.onsets(table), np.zeros(300)) == "sample"
    found = time_axis.spans(table, table["onset_sample"], -200, 2000, 100)
    assert found[:3] == [("fixation", -200, 0), ("sample", 0, 300), ("delay", 300, 1300)]  # the middle delay
    at_decision = time_axis.spans(table, table["onset_decision"], -1200, 100, 100)
    assert at_decision == [("sample", -1200, -1000), ("delay", -1000, 0), ("decision", 0, 100)]


def test_a_period_that_most_trials_lack_is_no_event():
    """In sessions of several tasks, a period that other tasks have began at 0 and lasted for nothing."""
    period = np.where(np.arange(100) < 20, 300.0, np.nan)
    table = {"onset_sample": np.where(period > 0, 100.0, 0.0), "period_sample": period}
    assert np.isfinite(time_axis.onsets(table)["sample"]).sum() == 20
    assert time_axis.first_event(time_axis.onsets(table), np.zeros(100)) == ""
    assert time_axis.spans(table, np.zeros(100), 0, 500, 100) == []


@pytest.mark.parametrize(("n_first", "event"), [(20, "cue"), (80, "cue"), (100, "sample")])
def test_the_event_of_several_tasks_is_in_all_of_them(n_first, event):
    """The first task has a sample and a cue, the second a cue alone, however often each is presented."""
    is_first = np.arange(100) < n_first
    onsets = {"sample": np.where(is_first, 100.0, np.nan), "cue": np.full(100, 300.0)}
    assert time_axis.first_event(onsets, is_first) == event
