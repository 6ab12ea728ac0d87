"""Every command that only reads, over every task."""

from __future__ import annotations

import json

import pytest

from neurogym.envs import registration


@pytest.mark.parametrize("task", registration.every_task())
def test_info(ngym, task):
    shown = ngym("info", task)
    assert (shown.code, shown.err) == (0, "") and shown.out.startswith(task)
    assert "ceiling" in shown.out and "chance" in shown.out
    found = json.loads(ngym("info", task, "--json").out)
    assert found["id"] == task
    assert (found["ceiling"] is None) == bool(found["no_ceiling"])
    assert found["blind"] is None or 0 <= found["blind"] <= 1
    if found["needs_reward"]:
        assert "pass_reward" in shown.out
        assert found["ceiling"]["performance"] < found["ceiling_with_reward"]["performance"]


@pytest.mark.parametrize("task", [pytest.param(t, marks=pytest.mark.long) for t in registration.every_task()])
def test_check(ngym, task):
    found = ngym("check", task)
    assert found.code == 0, found.out + found.err


@pytest.mark.parametrize("what", ["tasks", "wrappers", "algs", "networks", "tags", "runs", "differences"])
def test_list(ngym, what):
    assert ngym("list", what).code == 0
    assert isinstance(json.loads(ngym("list", what, "--json").out), list)


def test_list_of_ceilings(ngym):
    rows = json.loads(ngym("list", "tasks", "--ceilings", "--json").out)
    assert {row["id"] for row in rows} == set(registration.every_task())
    assert sum(row["ceiling"] is None for row in rows) <= 2


@pytest.mark.parametrize("task", ["LeverPress-v0", "LeverPressWithPoke-v0", "Null-v0"])
def test_a_task_that_needs_no_observation_says_so(ngym, task):
    assert "no observation is needed" in ngym("info", task).out
