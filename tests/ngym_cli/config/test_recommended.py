"""Recommended settings are those that a task needs; the user's own have priority."""

from __future__ import annotations

import pytest

from neurogym.envs.registration import every_task
from ngym_cli.agents.defaults import default_steps, prepare
from ngym_cli.agents.per_task import BUDGETS, has_own_stages, measured
from ngym_cli.config.model import from_dict
from ngym_cli.config.tasks import default_settings, defaults_table, recommended, usual_algorithm
from ngym_cli.errors import UserError


def test_the_wish_is_replaced_by_the_settings():
    config = from_dict({"task": "Priors-v0", "recommended": True})
    assert [entry.name for entry in config.wrappers] == ["pass_reward", "pass_action"]
    assert "recommended" not in config.to_toml()


@pytest.mark.parametrize("settings", [{"task": "GoNogo-v0"}, {}, {"task": "RDM-v0+GoNogo-v0"}], ids=str)
def test_other_tasks_need_nothing(settings):
    assert from_dict({**settings, "recommended": True}) == from_dict(settings)


def test_own_settings_have_priority():
    config = from_dict({"task": "Priors-v0", "recommended": True, "wrappers": "pass_reward"})
    assert [entry.name for entry in config.wrappers] == ["pass_reward"]


def test_only_true_and_false_are_answers():
    with pytest.raises(UserError, match="recommended: expected true or false, not 'yes'"):
        from_dict({"recommended": "yes"})


@pytest.mark.parametrize("task", [id_ for id_ in every_task() if recommended(id_)])
def test_recommended_settings_are_valid(task):
    _, properties = prepare(from_dict({"task": task, "recommended": True}))
    assert not properties.lacks_reward and recommended(task).reason


def test_every_task_with_settings_of_its_own_exists():
    assert {*defaults_table()} <= set(every_task())


@pytest.mark.parametrize("settings", [{}, {"seed": 3, "recommended": True}, {"timesteps": 5_000}], ids=str)
def test_default_stages_are_those_of_the_bare_line(settings):
    task = {"task": "HierarchicalReasoning-v0"}
    config = from_dict({**task, **settings})
    assert [stage.name for stage in config.stages] == ["one rule", "chosen rule", "hidden rule"]
    assert [config.in_stage(k).task_args for k in range(3)] == [{"first_rule": 1.0}, {"hidden": False}, {}]
    assert not has_own_stages(config) and default_steps(config, task["task"]) == BUDGETS[task["task"]]


@pytest.mark.parametrize(
    "settings", [{"stages": []}, {"task_args": {"hidden": True}}, {"alg": "supervised"}, {"task": "GoNogo-v0"}], ids=str
)
def test_own_settings_leave_default_stages_out(settings):
    assert from_dict({"task": "HierarchicalReasoning-v0", **settings}).stages == []


@pytest.mark.parametrize(
    ("task", "alg"), [(task, alg) for task, row in defaults_table().items() for alg in row.get("settings_with", ())]
)
def test_settings_of_another_algorithm_apply_with_it_alone_and_are_replaced_by_own_settings(task, alg):
    special = default_settings(task, alg)
    assert alg != usual_algorithm(task) and special.reason
    names = [entry["name"] for entry in special.settings["wrappers"]]
    assert [entry.name for entry in from_dict({"task": task, "alg": alg}).wrappers] == names
    assert [entry.name for entry in from_dict({"task": task}).wrappers] != names
    assert from_dict({"task": task, "alg": alg, "wrappers": []}).wrappers == []


def test_default_units_are_of_the_usual_algorithm_and_are_replaced_by_others():
    task = {"task": "DelayEstimation-v0"}
    assert from_dict(task).units == 128 and from_dict({**task, "units": 64}).units == 64
    assert from_dict({**task, "alg": "ppo"}).units is None


@pytest.mark.parametrize("settings", [{"timing": {"delay": 100}}, {"task_args": {"hidden": True}}], ids=str)
def test_stages_that_change_a_named_setting_are_left_out(monkeypatch, settings):
    stages = [
        {"name": "short", "trials": 10, "timing": {"delay": 50}, "task_args": {"hidden": False}},
        {"name": "long"},
    ]
    row = {"settings": {"stages": stages}, "settings_reason": ""}
    monkeypatch.setitem(defaults_table(), "HierarchicalReasoning-v0", row)
    task = {"task": "HierarchicalReasoning-v0"}
    assert len(from_dict(task).stages) == 2 and from_dict({**task, **settings}).stages == []


def test_settings_that_are_the_default_are_not_recommended():
    assert recommended("TwoStep-v0") is None and recommended("Priors-v0") is not None


@pytest.mark.parametrize(
    "task", [id_ for id_ in defaults_table() if (usual := default_settings(id_)) and "wrappers" in usual.settings]
)
def test_default_wrappers_are_replaced_by_own_wrappers(task):
    default, own, without = (
        from_dict({"task": task, **more}) for more in ({}, {"wrappers": "noise"}, {"wrappers": []})
    )
    assert [entry.name for entry in default.wrappers] == [
        w["name"] for w in default_settings(task).settings["wrappers"]
    ]
    assert [entry.name for entry in own.wrappers] == ["noise"] and without.wrappers == []
    assert from_dict({"task": task, "wrappers": "none"}) == without


@pytest.mark.parametrize("task", [id_ for id_ in every_task() if measured(id_, "recommended")])
def test_recommended_settings_are_not_worse_than_none(task):
    default, better = measured(task), measured(task, "recommended")
    if recommended(task) is not None and default is not None:
        assert better.performance >= default.performance - 0.005
