"""What a run says when numbers go wrong or the disk does, and that its records agree with each other."""

from __future__ import annotations

import errno
import json
import os
import shutil

import numpy as np
import pytest

from ngym_cli import runs
from ngym_cli.agents import checkpoints
from ngym_cli.config.model import from_dict
from ngym_cli.errors import NotFinite, UserError
from ngym_cli.runs.trial_table import read_trials
from ngym_cli.training.main_loop import resume, train
from tests.ngym_cli.conftest import configuration, interrupt
from tests.ngym_cli.sameness import assert_same_run, assert_whole, curves

TASK = """
import numpy as np
import neurogym as ngym


class Mine(ngym.TrialEnv):
    def __init__(self, dt=100, reward_at=0, observation_at=0, bad="nan"):
        super().__init__(dt=dt)
        self.observation_space = ngym.spaces.Box(-np.inf, np.inf, shape=(1,), name={"x": 0})
        self.action_space = ngym.spaces.Discrete(2, name={"left": 0, "right": 1})
        self.at, self.bad, self.steps = (reward_at, observation_at), float(bad), 0

    def new_trial(self, **kwargs):
        self.add_period(["stimulus", "decision"], [100, 100])
        trial = {"ground_truth": int(self.rng.integers(2))}
        self.set_groundtruth(trial["ground_truth"], "decision")
        return trial

    def _step(self, action):
        self.steps += 1
        reward = self.bad if self.at[0] == self.steps else float(action == self.gt_now)
        ob = np.full(1, self.bad if self.at[1] == self.steps else 0, np.float32)
        return ob, reward, False, False, {"new_trial": self.in_period("decision")}

    def post_step(self, ob, reward, terminated, truncated, info):
        ob = np.full(1, self.bad if self.at[1] == self.steps else 0, np.float32)
        return ob, reward, terminated, truncated, info
"""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"reward_at": 1000}, "reward of environment 0 is nan"),
        ({"observation_at": 1000, "bad": "inf"}, "observation of environment 0 is inf"),
    ],
)
def test_numbers_that_are_not_finite_stop_a_run(tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(TASK)
    config = configuration(
        task="mine.py:Mine", task_args=arguments, timing={}, wrappers="", evaluation={"every": 0, "trials": 10}
    )
    with pytest.raises(UserError, match=says) as raised:
        train(config, tmp_path / "runs", "bad")
    assert "after 7,992 steps" in str(raised.value)
    assert "in its trial 500" in str(raised.value)
    run = runs.find("bad", tmp_path / "runs")
    manifest = run.manifest()
    assert manifest["status"] == "failed"
    assert says in manifest["exit_reason"]
    saved = checkpoints.found_in(run.path / "checkpoints")[-1]
    assert checkpoints.read(saved).step == 6144
    assert_whole(run.path)


def test_a_single_bad_number_among_many_is_found():
    from ngym_cli.environments.trial_batch import check_finite

    check_finite(np.full((64, 5), 3e38, np.float32), np.full(64, -1e300))
    observations = np.zeros((64, 5), np.float32)
    observations[17, 3] = np.nan
    with pytest.raises(NotFinite, match="observation of environment 17 is nan"):
        check_finite(observations, np.zeros(64))


@pytest.mark.parametrize("alg", ["recurrent_ppo", "ppo"])
def test_losses_that_are_not_finite_stop_a_run(tmp_path, alg):
    settings = {"learning_rate": 10.0, "max_grad_norm": 1e30}
    config = configuration(alg, rewards={"correct": 1e30}, hyperparameters=settings)
    with pytest.raises(UserError, match=r"after .* steps.*training stopped"):
        train(config, tmp_path, "diverges")
    run = runs.find("diverges", tmp_path)
    assert run.manifest()["status"] == "failed"
    for path in checkpoints.resumable_in(run.path / "checkpoints"):
        checkpoints.read(path)


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("case", ["trials", "checkpoints"])
def test_a_full_disk_loses_nothing(tmp_path, monkeypatch, uninterrupted, case):
    count = []

    def filling(real):
        def place(source, target):
            if case in str(target):
                count.append(target)
                if len(count) > 2:
                    full()
            real(source, target)

        return place

    for name in ("replace", "rename"):
        monkeypatch.setattr(f"os.{name}", filling(getattr(os, name)))
    with pytest.raises(UserError, match=r"No space left on device.*--resume"):
        train(configuration(), tmp_path, "full")
    monkeypatch.undo()
    run = runs.find("full", tmp_path)
    assert run.manifest()["status"] == "failed"
    assert_whole(run.path)
    assert resume(run).status == "finished"
    assert_same_run(uninterrupted, run.path)


def test_a_folder_that_cannot_be_written_to(ngym, tmp_path, monkeypatch, interrupted):
    (tmp_path / "file").write_text("")
    result = ngym("run", "--task", "RDM-v0", "--runs", "file/runs")
    assert result.code == 2
    assert "cannot" in result.err and result.err.count("\n") <= 2

    def read_only(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    run = shutil.copytree(interrupted, tmp_path / "cut")
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    monkeypatch.setattr("tempfile.mkdtemp", read_only)
    result = ngym("run", "--resume", run)
    assert result.code == 2
    assert "Read-only file system" in result.err
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


def test_the_records_of_a_run_agree(tmp_path):
    run = interrupt(configuration(), tmp_path, "cut", 5000)
    for folder in (run.path, resume(run).run.path):
        manifest = json.loads((folder / "manifest.json").read_text())
        table, result = read_trials(folder / "trials"), curves(folder)
        final = json.loads((folder / "eval/final/summary.json").read_text())
        tested = read_trials(folder / "eval/final/trials.parquet")
        assert manifest["trials"] == len(table["trial"])
        assert manifest["steps"] == final["model_steps"] >= table["step"].max()
        assert result["behaviour/trials"][-1][1] <= manifest["trials"]
        steps = [step for step, _ in result["behaviour/performance"]]
        assert steps == sorted(set(steps))
        for begin, end in zip([0, *steps], steps, strict=False):
            rows = (table["step"] > begin) & (table["step"] <= end)
            visible = dict(result["behaviour/performance"])[end]
            assert visible == pytest.approx(np.mean(table["performance"][rows]), rel=1e-5)
        evaluated = result["evaluation/performance"]
        assert [step for step, _ in evaluated] == sorted({step for step, _ in evaluated})
        assert evaluated[-1] == (manifest["steps"], pytest.approx(manifest["performance"], rel=1e-6))
        assert manifest["performance"] == final["performance"] == pytest.approx(np.mean(tested["performance"]))
        assert from_dict(manifest["config"]).to_toml() == (folder / "config.toml").read_text()


def test_diff_says_where_runs_differ(ngym, tmp_path, uninterrupted):
    same = (uninterrupted, train(configuration(), tmp_path / "runs", "a").run.path)
    second = train(configuration(seed=6), tmp_path / "runs", "c").run.path
    result = ngym("diff", *same)
    assert result.code == 0
    assert "do not differ" in result.out
    result = ngym("diff", uninterrupted, second, "--json")
    assert result.code == 1
    rows = {row["id"]: row for row in json.loads(result.out)}
    assert (rows["configuration.seed"]["one"], rows["configuration.seed"]["other"]) == (5, 6)
    assert "seeds.network" in rows and "files.model/weights.safetensors" in rows
    assert not any(name.startswith("versions") for name in rows)
    assert "configuration.seed" in ngym("diff", "a", "c").out
    assert ngym("diff", "a", "nothing").code == 2
