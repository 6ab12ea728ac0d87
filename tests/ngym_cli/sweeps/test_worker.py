"""What a worker makes of a job, in whatever state it finds it; and what the folder then says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from ngym_cli import runs
from ngym_cli.sweeps import folder, results, status, worker
from tests.ngym_cli.sameness import assert_same_run

FAILING = """
import neurogym as ngym

class Failing(ngym.envs.registration.entry("GoNogo-v0")):
    def __init__(self, when=0.0, **kwargs):
        super().__init__(**kwargs)
        self.when = when

    def _new_trials(self, trials):
        super()._new_trials(trials)
        if self.when and trials.rng.random() < self.when and trials.rng.random() != 0:
            raise RuntimeError("the rig is on fire")
"""


def states(sweep):
    return [row["state"] for row in status.StatusReader(sweep).rows()]


def test_a_job_becomes_an_ordinary_run_and_is_not_done_twice(make_sweep):
    sweep = make_sweep(grid={"seed": [0, 1]})
    assert states(sweep) == ["queued", "queued"]
    assert worker.perform(str(sweep.path), 0) == worker.DONE
    assert states(sweep) == ["done", "queued"]
    run = runs.RunFolder(sweep.run_path(sweep.entries[0], sweep.entries[0].values))
    before = (run.path / runs.MANIFEST).stat().st_mtime_ns
    assert run.manifest()["status"] == "finished"
    assert worker.perform(str(sweep.path), 0) == worker.DONE
    assert (run.path / runs.MANIFEST).stat().st_mtime_ns == before
    assert status.unfinished_jobs(sweep, status.StatusReader(sweep).rows()) == [1]


def test_a_run_that_was_stopped_is_resumed_to_the_same_end(make_sweep, monkeypatch):
    from ngym_cli.training.session import TrainingSession

    calm = make_sweep("calm", grid={"seed": [3, 4]})
    assert worker.perform(str(calm.path), 0) == worker.DONE
    sweep = make_sweep("stopped", grid={"seed": [3, 4]})
    original, sent = TrainingSession.on_rollout, []

    def stop_once(self):
        original(self)
        if not sent:
            sent.append(os.kill(os.getpid(), signal.SIGTERM))

    monkeypatch.setattr(TrainingSession, "on_rollout", stop_once)
    assert worker.perform(str(sweep.path), 0) == worker.STOPPED
    assert states(sweep)[0] == "interrupted"
    assert worker.perform(str(sweep.path), 0) == worker.DONE
    single, two = (runs.RunFolder(s.run_path(s.entries[0], s.entries[0].values)) for s in (calm, sweep))
    assert len(two.manifest()["resumed"]) == 1
    assert_same_run(single.path, two.path)


@pytest.mark.parametrize(
    "tasks",
    [
        pytest.param(["GoNogo-v0", "RDM-v0"], id="another task before", marks=pytest.mark.long),
        pytest.param(["NBack-v0+GoNogo-v0", "NBack-v0+DelayComparison-v0"], id="other tasks before, one in common"),
    ],
)
def test_a_run_of_a_sweep_is_the_same_run_alone_whatever_its_process_did_before(make_sweep, tmp_path, tasks):
    wrappers = "pass_reward,pass_action,side_bias:probs=0.8/0.2//0.2/0.8:block_dur=5" if "+" not in tasks[0] else ""
    sweep = make_sweep(run={"wrappers": wrappers or "pass_reward", "seed": 7}, grid={"task": tasks})
    assert [worker.perform(str(sweep.path), job) for job in (0, 1)] == [worker.DONE, worker.DONE]
    in_sweep = sweep.run_path(sweep.entries[1], sweep.entries[1].values)
    command = ["run", "--config", str(in_sweep / "config.toml"), "--name", "alone"]
    subprocess.run([sys.executable, "-m", "ngym_cli", *command], cwd=tmp_path, check=True, capture_output=True)
    (alone,) = (tmp_path / "runs").glob("*/*/alone")
    assert_same_run(in_sweep, alone)


def test_a_failing_run_says_why_and_the_others_go_on(make_sweep, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rig.py").write_text(FAILING)
    sweep = make_sweep(run={"task": "rig.py:Failing"}, grid={"task_args.when": [1.0, 0.0]})
    assert [worker.perform(str(sweep.path), job, trust=True) for job in (0, 1)] == [worker.FAILED, worker.DONE]
    rows = status.StatusReader(sweep).rows()
    assert [row["state"] for row in rows] == ["failed", "done"]
    assert "the rig is on fire" in rows[0]["error"]
    assert "Traceback" in sweep.error_path(0).read_text()
    lines = results.write(sweep, rows)
    assert [line["state"] for line in lines] == ["failed", "done"]


def test_user_code_in_a_recipe_is_not_imported_without_trust(make_sweep, tmp_path, monkeypatch):
    from ngym_cli.errors import UserError
    from ngym_cli.sweeps import validation

    sweep = make_sweep(run={"task": "rig.py:Failing"}, grid={"seed": [0, 1]})
    with pytest.raises(UserError, match="--trust"):
        validation.require_trust(sweep.recipe, sweep.path)
    validation.require_trust(sweep.recipe, sweep.path, trusted_recipe=sweep.recipe)


def pretend(sweep, scores):
    """Let runs have finished with scores."""
    for entry, score in zip(sweep.entries, scores, strict=True):
        path = sweep.run_path(entry, entry.values)
        manifest = {"status": "finished", "performance": score, "steps": 10, "wall_seconds": 2.0, "config": {}}
        runs.create(path, False, "", manifest | {"seed": entry.values.get("seed"), "performance_ci": [0.1, 0.9]})


def test_settings_have_mean_interquartile_mean_and_intervals_over_seeds(make_sweep):
    import pyarrow.parquet as pq

    sweep = make_sweep(grid={"network": ["lstm", "gru"], "seed": "0:8"})
    scores = [0.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0, *np.linspace(0.6, 0.9, 8)]
    pretend(sweep, scores)
    rows = status.StatusReader(sweep).rows()
    first, two = results.settings(rows)
    assert first["values"] == {"network": "lstm"}
    assert (first["n"], first["mean"], first["iqm"]) == (8, 0.5, 0.5)
    assert first["iqm_ci"][1] - first["iqm_ci"][0] < first["mean_ci"][1] - first["mean_ci"][0]
    assert two["mean"] == pytest.approx(0.75)
    assert two["mean_ci"][0] < 0.75 < two["mean_ci"][1]
    results.write(sweep, rows)
    table = pq.read_table(sweep.path / results.SUMMARY_FILE).to_pydict()
    assert table["network"] == ["lstm"] * 8 + ["gru"] * 8
    assert table["seed"] == [*range(8), *range(8)]
    assert table["performance"] == pytest.approx(scores)


def test_figures_by_parameter(make_sweep, ngym):
    sweep = make_sweep(grid={"network": ["lstm", "gru"], "seed": "0:3"})
    pretend(sweep, np.linspace(0.5, 0.8, 6))
    result = ngym("plot", sweep.path, "performance", "--by", "network")
    assert result.code == 0, result.err
    assert (sweep.path / "figures/performance-by-network.png").stat().st_size > 5000
    assert ngym("plot", sweep.path, "--by", "netwrk").err.count("did you mean 'network'") == 1


def test_time_left_counts_what_waits_and_what_runs():
    rows = [
        {"state": "done", "seconds": 10.0, "left": None},
        {"state": "running", "seconds": 5.0, "left": 4.0},
        *({"state": "queued", "seconds": None, "left": None} for _ in range(3)),
    ]
    assert status.time_left(rows, 2) == pytest.approx((3 * 10 + 4) / 2)
    assert status.time_left([{"state": "queued", "seconds": None, "left": None}], 2) is None


def test_a_sweep_is_found_by_name_folder_and_as_the_latest(make_sweep, monkeypatch, tmp_path):
    from ngym_cli.errors import UserError

    monkeypatch.chdir(tmp_path)
    sweep = make_sweep("coherence", grid={"seed": [0, 1]})
    for reference in ("coherence", "sweeps/coherence", "latest"):
        assert folder.find(reference).path.resolve() == sweep.path.resolve()
    with pytest.raises(UserError, match="did you mean 'coherence'"):
        folder.find("coherance")
