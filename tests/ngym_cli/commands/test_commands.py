"""Every command does what it says: exit code 0, an output for people, and JSON of the documented shape."""

from __future__ import annotations

import json

import pytest

TINY = "--n-envs 8 --units 8 --timesteps 2048 --set n_steps=64 --eval-every 1024 --eval-trials 64".split()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--version"], "ngym 0"),
        (["--help"], "recurrent_ppo"),
        ([], "Usage: ngym"),
        (["run", "--help"], "--wrappers"),
        (["list", "tasks"], "PerceptualDecisionMaking-v0"),
        (["list", "tasks", "--tag", "timing"], "ReadySetGo-v0"),
        (["list", "tasks", "motion", "noisy"], "PerceptualDecisionMaking-v0"),
        (["list", "wrappers"], "pass_reward"),
        (["list", "algs"], "recurrent_ppo"),
        (["list", "networks"], "lstm"),
        (["list", "tags"], "working memory"),
        (["info", "RDM-v0"], "ceiling          0.8957"),
        (["info", "RDM-v0", "--dt", "20", "--timing", "delay=uniform:200:600"], "uniform between 200 and 600"),
        (["info", "GoNogo-v0", "--wrappers", "pass_reward"], "reward"),
        (["info", "ReachingDelayResponse-v0"], "ground truth"),
        (["info", "reaction_time"], "urgency"),
    ],
)
def test_command_prints_for_people(ngym, arguments, expected):
    result = ngym(*arguments)
    assert result.code == 0, result.err
    assert expected in result.out


def test_info_as_json_describes_the_task_and_one_trial(ngym):
    result = json.loads(ngym("info", "RDM-v0", "--json").out)
    assert result["id"] == "PerceptualDecisionMaking-v0"
    assert "RDM-v0" in result["aliases"]
    assert result["ceiling"]["performance"] == pytest.approx(0.8957, abs=1e-4)
    assert {period["id"] for period in result["periods"]} == {"fixation", "stimulus", "delay", "decision"}
    trial = result["trial"]
    steps = len(trial["actions"])
    assert steps == len(trial["observations"]) == len(trial["ground_truth"]) == len(trial["rewards"]) == 22
    assert trial["actions"][-1] == trial["ground_truth"][-1] != 0
    assert trial["rewards"][-1] == 1.0


def test_run_eval_plot_and_repeat(ngym):
    run = ngym("run", "--task", "RDM-v0", "--wrappers", "pass_reward,pass_action", "--name", "first", "--json", *TINY)
    assert run.code == 0, run.err
    summary = json.loads(run.out)
    folder = "runs/RDM-v0/recurrent_ppo/first"
    assert summary["id"] == folder
    assert summary["status"] == "finished"

    summary = json.loads(ngym("eval", "latest", "--trials", "50", "--json").out)
    keys = ("performance", "performance_ci", "chance", "ceiling", "trials", "reward_per_trial", "conditions")
    assert all(key in summary for key in keys)
    assert summary["trials"] == 50
    assert "95 % interval" in ngym("eval", folder, "--stochastic").out

    drawn = {row["id"]: row for row in json.loads(ngym("plot", "latest", "--json").out)}
    assert drawn["learning"]["path"].endswith("figures/learning.png")
    refused = ngym("plot", "latest", "chronometric")
    assert refused.code == 2
    assert "reaction times" in refused.err

    listed = json.loads(ngym("list", "runs", "--json").out)
    assert [row["id"] for row in listed] == [folder]
    assert listed[0]["status"] == "finished"

    again = ngym("run", "--config", f"{folder}/config.toml", "--name", "second", "--json")
    assert json.loads(again.out)["performance"] == json.loads(run.out)["performance"]


@pytest.mark.parametrize(("file_format", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_figures_in_every_format(ngym, run_folder, tmp_path, file_format, start):
    result = ngym("plot", run_folder, "learning", "--format", file_format, "--out", tmp_path)
    assert result.code == 0, result.err
    assert (tmp_path / f"learning.{file_format}").read_bytes().startswith(start)


def test_smoke_checks_and_trains_and_leaves_nothing(ngym, tmp_path):
    rows = json.loads(ngym("run", "--smoke", "--task", "GoNogo-v0", "--json").out)
    assert [(row["id"], row["status"]) for row in rows] == [("GoNogo-v0", "ok")]
    assert rows[0]["steps"] >= 256
    assert not (tmp_path / "runs").exists()
