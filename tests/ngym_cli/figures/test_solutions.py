"""``ngym plot RUN solutions``: a network among the networks of a catalogue."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from neurogym.dynamics.catalogue import Solution
from ngym_cli.figures import solutions as figure
from ngym_cli.figures.solutions import (
    LAST_TRIAL,
    SIGNS,
    Catalogue,
    caption,
    catalogue,
    condition_names,
    conditions_of,
    describe,
    sentence,
)

#: Task of the shared run.
TASK = "PerceptualDecisionMaking-v0"


@pytest.fixture
def run(run_folder, tmp_path):
    return shutil.copytree(run_folder, tmp_path / "run")


def test_a_network_is_nearest_to_networks_like_itself(ngym, run, monkeypatch):
    from ngym_cli.evaluation.service import recorder
    from ngym_cli.figures import requests
    from ngym_cli.runs.recordings import NETWORK_QUANTITIES

    view = requests.view([str(run)], run.parent)
    view.recorder = recorder(run.parent, False, lambda line: None)
    view.record(NETWORK_QUANTITIES)
    column, conditions = conditions_of(view.recorded.table)
    assert column == "ground_truth" and conditions == ("0", "1")
    own = describe(view, column, conditions, "lstm", 0)
    assert len(own.geometry) == 28 and own.topology
    rng = np.random.default_rng(0)
    others = [
        dataclasses.replace(own, seed=k, topology="ring attractor", geometry=tuple(rng.random(28))) for k in range(3)
    ]
    alike = [
        dataclasses.replace(own, seed=k, geometry=tuple(np.array(own.geometry) + 0.01 * rng.random(28)))
        for k in range(4)
    ]
    networks = (*others, *alike)
    words = sentence(own, networks)
    assert f"{own.topology}, as 4 of 7 lstm networks of the catalogue (4 of 7 in all)" in words
    assert "it resembles cluster 1 (4 networks" in words
    task = view.properties.id
    monkeypatch.setattr(figure, "catalogue", lambda: {task: Catalogue(column, conditions, networks)})
    result = ngym("plot", run, "solutions")
    assert result.code == 0, result.err
    assert "it resembles cluster 1 (4 networks" in result.out
    distance = pq.read_table(next(run.rglob("solutions.parquet")))["distance"].to_numpy()
    assert distance[3:].max() < distance[:3].min()


def test_a_task_without_a_catalogue_is_refused(ngym, run, monkeypatch):
    monkeypatch.setattr(figure, "catalogue", dict)
    result = ngym("plot", run, "solutions")
    assert result.code != 0 and "no catalogue of this task" in result.out + result.err


def test_a_condition_of_the_catalogue_that_no_trial_has_is_named(ngym, run, monkeypatch):
    network = Solution("gru", 0, 0.9, "1 stable point", tuple(np.zeros(28)))
    monkeypatch.setattr(figure, "catalogue", lambda: {TASK: Catalogue("ground_truth", ("0", "9"), (network,))})
    result = ngym("plot", run, "solutions")
    assert result.code == 2 and "no recorded trial has ground_truth 9, a condition of the catalogue" in result.err


def table(**columns):
    n = len(columns["choice"])
    return {"trial": np.arange(n), "env": np.zeros(n, int), "performance": np.ones(n)} | {
        name: np.array(values) for name, values in columns.items()
    }


def test_conditions_of_a_bandit_are_last_choice_and_reward_within_a_session():
    trials = table(
        choice=[1, 2, 1, 2, 1, 2, 1, 2],
        reward=[0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0],
        ground_truth=[1, 1, 1, 1, 2, 2, 2, 2],
        session_trial=[0, 1, 2, 3, 0, 1, 2, 3],
    )
    names = condition_names(trials, LAST_TRIAL)
    assert names.tolist() == [
        "", "1, not rewarded", "2, rewarded", "1, rewarded", "", "1, rewarded", "2, not rewarded", "1, rewarded",
    ]  # fmt: skip
    assert conditions_of(trials) == ("ground_truth", ("1", "2"))
    several = table(choice=[1, 2, 2, 1] * 10, reward=[1.0, 0.0, 1.0, 0.0] * 10, ground_truth=[1, 1, 2, 2] * 10)
    column, conditions = conditions_of(several, by_reward=True)
    assert (column, conditions) == (LAST_TRIAL, ("1, not rewarded", "1, rewarded", "2, not rewarded", "2, rewarded"))


def test_conditions_of_a_ring_are_directions_in_equal_steps():
    directions = np.repeat(np.arange(16), 4)
    assert conditions_of(table(choice=directions, ground_truth=directions)) == ("ground_truth", ("0", "4", "8", "12"))


def test_conditions_of_a_single_answer_are_intervals_of_the_task():
    measure, gain = np.repeat(np.arange(800, 1440, 80), 3), np.ones(24)
    trials = table(choice=np.ones(24), ground_truth=np.ones(24), gain=gain, measure=measure)
    assert conditions_of(trials) == ("", ("all",))
    assert conditions_of(trials, False, ("gain", "measure")) == ("measure", ("800", "960", "1120", "1280"))


def test_conditions_of_several_outputs_are_their_signs():
    outputs = np.array([[0.9, -0.8], [-1.0, -0.2], [0.3, 0.4]] * 5)
    trials = table(choice=outputs, ground_truth=np.full(15, np.nan))
    assert condition_names(trials, SIGNS)[:3].tolist() == ["+-", "--", "++"]
    assert conditions_of(trials) == (SIGNS, ("++", "+-", "--"))
    assert conditions_of(table(choice=np.ones((9, 10)))) == ("", ("all",))


def test_a_network_that_did_not_learn_and_other_settings_are_named():
    network = Solution("gru", 0, 0.6, "line attractor", (1.0, 0.5, 0.2))
    entry = Catalogue("ground_truth", ("1", "2"), (dataclasses.replace(network, performance=0.94),) * 3, ceiling=0.95)
    words = caption(network, entry, ["timing delay=500"])
    assert words.startswith("The network did not learn the task (performance 0.60, ceiling 0.95)")
    assert "Settings differ from the catalogue: timing delay=500." in words
    assert "has a line attractor, as 3 of 3 gru networks" in words
    assert "did not learn" not in caption(entry.solutions[0], entry)
    other = dataclasses.replace(network, topology="2 stable points")
    assert "has 2 stable points, which none of 3 gru networks of the catalogue has" in sentence(other, entry.solutions)
    assert "unlike the one gru network of the catalogue (0 of 1 in all)" in sentence(other, entry.solutions[:1])
    lstm = dataclasses.replace(network, network="lstm")
    assert "as 3 of 3 networks of the catalogue" in sentence(lstm, entry.solutions)


def test_the_catalogue_of_the_package_can_be_read():
    assert len(catalogue()) >= 4
    for entry in catalogue().values():
        assert len({len(each.geometry) for each in entry.solutions}) == 1
        assert all(each.topology for each in entry.solutions)
