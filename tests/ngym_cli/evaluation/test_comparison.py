"""An agent next to an animal."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from neurogym.behaviour.describe import describe_pooled
from neurogym.behaviour.reading import read
from ngym_cli.evaluation import comparison
from ngym_cli.evaluation.alignment import as_trials, name_of
from ngym_cli.runs import RunFolder
from tests.neurogym.behaviour import choices_with_outcomes, laboratories
from tests.neurogym.behaviour.laboratories import write_csv
from tests.neurogym.behaviour.test_order import columns, orders, reordered


def test_comparisons_do_not_depend_on_the_order_of_rows(tmp_path):
    agent = as_trials(read(columns(seed=5)))
    results = []
    for name in ("backwards", "shuffled"):
        data = write_csv(tmp_path / f"{name}.csv", reordered(orders()[name]))
        reference = as_trials(comparison.read(data, None))
        results.append(
            json.dumps([row.to_dict() for row in comparison.statistics(agent, reference, strength=None, n_boot=20)])
        )
    assert results[0] == results[1]


def discriminating_agent(n=1500):
    """Trials of a network in a task with a strength in percent, with a bias for the second choice."""
    rng = np.random.default_rng(2)
    coh, truth = rng.choice([0.0, 12.5, 25.0, 51.2, 100.0], n), rng.integers(1, 3, n).astype(float)
    right = rng.random(n) < 1 / (1 + np.exp(-(0.5 + 0.08 * coh * np.where(truth == 2, 1, -1))))
    correct = (right + 1.0) == truth
    return {
        "trial": np.arange(n),
        "env": np.arange(n) % 4,
        "coh": coh,
        "ground_truth": truth,
        "choice": right + 1.0,
        "performance": correct.astype(float),
        "outcome": np.where(correct, "correct", "error"),
        "reward": correct.astype(float),
        "rt": np.zeros(n),
    }


def learning_agent(n=600):
    """Trials of a network in a two-step task that repeats rewarded choices, with one broken fixation."""
    rng = np.random.default_rng(3)
    choice, reward = np.ones(n), (rng.random(n) < 0.5).astype(float)
    for k in range(1, n):
        stays = rng.random() < (0.9 if reward[k - 1] else 0.3)
        choice[k] = choice[k - 1] if stays else 3 - choice[k - 1]
    outcome = np.where(rng.random(n) < 0.5, "correct", "error").astype(object)
    choice[300], outcome[300] = 0, "abort"
    return {
        "trial": np.arange(n),
        "env": np.zeros(n, int),
        "choice": choice,
        "reward": reward,
        "rt": np.zeros(n),
        "common": rng.random(n) < 0.7,
        "performance": (outcome == "correct") * 1.0,
        "outcome": outcome,
    }


def compared(agent, made, tmp_path):
    """Return the comparison of an agent with a made table, and its rows by name."""
    record = comparison.compare(agent, tmp_path, RunFolder(tmp_path / "net"), made.source, None)
    return record, {row["name"]: row for row in record["statistics"]}


@pytest.mark.parametrize(
    ("coding", "correctness"), [(("left", "right"), True), (("right", "left"), False), ((1, -1), True)]
)
def test_thresholds_are_those_of_the_table_in_units_of_the_task_whatever_the_coding(coding, correctness, tmp_path):
    d = laboratories.detection(np.random.default_rng(3), trials=300)
    table = {"mouse": d.subject, "contrast": d.signed, "choice": np.where(d.right, *coding[::-1])}
    if correctness:
        table["correct"] = d.correct * 1
    made = laboratories.Made(laboratories.write_csv(tmp_path / "mice.csv", table), {})
    _, rows = compared(discriminating_agent(), made, tmp_path)
    described = describe_pooled(read(made.source))
    for name, value in (("threshold (75 %)", described.threshold), ("PSE", described.pse)):
        assert rows[name]["b"]["value"] == pytest.approx(100 * value.value, rel=0.05)
    assert rows["logistic slope (logit per unit)"]["b"]["value"] == pytest.approx(described.slope.value / 100, rel=0.05)
    assert rows["threshold (75 %)"]["a"]["value"] == pytest.approx(np.log(3) / 0.08, rel=0.2)
    assert rows["bias (logit)"]["b"]["value"] == pytest.approx(described.bias.value, abs=0.02)


def test_two_numbers_that_are_no_pair_and_stimuli_of_one_sign_have_no_threshold(tmp_path):
    rng = np.random.default_rng(0)
    for maker, reason in (
        (
            choices_with_outcomes.MAKERS["hBayesDM, delay discounting"],
            "2 stimuli (delay_later, amount_later), expected one, or a pair",
        ),
        (choices_with_outcomes.MAKERS["hBayesDM, ultimatum"], "one sign only"),
    ):
        record, rows = compared(discriminating_agent(), maker(tmp_path, rng), tmp_path)
        assert any(reason in each for each in record["left_out"])
        assert not {"PSE", "threshold (75 %)", "bias (logit)", "lapses, low end"} & set(rows)


def test_learners_are_compared_by_what_they_do_after_outcomes(tmp_path):
    _, rows = compared(learning_agent(), laboratories.hbayesdm(tmp_path, np.random.default_rng(0), "bandit2"), tmp_path)
    assert rows["win-stay"]["a"]["value"] == pytest.approx(0.9, abs=0.05)
    assert rows["lose-shift"]["a"]["value"] == pytest.approx(0.7, abs=0.06)
    assert rows["win-stay"]["b"]["value"] == pytest.approx(0.5, abs=0.1)
    made = laboratories.kool(tmp_path, np.random.default_rng(0))
    _, rows = compared(learning_agent(), made, tmp_path)
    described = describe_pooled(read(made.source)).two_step
    for name, value in described.stay.items():
        assert rows[f"stay after {name}"]["b"]["value"] == pytest.approx(value.value)
        expected = 0.3 if "unrewarded" in name else 0.9
        assert rows[f"stay after {name}"]["a"]["value"] == pytest.approx(expected, abs=0.1)
    assert rows["weight of reward on staying"]["a"]["value"] > 1


def test_an_agent_of_fewer_choices_is_said_with_a_way_on(tmp_path):
    agent = {**learning_agent(), "choice": np.ones(600), "outcome": np.full(600, "correct")}
    record, rows = compared(agent, laboratories.kool(tmp_path, np.random.default_rng(0)), tmp_path)
    assert any("of 1 kinds" in each and "--stochastic" in each for each in record["left_out"]) and not rows


def test_times_of_an_agent_that_answers_at_once_are_left_out_and_different_strengths_are_said(tmp_path):
    """A panel of reaction times showed zeros of the agent next to the animal's."""
    rng = np.random.default_rng(0)
    n = 400
    signed = rng.choice([-50.0, -25.0, 25.0, 50.0], n)
    right = rng.random(n) < 1 / (1 + np.exp(-0.08 * signed))
    table = {
        "subject": np.full(n, "rat7", object),
        "coh": signed,
        "choice": np.where(right, "right", "left"),
        "correct": (right == (signed > 0)) * 1,
        "rt": 0.4 + 0.3 * rng.random(n),
    }
    made = laboratories.Made(laboratories.write_csv(tmp_path / "rats.csv", table), {})
    agent = discriminating_agent()
    agent["rt"][:300] = 100.0  # a fifth of the trials one step later than possible
    record, rows = compared(agent, made, tmp_path)
    assert "reaction times: those of the agent are the shortest possible in 80% of trials" in record["left_out"]
    assert not [name for name in rows if "reaction" in name]
    assert any("the task has 0, 12.5, 25, 51.2, 100, the table 25, 50" in each for each in record["left_out"])
    assert "accuracy over all trials is of different strengths in task and table" in record["notes"]
    assert record["name"] == "rat7"


@pytest.mark.parametrize(
    ("roles", "subjects", "path", "name"),
    [
        ({}, ("1",), "data/mouse_12.csv", "mouse 12"),
        ({"subject": "s"}, ("7",), "data/mice.csv", "subject 7"),
        ({"subject": "s"}, ("a", "b"), "data/mice.csv", "mice"),
        ({"subject": "s"}, ("a", "b"), "runs/tables/table-189d34c58a.parquet", "2 subjects"),
        ({}, ("1",), "runs/tables/table-189d34c58a.parquet", "the table"),
    ],
)
def test_an_animal_is_called_by_its_subject_or_its_file(roles, subjects, path, name):
    assert name_of(SimpleNamespace(roles=roles, subjects=subjects), Path(path)) == name
