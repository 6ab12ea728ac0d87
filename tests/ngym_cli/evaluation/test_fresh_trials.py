"""Evaluation: fresh trials, fair to short and long ones, the same reset rule as in training."""

from __future__ import annotations

import numpy as np
import pytest

from ngym_cli import runs
from ngym_cli.agents.defaults import prepare, read_config
from ngym_cli.agents.from_config import build_model, build_venv
from ngym_cli.agents.saving import load_policy
from ngym_cli.config.model import from_dict
from ngym_cli.environments import quota
from ngym_cli.environments.properties import inspect
from ngym_cli.evaluation import fresh_trials
from ngym_cli.evaluation.summary_text import limit_in_words, references_in_words
from ngym_cli.files.reading import read_json
from ngym_cli.runs.trial_table import read_trials

Settings = fresh_trials.EvaluationSettings


def untrained(**arguments):
    config, properties = prepare(from_dict({"task": "RDM-v0", **arguments}))
    return build_model(config, build_venv(config, 1)).policy, config, properties


def test_exactly_the_trials_asked_for_and_the_same_again():
    policy, config, properties = untrained()
    settings = Settings(203, 4, deterministic=False)
    first, second = (fresh_trials.evaluate(policy, config, properties, settings) for _ in range(2))
    assert first.summary["trials"] == len(first.table["trial"]) == 203
    for name in ("coh", "choice", "reward"):
        np.testing.assert_array_equal(first.table[name], second.table[name])
    different = fresh_trials.evaluate(policy, config, properties, Settings(203, 5, deterministic=False))
    assert not np.array_equal(first.table["coh"], different.table["coh"])


def test_long_trials_are_not_left_out():
    policy, config, properties = untrained(timing={"stimulus": "choice:100:3000"})
    result = fresh_trials.evaluate(policy, config, properties, Settings(1_000, 0))
    assert np.mean(result.table["period_stimulus"] == 3000) == pytest.approx(0.5, abs=0.06)


def test_the_summary_is_that_of_the_trials(tmp_path):
    policy, config, properties = untrained()
    result = fresh_trials.evaluate(policy, config, properties, Settings(300, 1, deterministic=False))
    fresh_trials.save(result, tmp_path / "it")
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
    policy, config, properties = untrained()
    result = fresh_trials.evaluate(policy, config, properties, Settings(2_000, 2, deterministic=False))
    assert result.summary["performance"] == pytest.approx(properties.chance, abs=0.05)


def test_reset_state_is_never_where_the_task_carries_information():
    assert prepare(from_dict({"task": "Bandit-v0"}))[0].reset_state == "never"
    assert prepare(from_dict({"task": "RDM-v0"}))[0].reset_state == "trial"
    assert prepare(from_dict({"task": "RDM-v0", "reset_state": "never"}))[0].reset_state == "never"


@pytest.mark.parametrize(("reset_state", "expected"), [("trial", True), ("never", False)])
def test_dones_say_where_the_state_resets(reset_state, expected):
    config, _ = prepare(from_dict({"task": "RDM-v0", "reset_state": reset_state}))
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
    run = runs.RunFolder(run_folder)
    config = read_config(run)
    policy, steps = load_policy(run, config)
    assert steps == run.manifest()["steps"]
    recorded = read_json(run_folder / "eval/final/summary.json")
    again = fresh_trials.evaluate(policy, config, inspect(config), Settings(recorded["trials"], recorded["seed"]))
    assert again.summary["performance"] == recorded["performance"]
    assert again.summary["reward_per_trial"] == recorded["reward_per_trial"]


