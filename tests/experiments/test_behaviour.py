"""Numbers of short sessions and trainings: what changes them, and what does not."""

from __future__ import annotations

import io
import json
import runpy
import sys

import numpy as np
import pytest

from experiments.records import behaviour
from neurogym import kernels
from neurogym.envs.native.gonogo import GoNogo

RUN = {"task": "GoNogo-v0", "timesteps": 20_000, "units": 8}


def test_numbers_are_rounded_to_three_digits():
    assert behaviour.rounded([1.23449, -0.0, 1e-20, 12345]) == ["1.23e+00", "0.00e+00", "0.00e+00", "1.23e+04"]


def test_a_summary_sees_every_number_and_their_order():
    values = np.arange(1.0, 50.0)
    first = behaviour.summary(values)
    assert behaviour.summary(values + 1e-7) == first
    assert behaviour.summary(values[::-1]) != first
    assert behaviour.summary(np.append(values, 0.0)) != first


def test_sessions_follow_what_a_task_shows(monkeypatch):
    first = behaviour.of_tasks(["GoNogo-v0"])
    assert behaviour.of_tasks(["GoNogo-v0"]) == first
    begin = GoNogo.__init__

    def other(self, *args, **kwargs):
        begin(self, *args, **{**kwargs, "rewards": {"correct": 1.1}})

    monkeypatch.setattr(GoNogo, "__init__", other)
    assert behaviour.of_tasks(["GoNogo-v0"]) != first


def test_a_collection_stands_for_its_tasks():
    assert behaviour.of_tasks(["yang19"]) != behaviour.of_tasks(["yang19.go-v0"])


@pytest.fixture(scope="module")
def trained():
    return behaviour.of_trainings([RUN])


@pytest.mark.parametrize(
    "change",
    [
        {"hyperparameters": {"ent_coef": 0.02}},
        {"network": "gru"},
        {"timesteps": 40_000},
        {"alg": "supervised"},
        {"wrappers": "pass_reward"},
        {"rewards": {"correct": 1.1}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_training_follows_its_settings(trained, change):
    assert behaviour.of_trainings([{**RUN, **change}]) != trained


@pytest.mark.parametrize("name", kernels.runnable())
def test_variants_of_the_kernels_agree(trained, name):
    with kernels.use(name):
        assert behaviour.of_trainings([RUN]) == trained


def test_a_question_is_answered_as_json(monkeypatch, capsys):
    question = {"tasks": [["GoNogo-v0"], ["Nonsense-v0"]], "trainings": [[{**RUN, "units": "many"}]]}
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(question)))
    runpy.run_path(behaviour.__file__, run_name="__main__")
    answer = json.loads(capsys.readouterr().out)
    assert answer["tasks"][0] == behaviour.of_tasks(["GoNogo-v0"])
    assert "Nonsense-v0" in answer["tasks"][1] and "units" in answer["trainings"][0]
