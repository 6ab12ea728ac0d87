"""What is known of a task is found by trying it; scores of reference agents when they are first asked for."""

from __future__ import annotations

import pytest

from ngym_cli.agents import defaults
from ngym_cli.agents.defaults import prepare
from ngym_cli.config.model import from_dict
from ngym_cli.environments import properties
from ngym_cli.environments.properties import inspect
from ngym_cli.errors import UserError


def test_scores_are_found_when_asked_for_and_only_once(monkeypatch):
    requests = []
    real = properties.chance
    monkeypatch.setattr(properties, "chance", lambda env: requests.append(env) or real(env))
    expected = inspect(from_dict({"task": "GoNogo-v0"}))
    assert expected.trial_steps > 1 and expected.labels["action"] and not requests
    assert expected.chance == expected.chance == expected.references["chance"] and len(requests) == 1


def test_scores_do_not_depend_on_what_was_asked_before():
    config = from_dict({"task": "RDM-v0", "task_args": {"cohs": [5, 50]}})
    single, second = inspect(config), inspect(config)
    first = single.ceiling, single.blind, single.chance
    assert first == (*reversed([second.chance, second.blind, second.ceiling]),)


def test_a_task_whose_chance_fails_says_so_in_one_line(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(
        "from neurogym.envs.native.gonogo import GoNogo\n\n\n"
        "class Own(GoNogo):\n    def chance(self):\n        return 1 / 0\n"
    )
    expected = inspect(from_dict({"task": f"{path}:Own"}))
    with pytest.raises(UserError, match=r"own.py:Own.*division by zero"):
        _ = expected.chance


def test_outputs_that_are_numbers_are_no_alternatives():
    assert inspect(from_dict({"task": "FlipFlop-v0"})).chance_among_answers is None
    assert inspect(from_dict({"task": "RDM-v0"})).chance_among_answers == 0.5


@pytest.mark.parametrize(("dt", "expected"), [(30, "stimulus 500 ms becomes 480 ms"), (20, None)])
def test_durations_that_are_not_whole_steps_are_reported(dt, expected):
    settings = {"task": "RDM-v0", "dt": dt, "timing": {"stimulus": 500}}
    line = defaults.rounding(*defaults.prepare(from_dict(settings)))
    assert line is None if expected is None else expected in line


def test_a_period_that_a_wrapper_moves_is_not_reported_as_rounded():
    wrappers = ["reaction_time"]
    settings = {"task": "RDM-v0", "dt": 50, "timing": {"decision": 100}, "wrappers": wrappers}
    assert defaults.rounding(*defaults.prepare(from_dict(settings))) is None


@pytest.mark.parametrize(
    ("task", "period"), [("ContextDecisionMaking-v0", "stimulus"), ("DelayMatchSample-v0", "sample")]
)
def test_a_simulated_blind_score_is_not_above_the_ceiling(task, period):
    _, properties = prepare(from_dict({"task": task, "timing": {period: 0}}))
    assert properties.ceiling["performance"] == pytest.approx(0.5)
    assert properties.blind == pytest.approx(0.5) and properties.blind <= properties.ceiling["performance"]