def test_tasks_with_sessions_are_evaluated_over_whole_sessions():
    policy, config, properties = untrained(task="ChangingBandit-v0", wrappers="pass_reward,pass_action")
    assert properties.session == 100 and config.reset_state == "never"
    result = fresh_trials.evaluate(policy, config, properties, Settings(1_950, 0))
    path = result.table["session_trial"]
    assert result.summary["trials"] == 4_000 and result.summary["sessions"] == 40
    assert np.bincount(path.astype(int)).tolist() == [40] * 100
    assert result.table["linked"].all()
    independent = np.sqrt(0.25 / 4_000) * 1.96 * 2
    low, high = result.summary["performance_ci"]
    assert high - low > 2 * independent  # an untrained agent takes one arm, which is the better one or not


def test_blocks_are_evaluated_whole_from_different_places():
    policy, config, properties = untrained(task="IBLBlock-v0", wrappers="pass_reward,pass_action")
    assert properties.block == 200
    result = fresh_trials.evaluate(policy, config, properties, Settings(500, 0))
    counts = np.bincount(result.table["env"].astype(int))
    assert (counts == 2 * properties.block).all() and len(counts) == 16
    blocks = [result.table["block"][result.table["env"] == env] for env in range(16)]
    changes = {int(position) % properties.block for block in blocks for position in np.flatnonzero(np.diff(block))}
    assert len(changes) > 5, "each environment begins at another place of a block"


def test_linked_trials_without_sessions_are_warmed_up_and_begin_in_any_state():
    policy, config, properties = untrained(task="DawTwoStep-v0", wrappers="pass_reward,pass_action")
    result = fresh_trials.evaluate(policy, config, properties, Settings(800, 0, deterministic=False))
    assert result.summary["trials"] == 800 and np.isfinite(result.table["prev_choice"]).all()
    assert 0.2 < np.mean(result.table["hi_state"]) < 0.8
    first = [result.table["hi_state"][result.table["env"] == env][0] for env in range(16)]
    assert 0 < np.mean(first) < 1
    assert result.summary["ceiling"] == properties.ceiling["performance"] > 0.9
    plain = fresh_trials.evaluate(*untrained(), Settings(300, 0))
    assert plain.summary["sessions"] is None and "linked" not in plain.table


def test_scores_are_those_of_the_stack_that_ran():
    bare = untrained()[2]
    biased = untrained(wrappers="random_ground_truth:p=0.9/0.1")[2]
    assert biased.ceiling["performance"] == pytest.approx(0.966, abs=0.003) and biased.blind == pytest.approx(
        0.9, abs=0.01
    )
    assert bare.blind == 0.5 and not bare.no_ceiling and not bare.lacks_reward
    unknown = untrained(wrappers="shaping")[2]
    assert unknown.ceiling is None and "shaping" in unknown.no_ceiling
    alone = untrained(task="DawTwoStep-v0", wrappers=[])[2]
    assert alone.lacks_reward and alone.ceiling["performance"] == 0.5


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        pytest.param({"wrappers": "trial_history:after_error=reset"}, "errors", marks=pytest.mark.long),
        pytest.param({"wrappers": "trial_history_evolution"}, "evolve", marks=pytest.mark.long),
        pytest.param(
            {"task": "NAltPerceptualDecisionMaking-v0", "wrappers": "variable_nch"},
            "come and go",
            marks=pytest.mark.long,
        ),
        pytest.param({"wrappers": "shaping"}, "phase", marks=pytest.mark.long),
        ({"task": "NAltConditionalVisuomotor-v0", "wrappers": "variable_mapping"}, "mappings"),
        ({"wrappers": "random_ground_truth,schedule_attr:schedule=block:block=90:p=0.8/0.2//0.2/0.8"}, "scheduled"),
        ({"wrappers": "noise:std_noise=0.5", "timing": {"stimulus": "uniform:200:600"}}, ""),
    ],
)
def test_where_the_ceiling_is_unknown_nothing_is_called_a_share_of_it(settings, reason, capsys):
    from ngym_cli.evaluation import summary_text

    policy, config, properties = untrained(**settings)
    result = fresh_trials.evaluate(policy, config, properties, Settings(60, 0))
    summary_text.print_evaluation(result.summary)
    text = capsys.readouterr().out
    if properties.ceiling is None:
        assert reason in properties.no_ceiling and "not known" in text and "of the ceiling" not in text
    else:  # where it is known after all, it says how
        assert not reason and properties.ceiling["method"] and "of the ceiling" in text


