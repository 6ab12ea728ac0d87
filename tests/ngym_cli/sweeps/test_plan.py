"""The runs that a recipe stands for."""

from __future__ import annotations

import numpy as np
import pytest

from ngym_cli import runs
from ngym_cli.errors import UserError
from ngym_cli.sweeps import folder, plan
from ngym_cli.sweeps.recipe import build
from ngym_cli.sweeps.results import BOUNDS, settings, statistics


def test_a_grid_with_seeds_innermost():
    entries = plan.entries(build({"grid": {"seed": [0, 1], "alg": ["ppo", "recurrent_ppo"], "units": [8, 16]}}, {}))
    assert [tuple(e.values[k] for k in ("alg", "units", "seed")) for e in entries] == [
        ("ppo", 8, 0),
        ("ppo", 8, 1),
        ("ppo", 16, 0),
        ("ppo", 16, 1),
        ("recurrent_ppo", 8, 0),
        ("recurrent_ppo", 8, 1),
        ("recurrent_ppo", 16, 0),
        ("recurrent_ppo", 16, 1),
    ]
    assert [e.job for e in entries] == list(range(8))
    assert len({e.name for e in entries}) == 8


def test_zipped_parameters_change_together():
    recipe = build(
        {"grid": {"network": ["lstm", "gru"], "units": [8, 16], "dt": [20, 50]}, "zip": [["network", "units"]]}, {}
    )
    result = [(e.values["network"], e.values["units"], e.values["dt"]) for e in plan.entries(recipe)]
    assert result == [("lstm", 8, 20), ("lstm", 8, 50), ("gru", 16, 20), ("gru", 16, 50)]


def test_trials_of_a_search_have_one_job_for_all_seeds():
    recipe = build({"grid": {"seed": [0, 1]}, "search": {"trials": 3, "space": {"units": "int:8:64"}}}, {})
    entries = plan.entries(recipe)
    assert [e.job for e in entries] == [0, 0, 1, 1, 2, 2]
    assert len({e.name for e in entries}) == 6


def test_names_are_plain_folder_names_whatever_the_values(make_sweep):
    stacks = ["pass_reward,noise:std_noise=0.1", "../../etc", ""]
    recipe = build({"grid": {"wrappers": stacks, "hyperparameters.learning_rate": [1e-3, 0.123456789]}}, {})
    for entry in plan.entries(recipe):
        assert runs.plain_name("sweep", entry.name) == entry.name
        assert len(entry.name) <= plan.MAX_RUN_NAME


def test_too_many_runs_are_refused():
    grid = {"seed": "0:2000", "units": "1:1001"}
    with pytest.raises(UserError, match="2,000,000 runs"):
        plan.entries(build({"grid": grid}, {}))


def test_the_folder_is_made_once_and_refuses_another_recipe(make_sweep):
    first = make_sweep(grid={"seed": [0, 1]})
    again = make_sweep(grid={"seed": [0, 1]}, launch={"on": "slurm"})
    assert again.entries == first.entries
    with pytest.raises(UserError, match=r"grid.seed: \[0, 1\] -> \[1, 2\]"):
        make_sweep(grid={"seed": [1, 2]})


def test_a_larger_recipe_adds_runs_and_keeps_the_names_and_jobs_of_the_old_ones(make_sweep):
    first = make_sweep(grid={"units": [8, 16]})
    more = make_sweep(grid={"units": [4, 8, 16], "seed": [0, 1]})
    assert len(more.entries) == 6 and len({entry.job for entry in more.entries}) == 6
    saved = {entry.name: entry.job for entry in more.entries if entry.values["seed"] == 0 and entry.values["units"] > 4}
    assert saved == {entry.name: entry.job for entry in first.entries}
    assert folder.load(first.path).entries == more.entries


def test_a_search_can_be_enlarged_but_its_space_cannot_change(make_sweep):
    search = {"trials": 2, "space": {"units": "int:8:64"}}
    first = make_sweep(search=search)
    more = make_sweep(search={**search, "trials": 5})
    assert len(more.entries) == 5 and more.entries[:2] == first.entries
    for changed in ({**search, "trials": 4}, {"trials": 5, "space": {"units": "int:8:32"}}):
        with pytest.raises(UserError, match="choose another --name"):
            make_sweep(search=changed)


def test_runs_of_wrappers_are_named_after_the_wrapper():
    stacks = ["noise:std_noise=0.1", "parts/mine.py:Gain:gains=1/0.5"]
    names = [entry.name for entry in plan.entries(build({"grid": {"wrappers": stacks}}, {}))]
    assert names == ["00000-wrappers=noise_std_noise=0.1", "00001-wrappers=mine.py_Gain_gains=1_0.5"]


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", " "])
def test_names_of_sweeps_stay_in_their_folder(make_sweep, name):
    with pytest.raises(UserError, match="plain folder name"):
        make_sweep(name, grid={"seed": [0, 1]})


def test_a_damaged_list_is_said_in_one_line(make_sweep):
    sweep = make_sweep(grid={"seed": [0, 1]})
    (sweep.path / folder.LIST).write_text('[{"job": 0, "name": "../../x", "values": {}}]')
    with pytest.raises(UserError, match="plain folder name"):
        folder.load(sweep.path)
    (sweep.path / folder.LIST).write_text("[{")
    with pytest.raises(UserError, match=r"list\.json is damaged"):
        folder.load(sweep.path)


@pytest.mark.parametrize("settings", [{}, {"task": "yang19.go-v0"}, {"task": "yang19.go-v0", "alg": "ppo"}], ids=str)
def test_the_folder_of_a_run_is_that_of_its_algorithm(tmp_path, settings):
    sweep = folder.make(tmp_path, "it", build({"run": settings, "grid": {"seed": [0]}}, {}))
    (entry,) = sweep.entries
    config = sweep.config(entry.values)
    assert sweep.run_path(entry, entry.values).parent.name == config.alg


def test_intervals_of_performance_over_two_seeds_stay_between_0_and_1():
    row = statistics(np.array([0.0, 0.55]))
    assert row["mean_ci"] == [0.0, 1.0] and row["iqm_ci"] == [0.0, 1.0]
    assert statistics(np.array([-1.0, 2.0]), BOUNDS["reward_per_trial"])["mean_ci"][0] < -1


def test_the_difference_from_the_best_setting_is_paired_by_seed():
    """Seeds differ much and settings little: only the paired interval shows the difference."""
    scores = {"gru": (0.6, 0.7, 0.8, 0.9), "lstm": (0.59, 0.68, 0.79, 0.88)}
    rows = [
        {"values": {"network": network, "seed": seed}, "state": "done", "performance": score}
        for network, by_seed in scores.items()
        for seed, score in enumerate(by_seed)
    ]
    best, other = settings(rows)
    assert (best["difference"], best["difference_ci"]) == (0.0, None)
    low, high = other["difference_ci"]
    assert other["difference"] == pytest.approx(-0.015) and -0.03 < low < high < 0
    assert best["mean_ci"][0] < other["mean"]
    assert settings(rows[3:5])[1]["difference_ci"] is None  # no seed in common
