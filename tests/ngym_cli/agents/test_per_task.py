"""The default number of steps of a run says where it comes from."""

from __future__ import annotations

import tomllib

import pytest

from neurogym.envs.registration import every_task
from ngym_cli.agents import per_task
from ngym_cli.agents.defaults import default_steps
from ngym_cli.config.model import from_dict


@pytest.mark.parametrize("learner", per_task.LEARNERS)
def test_a_learner_is_recognised_by_its_settings(learner):
    settings = {"task": "Priors-v0", **per_task.LEARNERS[learner]}
    expected = "default" if learner == "recurrent_ppo" else learner  # the default algorithm of this task
    assert per_task.learner_of(from_dict(settings)) == expected
    assert per_task.learner_of(from_dict({**settings, "alg": "ppo"})) is None


def test_the_usual_algorithm_of_a_task_is_the_default_learner():
    assert (
        per_task.learner_of(from_dict({"task": "ReadySetGoSinglePrior-v0", "alg": "recurrent_ppo"})) == "recurrent_ppo"
    )
    assert per_task.learner_of(from_dict({"task": "ReadySetGoSinglePrior-v0", "alg": "supervised"})) == "default"
    assert per_task.learner_of(from_dict({"task": "GoNogo-v0", "alg": "recurrent_ppo"})) == "default"


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"timesteps": 5}, ""),
        ({"stages": [{"name": "only"}]}, ""),
        ({"units": 128, "task_args": {"n": 3}}, " (default, not scaled for --task-arg, --units)"),
        ({"dt": 50}, " (default, not scaled for --dt)"),
        ({"alg": "ppo"}, " (default)"),
        ({}, " (default, learned by 9 of 10 seeds)"),
    ],
    ids=str,
)
def test_a_run_says_where_its_number_of_steps_comes_from(monkeypatch, settings, text):
    row = per_task.LineResult(steps=1, seconds=1.0, seeds=10, reached=9, performance=1.0, target=0.95)
    monkeypatch.setattr(per_task, "measurements", lambda: {"default": {"NBack-v0": row}})
    assert per_task.about_steps(from_dict({"task": "NBack-v0", **settings}), "NBack-v0") == text


def test_what_was_measured_is_what_runs_now():
    for learner, settings in per_task.LEARNERS.items():
        for id_ in every_task():
            row = per_task.measured(id_, learner)
            if row is not None:
                config = from_dict({"task": id_, **settings})
                assert row.steps == (config.timesteps or default_steps(config, id_))
                assert 0 <= row.reached <= row.seeds


@pytest.mark.parametrize(("learner", "settings"), per_task.LEARNERS.items())
def test_the_line_of_a_learner_trains_with_its_settings(ngym, learner, settings):
    first, *words = per_task.line(learner, "IBLBlock-v0").split()
    printed = tomllib.loads(ngym(*words, "--print-config").out)
    assert first == "ngym" and printed["task"] == "IBLBlock-v0"
    expected = {name: value for name, value in settings.items() if name != "recommended"}
    assert expected.items() <= printed.items()
    names = ["pass_reward", "pass_action"] if "recommended" in settings else []
    assert [entry["name"] for entry in printed["wrappers"]] == names