@pytest.mark.parametrize("task", ["TwoStep-v0", "DawTwoStep-v0"])
def test_linked_trials_are_added_until_performance_is_known_well_enough(task):
    policy, config, properties = untrained(task=task)
    short = fresh_trials.evaluate(policy, config, properties, Settings(400, 0, deterministic=False))
    settings = Settings(400, 0, deterministic=False, half_width=0.01)
    longer = fresh_trials.evaluate(policy, config, properties, settings)
    low, high = short.summary["performance_ci"]
    assert (high - low) / 2 > 0.01
    low, high = longer.summary["performance_ci"]
    assert (high - low) / 2 <= 0.01 and longer.summary["half_width_missed"] is None
    assert longer.summary["trials"] == len(longer.table["trial"]) > short.summary["trials"]
    for env in np.unique(short.table["env"]):
        rows, first = longer.table["env"] == env, short.table["env"] == env
        for name in ("choice", "reward", "prev_choice"):
            np.testing.assert_array_equal(longer.table[name][rows][: first.sum()], short.table[name][first])


def test_sessions_are_added_whole():
    policy, config, properties = untrained(task="TwoStep-v0")
    result = fresh_trials.evaluate(policy, config, properties, Settings(400, 0, deterministic=False, half_width=0.01))
    counts = np.bincount(result.table["session_trial"].astype(int))
    assert counts.min() == counts.max() == result.summary["sessions"] > 40


def test_independent_recorded_and_balanced_trials_stay_as_many(tmp_path):
    policy, config, properties = untrained()
    assert fresh_trials.evaluate(policy, config, properties, Settings(100, 0, half_width=0.01)).summary["trials"] == 100
    policy, config, properties = untrained(task="DawTwoStep-v0")
    recorded = Settings(160, 0, half_width=0.01, record=("rewards",), folder=tmp_path)
    assert fresh_trials.evaluate(policy, config, properties, recorded).summary["trials"] == 160


def test_more_trials_than_the_limit_of_added_ones_are_all_evaluated(monkeypatch):
    monkeypatch.setattr(quota, "MOST_ADDED_TRIALS", 100)
    policy, config, properties = untrained(task="DawTwoStep-v0")
    settings = Settings(400, 0, deterministic=False, half_width=0.01)
    assert fresh_trials.evaluate(policy, config, properties, settings).summary["trials"] == 400


def test_the_limit_of_trials_is_recorded(monkeypatch):
    monkeypatch.setattr(quota, "MOST_ADDED_TRIALS", 1_000)
    policy, config, properties = untrained(task="DawTwoStep-v0")
    result = fresh_trials.evaluate(
        policy, config, properties, Settings(400, 0, deterministic=False, half_width=0.01)
    ).summary
    assert result["trials"] <= 1_000 and result["half_width_missed"] == 0.01
    assert f"{result['trials']:,} trials are the limit" in limit_in_words(result)


@pytest.mark.parametrize(
    ("levels", "normalised"),
    [
        ({"chance": 0.3, "chance_among_answers": 0.5, "blind": 0.6}, "0.500 (0 = no-stimulus baseline, 1 = ceiling)"),
        ({"chance": 0.3, "chance_among_answers": 0.5}, "0.625 (0 = chance among answers, 1 = ceiling)"),
        ({"chance": 0.3}, "0.750 (0 = chance, 1 = ceiling)"),
        ({}, None),
    ],
)
def test_normalised_performance_is_zero_at_the_baseline(levels, normalised):
    *_, last = references_in_words({"performance": 0.75, "ceiling": 0.9, **levels})
    assert last == ("ceiling 0.9000" if normalised is None else f"normalised performance {normalised}")
    assert "normalised" not in " ".join(references_in_words({"performance": 0.75, **levels}))
