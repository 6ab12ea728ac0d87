"""Runs that end when the agent is good enough."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from ngym_cli.training.stopping import Until

QUICK = ("--timing", "stimulus=300", "--n-envs", "16", "--set", "n_steps=64", "--eval-trials", "200", "--json")


def test_target_is_of_the_ceiling_or_of_the_oracle():
    assert Until(0.9, 0.8, 1000).target == pytest.approx(0.72)
    assert Until(0.9, None, 1000).record()["of"] == "oracle"
    assert Until(0.9, None, 1000).target == 0.9


def test_only_the_first_time_counts():
    until = Until(0.9, None, 10**6)
    assert not until.look_at(0.89, 10, 5, 1.0)
    assert until.look_at(0.91, 20, 9, 2.0)
    assert not until.look_at(0.99, 30, 15, 3.0)
    assert until.record() == {
        "fraction": 0.9, "of": "oracle", "target": 0.9, "reached": True,
        "trials": 9, "steps": 20, "seconds": 2.0, "performance": 0.91,
    }  # fmt: skip
    again = Until(0.9, None, 10**6)
    again.set_state(json.loads(json.dumps(until.state())))
    assert again.record() == until.record()


def test_quick_looks_are_rare():
    until = Until(0.9, None, 10**6)
    assert [step for step in range(0, 10**6, 4096) if until.due(step)].__len__() <= 50


def test_a_run_stops_when_it_is_held_and_says_after_how_much(ngym):
    result = ngym("run", "--task", "RDM-v0", "--until", "0.4", "--timesteps", "200000", "--name", "a", *QUICK)
    assert result.code == 0, result.err
    found = json.loads(result.out)
    folder = Path(found["id"])
    manifest = json.loads((folder / "manifest.json").read_text())
    assert found["status"] == manifest["status"] == "finished"
    assert manifest["until"] == found["until"]
    until = manifest["until"]
    assert until["reached"] and until["of"] == "ceiling"
    assert until["performance"] >= until["target"] == pytest.approx(0.4 * manifest["ceiling"])
    assert until["steps"] == manifest["steps"] < 200_000
    assert until["trials"] == manifest["trials"]
    assert 0 < until["seconds"] <= manifest["wall_seconds"]
    assert "0.4 of the ceiling" in manifest["exit_reason"]
    assert manifest["performance"] == until["performance"]
    assert tomllib.loads((folder / "config.toml").read_text())["until"] == 0.4
    assert ngym("eval", "a", "--trials", "20").code == 0


def test_not_held(ngym):
    result = ngym("run", "--task", "RDM-v0", "--until", "1", "--timesteps", "2000", "--name", "b", *QUICK)
    until = json.loads(result.out)["until"]
    assert not until["reached"] and until["steps"] is None


@pytest.mark.parametrize("fraction", ["0", "1.5", "-1", "nan", "often"])
def test_what_is_no_fraction_is_refused(ngym, fraction):
    result = ngym("run", "--task", "RDM-v0", "--until", fraction)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1
