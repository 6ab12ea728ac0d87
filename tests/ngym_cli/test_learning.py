"""Agents that learn to a criterion, and one that must not: minutes long, run by ``make test-learning``."""

from __future__ import annotations

import pytest

from ngym_cli.config.model import from_dict
from ngym_cli.training.main_loop import train

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_default_run_reaches_95_percent_of_the_ceiling(tmp_path, seed):
    result = train(from_dict({"wrappers": "pass_reward,pass_action", "seed": seed}), tmp_path).summary
    assert result["trials"] == 2_000
    assert result["performance"] >= 0.95 * 0.8957


def test_reinforce_holds_fixation_where_breaking_it_costs_and_ends_the_trial(tmp_path):
    timing = {"fixation": 750, "stimulus": "truncated_exponential:330:105:1525", "delay": 0, "decision": 500}
    paper = {"task_args": {"sigma": 2**0.5, "abort": True}, "rewards": {"abort": -1.0}, "timing": timing, "dt": 50}
    agent = {"alg": "reinforce", "network": "gru", "network_args": {"shared": False}, "timesteps": 250_000}
    result = train(from_dict({**paper, **agent}), tmp_path).summary
    assert result["fixation_break_rate"] < 0.01
    assert result["performance"] >= 0.75


def test_without_memory_the_choice_is_a_guess(tmp_path):
    result = train(from_dict({"alg": "ppo", "timesteps": 200_000}), tmp_path).summary
    assert result["performance"] == pytest.approx(0.5, abs=0.05)
