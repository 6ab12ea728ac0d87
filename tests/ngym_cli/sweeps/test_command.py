"""``ngym sweep`` as it is typed."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from pyarrow import parquet
from rich.console import Console

from ngym_cli.sweeps import folder, status, tables
from ngym_cli.sweeps.plan import Entry
from ngym_cli.sweeps.recipe import Recipe

FLAGS = (
    *"--task GoNogo-v0 --n-envs 4 --timesteps 512 --eval-trials 10 --eval-every 0".split(),
    *"--set n_steps=64 --set n_epochs=1 --workers 1".split(),
)


def test_flags_make_runs_and_the_same_flags_again_make_none(ngym, tmp_path):
    document = ngym("sweep", *FLAGS, "--network", "lstm,gru", "--seed", "0:2", "--json").document
    assert document["counts"]["done"] == 4
    assert [(s["values"]["network"], s["n"]) for s in document["settings"]] == [("lstm", 2), ("gru", 2)]
    created = sorted(tmp_path.glob("sweeps/*/runs/*/*/*/manifest.json"))
    times = [path.stat().st_mtime_ns for path in created]
    assert len(created) == 4
    again = ngym("sweep", *FLAGS, "--network", "lstm,gru", "--seed", "0:2")
    assert again.code == 0
    assert "4 of 4 runs are done" in again.err
    assert [path.stat().st_mtime_ns for path in created] == times
    visible = json.loads(ngym("sweep", "status", "--json").out)
    assert (visible["id"], visible["counts"]) == (document["id"], document["counts"])
    assert len(json.loads(ngym("list", "runs", "--runs", f"{document['id']}/runs", "--json").out)) == 4


def test_a_recipe_is_planned_without_leaving_anything(ngym, tmp_path):
    (tmp_path / "coherence.toml").write_text(
        """
        zip = [["network", "units"]]
        [run]
        task = "GoNogo-v0"
        n_envs = 4
        timesteps = 512
        hyperparameters = {n_steps = 64, n_epochs = 1}
        evaluation = {every = 0, trials = 10}
        [grid]
        network = ["lstm", "gru"]
        units = [8, 16]
        seed = "0:3"
        """
    )
    plan = ngym("sweep", "coherence.toml", "--dry-run", "--json").document
    assert plan["id"] == "coherence"
    assert [run["values"]["units"] for run in plan["runs"]] == [8, 8, 8, 16, 16, 16]
    assert 0 < plan["seconds"] <= plan["core_seconds"]
    assert not (tmp_path / "sweeps").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to sweep"),
        (("stauts",), "did you mean 'status'"),
        (("status", "x"), "no such sweep"),
        (("resume", "x", "--alg", "ppo"), "takes only the sweep"),
        (("--alg", "ppo,recurrent_poo"), "did you mean"),
        (("--alg", "recurrent_ppo", "--set", "learning_rat=1e-3,1e-4"), "did you mean 'learning_rate'"),
        (("--alg", "ppo,recurrent_ppo", "--network", "lstm"), "lstm"),
        (("--task", "RDM-v0,GoNgo-v0"), "GoNogo-v0"),
        (("--seed", "0:2", "--zip", "seed,units"), "units"),
        (("--seed", "0:2", "--zip", "seed"), "two parameters or more"),
        (("--task", "RDM-v0", "--seed", ""), "--seed: no value"),
        (("--search", "3"), "--space"),
        (("--search", "3", "--space", "learning_rat=log:1e-4:1e-2"), "learning_rate"),
        (("--space", "units=int:8:16"), "trials"),
        (("--seed", "0:2", "--on", "cloud"), "launcher"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(ngym, tmp_path, arguments, message):
    result = ngym("sweep", *arguments)
    assert result.code == 2, result
    assert message in result.err
    assert "Traceback" not in result.err
    assert not (tmp_path / "sweeps").exists()


def test_a_changed_recipe_is_refused_with_the_difference(ngym, make_sweep):
    make_sweep("night", grid={"seed": [0, 1]})
    result = ngym("sweep", *FLAGS, "--seed", "0:3", "--name", "night")
    assert result.code == 2
    assert "grid.seed: [0, 1] -> [0, 1, 2]" in result.err


def test_runs_with_configurations_of_their_own_are_shown_by_name(tmp_path):
    names = ("motion-s0-1a", "motion-s1-1a")
    settings = {"task": "RDM-v0", "task_args": {"cohs": [6.4]}}
    entries = [Entry(seed, name, {**settings, "seed": seed}) for seed, name in enumerate(names)]
    sweep = folder.listed(tmp_path / "paper", entries, Recipe())
    out = Console(width=100, file=io.StringIO())
    tables.print_progress(out, sweep, status.StatusReader(sweep).rows(), [])
    visible = out.file.getvalue()
    assert all(name in visible for name in names) and "task_args" not in visible


def test_the_configuration_of_a_run_is_a_recipe_too(ngym, run_folder):
    arguments = ("--timesteps", "2048", "--eval-every", "0", "--seed", "0:2", "--dry-run", "--json")
    runs = ngym("sweep", run_folder / "config.toml", *arguments).document["runs"]
    assert [run["values"] for run in runs] == [{"seed": 0}, {"seed": 1}]


def test_the_printed_configuration_of_a_sweep_is_its_recipe(ngym, tmp_path):
    flags = ("--task", "RDM-v0", "--units", "8,16", "--seed", "0:2", "--zip", "units,seed", "--workers", "1")
    printed = ngym("sweep", *flags, "--print-config")
    assert printed.code == 0 and not (tmp_path / "sweeps").exists(), printed.err
    (tmp_path / "again.toml").write_text(printed.out)
    assert ngym("sweep", tmp_path / "again.toml", "--print-config").out == printed.out
    runs = json.loads(ngym("sweep", tmp_path / "again.toml", "--dry-run", "--json").out)["runs"]
    assert [run["values"] for run in runs] == [{"units": 8, "seed": 0}, {"units": 16, "seed": 1}]


def test_a_dry_run_measures_each_kind_of_run_once(ngym, monkeypatch):
    from ngym_cli.training import timing

    requests = []
    monkeypatch.setattr(timing, "speed", lambda config: requests.append(config.units) or 100.0)
    result = ngym("sweep", *FLAGS, "--units", "8,16", "--seed", "0:3", "--dry-run", "--json")
    summary = json.loads(result.out)
    assert requests == [8, 16]
    assert summary["core_seconds"] == pytest.approx(6 * (timing.START + 5.12), rel=0.3)


def test_a_dry_run_finds_the_scores_of_reference_agents_of_a_task_once(ngym, monkeypatch):
    from ngym_cli.environments import properties

    requests = []
    for name in ("chance", "blind", "verdict"):
        find = getattr(properties, name)
        monkeypatch.setattr(
            properties, name, lambda *given, name=name, find=find: requests.append(name) or find(*given)
        )
    result = ngym("sweep", *FLAGS, "--units", "8,16", "--seed", "0:2", "--dry-run")
    assert result.code == 0, result.err
    assert "4 runs of 512 steps on average" in result.out
    assert sorted(requests) == ["blind", "chance", "verdict"]


@pytest.mark.usefixtures("in_process")
def test_degeneracy_compares_seeds_in_behaviour_dynamics_and_weights(ngym, tmp_path, monkeypatch):
    requested = ("--task", "FlipFlop-v0", "--alg", "supervised", "--network", "rnn", "--units", "8,12", "--seed", "0:2")
    small = (
        "--task-arg n_bits=1 --timing memory=200 --timesteps 3000 --eval-every 0 --eval-trials 10 --workers 1".split()
    )
    created = ngym("sweep", *requested, *small, "--name", "d", "--json")
    assert created.code == 0, created.err
    from ngym_cli.environments import properties

    requested: list[str] = []
    monkeypatch.setattr(properties, "chance_of", lambda *_: requested.append("chance"))
    drawn = ngym("plot", "sweeps/d", "degeneracy", "--json")
    assert drawn.code == 0, drawn.err
    assert len(requested) <= 4  # for the recording of each run, not for changed conditions
    table = parquet.read_table(Path(json.loads(drawn.out)[0]["path"]).with_suffix(".parquet")).to_pandas()
    assert table.groupby("level")["value"].apply(list).to_dict() == dict.fromkeys(
        ("behaviour", "dynamics", "weights"), ["8", "12"]
    )
    assert ((table["low"] <= table["mean"]) & (table["mean"] <= table["high"])).all() and (table["mean"] >= 0).all()
    assert len(list((tmp_path / "sweeps" / "d").rglob("activity.h5"))) == 4  # one of each run
    refused = ngym("plot", "sweeps/d", "degeneracy", "--outside", "task_args.pulse=1")
    assert refused.code == 2 and "did you mean 'p_pulse'" in refused.err


def test_code_that_changed_between_runs_is_named(ngym, in_process, tmp_path):
    part = "import gymnasium as gym\nfrom neurogym.core import TrialWrapper\nclass Plain(TrialWrapper):\n    pass\n"
    (tmp_path / "mine.py").write_text(part)
    words = ("sweep", "--wrappers", "mine.py:Plain", *FLAGS, "--name", "changed")
    assert "changed between them" not in ngym(*words, "--seed", "0:2").err
    (tmp_path / "mine.py").write_text(part + "# another version\n")
    result = ngym(*words, "--seed", "0:3")
    assert result.code == 0, result.err
    assert "changed between them: mine.py:Plain" in result.err


def test_a_sweep_has_a_page(ngym, in_process, tmp_path):
    assert ngym("sweep", *FLAGS, "--units", "4,8", "--seed", "0:2", "--name", "page").code == 0
    result = ngym("report", "page")
    assert result.code == 0, result.err
    text = (tmp_path / result.out.strip()).read_text()
    for words in ("Sweep page", "the seeds were", "<svg", "Recipe", "no-stimulus baseline"):
        assert words in text
    links = re.findall(r'href="(runs/[^"]+)"', text)
    assert len(links) == 4 and all((tmp_path / "sweeps" / "page" / link).exists() for link in links)
    assert ngym("sweep", *FLAGS, "--seed", "0:2", "--name", "seeds").code == 0
    (tmp_path / "other").mkdir()
    assert ngym("report", "sweeps/seeds", "--out", "other").code == 0
    assert "mean performance: the seeds were" in (tmp_path / "other" / "report.html").read_text()
