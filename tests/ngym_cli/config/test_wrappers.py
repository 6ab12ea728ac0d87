"""Every wrapper by its name on the command line, with arguments of the right type."""

from __future__ import annotations

import inspect
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from ngym_cli.agents.defaults import prepare
from ngym_cli.config.model import from_dict
from ngym_cli.config.tasks import find_task
from ngym_cli.environments.stack import FOR_PROGRAMS, argument_types, find_wrapper, make_env, wrapper_names
from ngym_cli.errors import UserError
from ngym_cli.runs.trial_table import read_trials
from tests.ngym_cli.sameness import resumed

#: For each wrapper what is put on which task.
STACKS = {
    "bias_correction": "bias_correction:choice_w=50:th=0.2",
    "catch_trials": "catch_trials:catch_prob=0.2",
    "combine": "combine:task2=GoNogo-v0:delay=800",
    "compute_mean_perf": "compute_mean_perf:perf_th=0.6/0.8:key=a/b",
    "curriculum_learning": "curriculum_learning:perf_w=20:th=0.7",
    "dynamic_noise": "dynamic_noise:std_noise=0.2",
    "identity": "identity",
    "learn_trans_matrix": "learn_trans_matrix:lr=0.2",
    "miss_trial_reward": "miss_trial_reward:r_miss=-1",
    "modality": "modality:modality=1:n_modality=2",
    "monitor": "monitor:interval=1000000:verbose=false",
    "motion_energy": "motion_energy:directions=4",
    "noise": "noise:std_noise=0.1",
    "pass_action": "pass_action:one_hot=true",
    "pass_gt": "pass_gt",
    "pass_reward": "pass_reward",
    "perf_phases": "perf_phases:end_ph=3:wait=10,compute_mean_perf",
    "perfect_integrator": "perfect_integrator",
    "persistence": "persistence:probs=0.7",
    "random_ground_truth": "random_ground_truth:p=0.8/0.2",
    "reaction_time": "reaction_time:urgency=-0.01",
    "schedule_attr": "schedule_attr:schedule=block:5:coh=0/51.2",
    "schedule_envs": "schedule_envs:envs=GoNogo-v0+DelayComparison-v0:pad=true:schedule=block:3:env_input=true",
    "shaping": "shaping:init_ph=2",
    "side_bias": "side_bias:probs=0.2/0.8:block_dur=20/30",
    "stim_acc_signal": "stim_acc_signal",
    "ttl_pulse": "ttl_pulse:periods=stimulus",
    "time_out": "time_out:time_out=300",
    "transfer_learning": "transfer_learning:envs=GoNogo-v0:num_tr_per_task=5",
    "tr_h_reset": "tr_h_reset:rep_prob=0.2/0.8:block_dur=10",
    "trial_history": "trial_history:probs=0.8:block_dur=10/20",
    "trial_history_evolution": "trial_history_evolution:probs=0.9:ctx_dur=50:death_prob=0.01",
    "trial_history_v2": "trial_history_v2:probs=0.8/0.2//0.2/0.8",
    "trial_history_n_alt": "trial_history_n_alt:tr_prob=0.9",
    "variable_mapping": "variable_mapping:mapp_ch_prob=0.1",
    "variable_reaction_time": "variable_reaction_time:stim_dur_limit=200",
    "variable_nch": "variable_nch:block_nch=10",
}
TASKS = {
    "modality": {"task": "RDM-v0"},
    "motion_energy": {"task": "RandomDotMotion-v0"},
    "perfect_integrator": {"task": "RDM-v0"},
    "variable_nch": {"task": "RDM-v0", "task_args": {"dim_ring": 4}},
    "variable_mapping": {"task": "NAltConditionalVisuomotor-v0"},
    "trial_history_n_alt": {"task": "RDM-v0", "task_args": {"dim_ring": 3}},
}


