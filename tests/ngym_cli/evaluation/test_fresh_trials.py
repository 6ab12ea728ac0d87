"""Evaluation: fresh trials, fair to short and long ones, the same reset rule as in training."""

from __future__ import annotations

import numpy as np
import pytest

from ngym_cli import runs
from ngym_cli.agents.from_config import build_model, complete
from ngym_cli.agents.saving import load_policy
from ngym_cli.config import from_dict
from ngym_cli.environments.stack import build_venv, inspect, resolve
from ngym_cli.evaluation import fresh_trials
from ngym_cli.files.reading import read_json
from ngym_cli.runs.trial_table import read_trials


def untrained(**given):
    config, facts = resolve(from_dict({"task": "RDM-v0", **given}))
    config = complete(config, facts)
    return build_model(config, build_venv(config, 1)).policy, config, facts


def test_exactly_the_trials_asked_for_and_the_same_again():
    policy, config, facts = untrained()
    first, second = (fresh_trials.evaluate(policy, config, facts, 203, seed=4, deterministic=False) for _ in range(2))
    assert first.summary["trials"] == len(first.table["trial"]) == 203
    for name in ("coh", "choice", "reward"):
        np.testing.assert_array_equal(first.table[name], second.table[name])
    other = fresh_trials.evaluate(policy, config, facts, 203, seed=5, deterministic=False)
    assert not np.array_equal(first.table["coh"], other.table["coh"])


def test_long_trials_are_not_left_out():
    policy, config, facts = untrained(timing={"stimulus": "choice:100:3000"})
    found = fresh_trials.evaluate(policy, config, facts, 1_000, seed=0)
    assert np.mean(found.table["period_stimulus"] == 3000) == pytest.approx(0.5, abs=0.06)


def test_the_summary_is_that_of_the_trials(tmp_path):
    policy, config, facts = untrained()
    found = fresh_trials.evaluate(policy, config, facts, 300, seed=1, deterministic=False)
    fresh_trials.save(found, tmp_path / "it")
    table, summary = read_trials(tmp_path / "it/trials.parquet"), read_json(tmp_path / "it/summary.json")
    assert summary["performance"] == pytest.approx(table["performance"].mean())
    low, high = summary["performance_ci"]
    assert low < summary["performance"] < high
    assert summary["ceiling"] == pytest.approx(0.8957, abs=1e-4)
    by_coherence = {row["value"]: row for row in summary["conditions"] if row["condition"] == "coh"}
    assert sum(row["trials"] for row in by_coherence.values()) == 300
    rows = table["coh"] == 6.4
    assert by_coherence[6.4]["performance"] == pytest.approx(table["performance"][rows].mean())


def test_an_untrained_random_agent_scores_chance():
    policy, config, facts = untrained()
    found = fresh_trials.evaluate(policy, config, facts, 2_000, seed=2, deterministic=False)
    assert found.summary["performance"] == pytest.approx(facts.chance, abs=0.05)


def test_reset_state_is_never_where_the_task_carries_information():
    assert resolve(from_dict({"task": "Bandit-v0"}))[0].reset_state == "never"
    assert resolve(from_dict({"task": "RDM-v0"}))[0].reset_state == "trial"
    assert resolve(from_dict({"task": "RDM-v0", "reset_state": "never"}))[0].reset_state == "never"


@pytest.mark.parametrize(("reset_state", "expected"), [("trial", True), ("never", False)])
def test_dones_say_where_the_state_resets(reset_state, expected):
    config, _ = resolve(from_dict({"task": "RDM-v0", "reset_state": reset_state}))
    venv = build_venv(config, 4)
    venv.reset()
    ended = 0
    for _ in range(60):
        _, _, dones, _ = venv.step(np.zeros(4, int))
        finished = np.zeros(4, bool)
        if venv.finished is not None:
            finished[venv.finished["env"]] = True
            ended += finished.sum()
        np.testing.assert_array_equal(dones, finished & expected)
    assert ended


def test_a_saved_model_acts_as_the_trained_one(run_folder):
    run = runs.Run(run_folder)
    config = run.config()
    policy, steps = load_policy(run, config)
    assert steps == run.manifest()["steps"]
    recorded = read_json(run_folder / "eval/final/summary.json")
    again = fresh_trials.evaluate(policy, config, inspect(config), recorded["trials"], recorded["seed"])
    assert again.summary["performance"] == recorded["performance"]
    assert again.summary["reward_per_trial"] == recorded["reward_per_trial"]
