"""Runs that end when the agent is good enough."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from ngym_cli.config.model import from_dict
from ngym_cli.environments.properties import TaskProperties, inspect
from ngym_cli.errors import UserError
from ngym_cli.training.stopping import Until

QUICK = ("--timing", "stimulus=300", "--n-envs", "16", "--set", "n_steps=64", "--eval-trials", "200", "--json")


def properties(*wrappers: str) -> TaskProperties:
    return inspect(from_dict({"task": "RDM-v0", "wrappers": [{"name": name} for name in wrappers]}))


def test_target_is_of_the_ceiling_or_as_asked():
    until = Until.asked(0.9, None, properties(), 1000)
    assert until.target == pytest.approx(0.9 * 0.8957, abs=1e-4)
    assert until.record()["of"] == "ceiling"
    assert Until.asked(None, 0.7, properties("shaping"), 1000).target == 0.7
    assert Until.asked(None, None, properties(), 1000) is None
    with pytest.raises(UserError, match=r"shaping.*--until-performance"):
        Until.asked(0.9, None, properties("shaping"), 1000)


def test_only_the_first_time_counts():
    until = Until(0.9, 10**6)
    until.hold(0.91, 400, 20, 9, 2.0)
    until.hold(0.99, 400, 30, 15, 3.0)
    assert until.record() == {
        "fraction": None,
        "of": "performance",
        "target": 0.9,
        "reached": True,
        "trials": 9,
        "steps": 20,
        "seconds": 2.0,
        "performance": 0.91,
        "looked": 400,
    }
    again = Until(0.9, 10**6)
    again.probed, again.reached = json.loads(json.dumps([until.probed, until.reached]))
    assert again.record() == until.record()


def test_quick_looks_are_rare():
    until = Until(0.9, 10**6)
    assert [step for step in range(0, 10**6, 4096) if until.due(step)].__len__() <= 50


def stops(until: Until, p: float, rng: np.random.Generator) -> bool:
    """Whether a run whose agent stays at performance ``p`` is ended."""
    for _ in range(50):
        for trials in until.interim_trials(2_000):
            decided = until.decided({"performance": (rng.random(trials) < p).astype(float)})
            if decided is not None:
                break
        if decided:
            return True
    return False


def test_an_agent_that_stays_below_the_target_is_hardly_ever_taken_for_good_enough():
    rng = np.random.default_rng(0)
    ended = [stops(Until(0.80, 10**6), 0.797, rng) for _ in range(40)]
    assert np.mean(ended) <= 0.05
    assert all(stops(Until(0.80, 10**6), 0.83, rng) for _ in range(10))


def test_linked_trials_need_more_of_them():
    rng = np.random.default_rng(0)
    ability = np.repeat(rng.random(16) < 0.9, 25).astype(float)  # 16 sessions, all right or all wrong
    table = {"performance": ability, "env": np.repeat(np.arange(16), 25), "trial": np.arange(400)}
    assert Until(0.7, 10**6).decided(table)
    assert Until(0.7, 10**6).decided({**table, "linked": np.full(400, True)}) is None


def test_a_run_stops_when_it_is_held_and_says_after_how_much(ngym):
    summary = ngym("run", "--task", "RDM-v0", "--until", "0.4", "--timesteps", "200000", "--name", "a", *QUICK).document
    folder = Path(summary["id"])
    manifest = json.loads((folder / "manifest.json").read_text())
    assert summary["status"] == manifest["status"] == "finished"
    assert manifest["until"] == summary["until"]
    until = manifest["until"]
    assert until["reached"] and until["of"] == "ceiling"
    assert until["performance"] > until["target"] == pytest.approx(0.4 * manifest["ceiling"])
    assert until["steps"] == manifest["steps"] < 200_000
    assert until["trials"] == manifest["trials"]
    assert 0 < until["seconds"] <= manifest["wall_seconds"]
    assert "0.4 of the ceiling" in manifest["exit_reason"]
    assert until["looked"] >= 200
    assert tomllib.loads((folder / "config.toml").read_text())["until"] == 0.4
    assert ngym("eval", "a", "--trials", "20").code == 0


def test_not_held(ngym):
    result = ngym("run", "--task", "RDM-v0", "--until", "1", "--timesteps", "2000", "--name", "b", *QUICK)
    until = json.loads(result.out)["until"]
    assert not until["reached"] and until["steps"] is None


def test_a_fraction_of_an_unknown_ceiling_is_refused_in_one_line(ngym, tmp_path):
    line = ("run", "--task", "RDM-v0", "--wrappers", "shaping", "--timesteps", "1100", "--units", "8", *QUICK)
    result = ngym(*line, "--until", "0.9")
    assert (result.code, result.out) == (2, "") and result.err.strip().count("\n") <= 1
    assert "--until-performance" in result.err and not list(tmp_path.glob("**/manifest.json"))
    process = json.loads(ngym(*line, "--until-performance", "0.99").out)
    assert process["until"]["of"] == "performance" and process["ceiling"] is None and "shaping" in process["no_ceiling"]
    both = ngym(*line, "--until", "0.9", "--until-performance", "0.9")
    assert both.code == 2 and both.err.count("\n") == 1


@pytest.mark.parametrize("fraction", ["0", "1.5", "-1", "nan", "often"])
def test_what_is_no_fraction_is_refused(ngym, fraction):
    result = ngym("run", "--task", "RDM-v0", "--until", fraction)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("fraction", [None, 0.95])
def test_what_was_reached_is_said_in_one_line(fraction):
    until = Until(0.9, 10**6, fraction)
    assert until.sentence().endswith("not held")
    until.hold(0.91, 400, 20, 9, 2.0)
    message = "performance 0.9" if fraction is None else "0.95 of the ceiling (0.9000)"
    assert until.sentence() == f"{message} held after 9 trials, 20 steps, 2.0 s"
