"""Every command that only reads, over every task."""

from __future__ import annotations

import json

import pytest

from neurogym.envs import registration

#: The reference agents of this task look at images for ten seconds.
LONG = "VisualSearch-v0"


@pytest.mark.parametrize(
    "task", [pytest.param(each, marks=pytest.mark.long) if each == LONG else each for each in registration.every_task()]
)
def test_info(ngym, task):
    visible = ngym("info", task)
    assert (visible.code, visible.err) == (0, "") and visible.out.startswith(task)
    assert "ceiling" in visible.out and "chance" in visible.out
    result = json.loads(ngym("info", task, "--json").out)
    assert result["id"] == task
    assert (result["ceiling"] is None) == bool(result["no_ceiling"])
    assert result["blind"] is None or 0 <= result["blind"] <= 1
    if result["needs_reward"]:
        assert "pass_reward" in visible.out
        assert result["ceiling"]["performance"] < result["ceiling_with_reward"]["performance"]


@pytest.mark.parametrize("task", [pytest.param(t, marks=pytest.mark.long) for t in registration.every_task()])
def test_check(ngym, task):
    result = ngym("check", task)
    assert result.code == 0, result.out + result.err


@pytest.mark.parametrize("case", ["tasks", "wrappers", "algs", "networks", "tags", "runs", "differences"])
def test_list(ngym, case):
    assert ngym("list", case).code == 0
    assert isinstance(json.loads(ngym("list", case, "--json").out), list)


def test_list_of_ceilings(ngym):
    rows = json.loads(ngym("list", "tasks", "--ceilings", "--json").out)
    assert {row["id"] for row in rows} == set(registration.every_task())
    assert sum(row["ceiling"] is None for row in rows) <= 2


@pytest.mark.parametrize("task", ["LeverPress-v0", "LeverPressWithPoke-v0", "Null-v0"])
def test_a_task_that_needs_no_observation_says_so(ngym, task):
    assert "no observation is needed" in ngym("info", task).out