def stack(name: str, wrappers: str | None = None):
    config = from_dict({**TASKS.get(name, {"task": "RDM-v0"}), "wrappers": wrappers or STACKS[name]})
    return config, make_env(find_task(config.task), config)


def test_every_wrapper_has_its_line():
    assert set(STACKS) | {"multi_envs"} == set(wrapper_names())


@pytest.mark.parametrize("name", STACKS)
def test_every_wrapper_can_be_used_by_name_and_its_record_makes_it_again(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config, env = stack(name)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(100):
        ob, _, _, _, _ = env.step(int(rng.integers(env.action_space.n)))
        assert env.observation_space.contains(ob)
    resolved = prepare(config)[0]
    again = from_dict(tomllib.loads(resolved.to_toml()))
    assert again.wrappers == resolved.wrappers
    assert make_env(find_task(again.task), again).observation_space.shape == env.observation_space.shape


def test_arguments_have_their_types():
    from neurogym.sampling.scheduler import RandomBlockSchedule

    _, env = stack("side_bias")
    np.testing.assert_allclose(env.choice_prob, [[0.8, 0.2], [0.2, 0.8]])
    _, env = stack("schedule_attr")
    assert isinstance(env.schedule, RandomBlockSchedule)
    assert [attr["coh"] for attr in env.attr_list] == [0, 51.2]
    _, env = stack("combine")
    assert env.unwrapped.delay == 800
    assert env.action_space.n == 6  # three actions of one task with two of the other
    _, env = stack("combine", "combine:task2=DelayComparison-v0")
    assert env.action_space.n == 3  # shared
    _, env = stack("schedule_envs")
    assert env.unwrapped.names == ["PerceptualDecisionMaking-v0", "GoNogo-v0", "DelayComparison-v0"]


def test_a_second_task_can_have_settings_of_its_own():
    second = {"task": "GoNogo-v0", "timing": {"stimulus": 300}, "wrappers": "random_ground_truth:p=0.9/0.1"}
    config = from_dict({"task": "RDM-v0", "dt": 50, "wrappers": [{"name": "combine", "task2": second}]})
    env = make_env(find_task(config.task), config)
    assert env.unwrapped.tasks[1].timing["stimulus"] == 300
    assert env.unwrapped.tasks[1].dt == 50
    with pytest.raises(UserError, match=r"stimulu.*did you mean"):
        bad = {**second, "timing": {"stimulu": 300}}
        make_env(find_task("RDM-v0"), from_dict({"wrappers": [{"name": "combine", "task2": bad}]}))


@pytest.mark.parametrize(
    ("wrappers", "message"),
    [
        ("noise:std_noise=loud", "std_noise must be a number"),
        ("pass_action:one_hot=2", "one_hot must be true or false"),
        ("bias_correction:choice_w=0.5", "choice_w must be a whole number"),
        ("combine:delay=300", "second task"),
        ("combine:task2=GoNoGo", "unknown task 'GoNoGo'"),
        ("schedule_envs", "further tasks"),
        ("schedule_envs:envs=GoNogo-v0", "pad=True"),
        ("schedule_envs:envs=GoNogo-v0:pad=true:schedule=blocks:3", "unknown schedule"),
        ("schedule_attr", "schedule_attr needs conditions"),
        ("transfer_learning:envs=GoNogo-v0", "num_tr_per_task"),
        ("multi_envs:envs=GoNogo-v0", "schedule_envs"),
        ("monitor:step_fn=f", "only a program"),
        ("noise:std=1", "did you mean 'std_noise'"),
        ("pass_rewrd", "did you mean 'pass_reward'"),
        ("side_bias:probs=0.2/0.8,random_ground_truth", "decide"),
    ],
)
def test_what_does_not_work_is_refused_in_one_line(ngym, wrappers, message):
    result = ngym("info", "RDM-v0", "--wrappers", wrappers)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_programs_own_wrappers_are_named():
    assert all(find_wrapper(name) for name in FOR_PROGRAMS)


TINY = ("--n-envs", "8", "--timesteps", "2048", "--set", "n_steps=64", "--eval-trials", "64", "--json")


@pytest.mark.parametrize(
    "schedule", ["block:100", *(pytest.param(each, marks=pytest.mark.long) for each in ("random", "sequential"))]
)
def test_several_tasks_in_one_run(ngym, schedule):
    summary = ngym(
        *("run", "--task", "RDM-v0+GoNogo-v0", "--schedule", schedule, "--wrappers", "pass_reward,pass_action"),
        *("--name", "mixed", *TINY),
    ).document
    rows = {row["value"]: row for row in summary["conditions"] if row["condition"] == "task"}
    assert set(rows) == {"RDM-v0", "GoNogo-v0"}
    assert rows["RDM-v0"]["ceiling"] == pytest.approx(0.8957, abs=1e-3)
    assert all(20 < row["trials"] < 44 for row in rows.values())
    table = read_trials(Path(summary["id"]) / "trials")
    assert set(table["task"]) == {"RDM-v0", "GoNogo-v0"}
    config = tomllib.loads((Path(summary["id"]) / "config.toml").read_text())
    assert config["task_args"] == {"schedule": schedule, "rule_input": True, "pad": True}
    again = ngym("run", "--config", Path(summary["id"]) / "config.toml", "--name", "again", "--json")
    assert json.loads(again.out)["performance"] == summary["performance"]
    text = ngym("eval", "mixed", "--trials", "40").out
    assert "GoNogo-v0" in text and "ceiling" in text


def test_a_collection_is_told_by_rule_input():
    config = from_dict({"task": "yang19", "task_args": {"schedule": "sequential"}})
    resolved, properties = prepare(config)
    assert resolved.task_args == {"schedule": "sequential", "rule_input": True, "pad": True}
    assert len(properties.labels["observation"]["task"]) == len(properties.tasks) == 20


def test_environments_side_by_side_begin_with_different_tasks():
    from ngym_cli.agents.from_config import build_venv

    config = prepare(from_dict({"task": "RDM-v0+GoNogo-v0", "task_args": {"schedule": "block:50"}}))[0]
    venv = build_venv(config, 4)
    venv.seed(0)
    visible = venv.reset()[:, -2:]
    assert visible.tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "RDM-v0", "--schedule", "random"], "needs several tasks"),
        (["--task", "RDM-v0+GoNogo-v0", "--schedule", "blok:3"], "did you mean 'block:100'"),
        (["--task", "RDM-v0+GoNogo-v0", "--schedule", "block"], "needs a block length"),
        (["--task", "RDM-v0+Nope-v0"], "unknown task"),
        (["--task", "RDM-v0+ReachingDelayResponse-v0"], "does not fit"),
        (["--task", "RDM-v0+GoNogo-v0", "--timing", "nope=1"], "nope"),
    ],
)
def test_tasks_that_cannot_be_mixed_are_refused(ngym, arguments, message):
    result = ngym("run", *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


def test_a_block_of_several_tasks_is_resumed_where_it_was(tmp_path):
    config = from_dict(
        {
            "task": "RDM-v0+GoNogo-v0",
            "task_args": {"schedule": "block:7"},
            "wrappers": "pass_reward",
            "n_envs": 4,
            "units": 8,
            "timesteps": 5000,
            "hyperparameters": {"n_steps": 128},
            "checkpoint": {"every": 1000},
            "evaluation": {"every": 0, "trials": 20},
        }
    )
    resumed(config, tmp_path, 2500)


@pytest.mark.parametrize("name", wrapper_names())
def test_the_types_of_all_arguments_are_known(name):
    kinds = argument_types(find_wrapper(name))
    assert set(inspect.signature(find_wrapper(name)).parameters) - {"env"} == set(kinds)
    assert not any(isinstance(kind, str) for kind in kinds.values())
