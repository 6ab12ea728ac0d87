"""Search with Optuna: the default is tried, poor trials end early, and a search that was stopped goes on."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import pytest

from ngym_cli import runs
from ngym_cli.sweeps import status, worker

optuna = pytest.importorskip("optuna", reason="Optuna is not installed (pip install 'ngym[search]')")

SPACE = {"learning_rate": "log:1e-4:1e-2", "units": "int:8:64"}


def make_search(make_sweep, trials=3, **settings):
    return make_sweep(search={"trials": trials, "space": SPACE, "pruner": "none", **settings})


def complete(sweep):
    return [t for t in worker.open_study(sweep)[0].get_trials() if t.state.name == "COMPLETE"]


def test_a_search_tries_the_default_first_and_goes_on_where_it_stopped(make_sweep):
    sweep = make_search(make_sweep)
    worker.prepare(sweep)
    assert worker.perform(str(sweep.path), 0) == worker.DONE
    assert sweep.drawn(0)["params"] == {"hyperparameters.learning_rate": 2e-3, "units": 64}
    study, storage = worker.open_study(sweep, 1)
    number = worker.claim(sweep, study, storage, 1).number
    drawn = sweep.drawn(1)
    worker.prepare(sweep)
    for job in (1, 2):
        assert worker.perform(str(sweep.path), job) == worker.DONE
    assert sweep.drawn(1) == drawn
    assert [t.number for t in complete(sweep)] == [0, number, number + 1]
    rows = status.StatusReader(sweep).rows()
    assert [row["state"] for row in rows] == ["done"] * 3
    assert status.unfinished_jobs(sweep, rows) == []
    for trial, row in zip(complete(sweep), rows, strict=True):
        assert trial.value == row["performance"]
        assert trial.params == {key: row["values"][key] for key in trial.params}


def test_draws_are_reproducible_and_lie_in_their_space(make_sweep):
    results = []
    for name in ("one", "two"):
        sweep = make_sweep(name, search={"trials": 6, "space": {**SPACE, "network": "choice:lstm:gru"}})
        study, storage = None, None
        for job in range(6):
            study, storage = worker.open_study(sweep, job)
            worker.claim(sweep, study, storage, job)
        results.append([sweep.drawn(job)["params"] for job in range(6)])
    assert results[0] == results[1]
    assert len({str(params) for params in results[0]}) == 6
    for params in results[0]:
        assert 1e-4 <= params["hyperparameters.learning_rate"] <= 1e-2
        assert 8 <= params["units"] <= 64
        assert params["network"] in ("lstm", "gru")


def test_a_poor_trial_is_ended_early_and_not_taken_up_again(make_sweep, monkeypatch):
    sweep = make_sweep(search={"trials": 2, "space": SPACE}, run={"timesteps": 1024, "evaluation": {"every": 256}})
    worker.prepare(sweep)
    monkeypatch.setattr(optuna.trial.Trial, "should_prune", lambda self: self.number == 1)
    monkeypatch.setattr("ngym_cli.training.curves.STEPS_PER_POINT", 128)
    monkeypatch.setattr("ngym_cli.training.sb3_callback.STEPS_PER_POINT", 128)
    assert [worker.perform(str(sweep.path), job) for job in (0, 1)] == [worker.DONE, worker.DONE]
    rows = status.StatusReader(sweep).rows()
    assert [row["state"] for row in rows] == ["done", "pruned"]
    assert rows[1]["steps"] < 1024
    assert status.unfinished_jobs(sweep, rows) == []
    assert [t.state.name for t in worker.open_study(sweep)[0].get_trials()] == ["COMPLETE", "PRUNED"]
    assert worker.perform(str(sweep.path), 1) == worker.DONE
    assert status.StatusReader(sweep).rows() == rows


def test_a_search_without_optuna_says_how_to_install_it(monkeypatch, ngym):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    result = ngym("sweep", "--search", "3", "--space", "units=int:8:16")
    assert result.code == 2
    assert "pip install 'ngym[search]'" in result.err


def test_a_trial_that_fails_is_failed_in_the_study_and_the_best_setting_is_saved(make_sweep, monkeypatch):
    from ngym_cli.config.trust import read_toml
    from ngym_cli.sweeps import control, results

    sweep = make_search(make_sweep)
    worker.prepare(sweep)
    learned = worker.run_one
    monkeypatch.setattr(worker, "run_one", lambda *args, **more: 1 / 0)
    assert worker.perform(str(sweep.path), 0) == worker.FAILED
    monkeypatch.setattr(worker, "run_one", learned)
    for job in (1, 2):
        assert worker.perform(str(sweep.path), job) == worker.DONE
    trials = worker.open_study(sweep)[0].get_trials()
    assert [trial.state.name for trial in trials] == ["FAIL", "COMPLETE", "COMPLETE"]
    best = control.result(sweep, status.StatusReader(sweep).rows())["best"]
    assert best["mean"] == max(trial.value for trial in trials[1:])
    saved = read_toml(sweep.path / results.BEST_FILE)
    assert saved["hyperparameters"]["learning_rate"] == best["values"]["hyperparameters.learning_rate"]
    assert saved["units"] == best["values"]["units"]


def test_parameters_of_equal_scores_have_no_importance(make_sweep):
    sweep = make_search(make_sweep, 8)
    worker.prepare(sweep)
    for job in range(8):
        study, storage = worker.open_study(sweep, job)
        study.tell(worker.claim(sweep, study, storage, job).number, 0.5)
    assert worker.importance(sweep) == {}


def test_a_failed_trial_that_later_succeeds_has_one_result(make_sweep, monkeypatch):
    sweep = make_search(make_sweep, 1)
    worker.prepare(sweep)
    learned = worker.run_one
    monkeypatch.setattr(worker, "run_one", lambda *args, **more: 1 / 0)
    assert worker.perform(str(sweep.path), 0) == worker.FAILED
    monkeypatch.setattr(worker, "run_one", learned)
    for _ in range(2):  # the second time nothing is left to do
        assert worker.perform(str(sweep.path), 0) == worker.DONE
    failed, successful = worker.open_study(sweep)[0].get_trials()
    assert [failed.state.name, successful.state.name] == ["FAIL", "COMPLETE"]
    (row,) = status.StatusReader(sweep).rows()
    assert successful.value == row["performance"] and successful.params == failed.params
    assert successful.system_attrs == {"failed_trial": failed.number} and sweep.drawn(0)["number"] == successful.number


def test_the_value_of_a_trial_is_the_mean_over_seeds_of_which_the_first_alone_is_reported(make_sweep):
    sweep = make_sweep(
        grid={"seed": [0, 1]},
        search={"trials": 1, "space": SPACE, "pruner": "hyperband"},
        run={"evaluation": {"every": 256, "trials": 10}},
    )
    worker.prepare(sweep)
    assert worker.perform(str(sweep.path), 0) == worker.DONE
    (trial,) = complete(sweep)
    assert max(trial.intermediate_values) <= 512, "steps of one run"
    first, second = (row["performance"] for row in status.StatusReader(sweep).rows())
    assert trial.value == pytest.approx((first + second) / 2)


def test_code_that_changed_between_runs_of_a_sweep_is_named(make_sweep):
    sweep = make_sweep(values={"seed": [0, 1]})
    for job in sweep.jobs:
        worker.perform(str(sweep.path), job)
    rows = status.StatusReader(sweep).rows()
    assert status.changed_code(rows) == []
    path = Path(rows[0]["id"]) / runs.MANIFEST
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"versions": {**manifest["versions"], "numpy": "0.1"}}))
    assert status.changed_code(rows) == ["numpy"]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="handles of files are counted in /proc")
def test_many_trials_leave_no_open_files_and_no_studies_behind(make_sweep, monkeypatch):
    sweep = make_search(make_sweep, 30, pruner="median")
    worker.prepare(sweep)
    monkeypatch.setattr(worker, "run_one", lambda *args, **more: ("finished", {"performance": 0.5}))

    def left() -> tuple[int, int]:
        gc.collect()
        kept = [each for each in gc.get_objects() if type(each) in (optuna.Study, optuna.storages.JournalStorage)]
        return len(list(Path("/proc/self/fd").iterdir())), len(kept)

    counts = []
    for job in range(30):
        assert worker.perform(str(sweep.path), job) == worker.DONE
        if job in (4, 29):
            counts.append(left())
    assert counts[0] == counts[1]
