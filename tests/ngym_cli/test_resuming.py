"""An interrupted run that is resumed ends exactly as an uninterrupted one; a repeated run is the same run."""

from __future__ import annotations

import os
import shutil
import signal
import threading

import numpy as np
import pytest
from safetensors.numpy import load_file

from ngym_cli import runs
from ngym_cli.agents import checkpoints
from ngym_cli.agents.algorithms import ALGORITHMS
from ngym_cli.environments import quota
from ngym_cli.errors import UserError
from ngym_cli.training.main_loop import Hooks, resume, train
from ngym_cli.training.progress import Display
from ngym_cli.training.session import Clock
from tests.ngym_cli.conftest import Interrupting, configuration, interrupt
from tests.ngym_cli.files.test_writing import killed_while_writing
from tests.ngym_cli.sameness import assert_same_run, assert_whole, resumed


@pytest.fixture(autouse=True)
def requested_trials(monkeypatch):
    """Evaluations have the trials that are requested, not the thousands that make a precise estimate."""
    monkeypatch.setattr(quota, "MOST_ADDED_TRIALS", 0)


#: One algorithm of each kind: supervised, on-policy and off-policy of Stable-Baselines3; ours is resumed below.
FAST = ("supervised", "ppo", "dqn")


@pytest.mark.parametrize(
    "alg", [alg if alg in FAST else pytest.param(alg, marks=pytest.mark.long) for alg in ALGORITHMS]
)
def test_resumed_equals_uninterrupted(tmp_path, alg):
    _, run = resumed(configuration(alg), tmp_path, 3000)
    assert 3000 <= run.manifest()["resumed"][0]["step"] < 8000


@pytest.mark.parametrize(
    ("task", "more"),
    [
        ("RDM-v0", {"wrappers": "side_bias:probs=0.2/0.8//0.8/0.2,reaction_time", "network": "ctrnn"}),
        pytest.param("ReachingDelayResponse-v0", {"network": "gru"}, marks=pytest.mark.long),
        pytest.param("RDM-v0", {"wrappers": "trial_history,noise,pass_gt"}, marks=pytest.mark.long),
        pytest.param("Bandit-v0", {"network": "ei_rnn"}, marks=pytest.mark.long),
        ("ChangingBandit-v0", {"network": "gru", "reset_state": "session"}),
        pytest.param("DawTwoStep-v0", {"network": "rnn"}, marks=pytest.mark.long),
        pytest.param(
            "NAltPerceptualDecisionMaking-v0",
            {"wrappers": "trial_history_evolution,variable_nch,pass_reward"},
            marks=pytest.mark.long,
        ),
    ],
)
def test_resumed_equals_uninterrupted_for_other_tasks(tmp_path, task, more):
    brief = {"timing": {}, "wrappers": "", "timesteps": 4000, "checkpoint": {"every": 1000}}
    resumed(configuration(task=task, **{**brief, **more}), tmp_path, 2000, signal.SIGUSR1)


@pytest.mark.parametrize(
    ("task", "more"),
    [
        pytest.param(
            "VisualSearch-v0",
            {"network": "attention", "dt": 100, "task_args": {"win_kwargs": {"size": [48, 48]}}},
            marks=pytest.mark.long,
        ),
        ("ReachingDelayResponse-v0", {"network": "gru"}),
    ],
)
def test_a_choice_among_places_is_resumed(tmp_path, task, more):
    brief = {"timing": {}, "wrappers": "", "timesteps": 2000, "checkpoint": {"every": 400}, "evaluation": {"trials": 8}}
    resumed(configuration("supervised", task=task, network_args={"places": 5}, **brief, **more), tmp_path, 1000)


@pytest.mark.parametrize(
    ("alg", "network"), [("recurrent_ppo", "ei_rnn"), pytest.param("supervised", "gru", marks=pytest.mark.long)]
)
def test_pruning_is_resumed(tmp_path, alg, network):
    config = configuration(alg, network=network, timesteps=6000, network_args={"prune": "magnitude:0.8:by=5000"})
    _, run = resumed(config, tmp_path, 3000)
    factors = {
        name: value for name, value in load_file(run.path / "model/weights.safetensors").items() if "factor" in name
    }
    assert factors and all(
        np.mean(value == 0) == pytest.approx(0.8, abs=0.5 / value.size) for value in factors.values()
    )


def test_interrupted_again_and_again(tmp_path, uninterrupted):
    run = interrupt(configuration(), tmp_path, "cut", 2000, signal.SIGINT)
    for step in (4000,):
        assert resume(run, hooks=Hooks(make_display=lambda *_, step=step: Interrupting(step))).status == "interrupted"
        assert_whole(run.path)
    resume(run)
    assert_same_run(uninterrupted, run.path)
    assert [entry["step"] for entry in run.manifest()["resumed"]] == [2048, 4096]


def test_what_was_written_after_the_checkpoint_is_written_anew(tmp_path, interrupted, uninterrupted):
    run = runs.RunFolder(shutil.copytree(interrupted, tmp_path / "cut"))
    run.update(status="running", process={**runs.this_process(), "pid": 0})
    assert run.manifest()["status"] == "crashed"
    saved = checkpoints.found_in(run.path / "checkpoints")[-1]
    (run.path / "trials/part-000090.parquet").write_bytes(b"of a process that was killed")
    killed_while_writing(run.path / "trials/part-000091.parquet")
    events = next(run.path.glob("events.out.tfevents.*"))
    events.write_bytes(events.read_bytes() + b"half a point")
    assert saved.name == checkpoints.folder_of(6144)
    resume(run)
    assert_same_run(uninterrupted, run.path)
    assert not list(run.path.rglob(".*"))


def test_a_run_without_a_checkpoint_starts_again(tmp_path, interrupted, uninterrupted):
    run = runs.RunFolder(shutil.copytree(interrupted, tmp_path / "cut"))
    for path in checkpoints.found_in(run.path / "checkpoints"):
        shutil.rmtree(path)
    resume(run)
    assert_same_run(uninterrupted, run.path)


def test_a_damaged_checkpoint_is_passed_over(tmp_path, interrupted, uninterrupted):
    run = runs.RunFolder(shutil.copytree(interrupted, tmp_path / "cut"))
    newest = checkpoints.found_in(run.path / "checkpoints")[-1]
    file = newest / "state.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    messages = []
    display = Display()
    display.say = messages.append
    resume(run, hooks=Hooks(make_display=lambda *_: display))
    assert any(newest.name in line and "checksum" in line for line in messages)
    assert_same_run(uninterrupted, run.path)


def test_however_many_environments_a_checkpoint_has_as_many_arrays(tmp_path):
    """More than so many are not read (``reading.MOST_ARRAYS``), but were written for 600 environments."""
    numbers = []
    for n_envs in (2, 9):
        config = configuration(task="Bandit-v0", timing={}, wrappers="", n_envs=n_envs)
        run = interrupt(config, tmp_path, str(n_envs), 2)
        path = checkpoints.found_in(run.path / "checkpoints")[-1]
        assert len(checkpoints.read(path).environments["envs"]) == n_envs
        numbers.append(len(load_file(path / checkpoints.ARRAYS)))
    assert numbers[0] == numbers[1]


def test_the_config_of_a_run_repeats_it(ngym, tmp_path, uninterrupted):
    again = ngym("run", "--config", uninterrupted / "config.toml", "--name", "again", "--json").document["id"]
    assert_same_run(uninterrupted, tmp_path / again)


def test_the_last_and_the_best_checkpoints_are_kept(tmp_path):
    run = interrupt(configuration(checkpoint={"every": 1024, "keep": 2}, timesteps=20000), tmp_path, "cut", 9000)
    steps = [int(path.name[5:]) for path in checkpoints.found_in(run.path / "checkpoints")]
    best = checkpoints.best_of(run.path / "checkpoints")
    assert best["step"] in steps
    assert steps[-1] >= 9000
    assert steps[0] == 0 and len(set(steps) - {best["step"], 0}) in (1, 2)


@pytest.mark.parametrize(("keep", "expected"), [(20, 10), (5, 5), (1, 1)])
def test_checkpoints_are_kept_evenly_from_the_untrained_network_on(tmp_path, keep, expected):
    evaluation = {"every": 0, "trials": 10}
    config = configuration(checkpoint={"every": 1000, "keep": keep}, timesteps=10_000, evaluation=evaluation)
    folder = train(config, tmp_path, "it").run.path / "checkpoints"
    steps = [int(path.name[5:]) for path in checkpoints.found_in(folder)]
    assert len(steps) == expected and steps[-1] > 8_000
    if keep > 1:
        assert steps[0] == 0 and np.diff(steps).max() - np.diff(steps).min() <= 1_024


def test_a_finished_run_keeps_weights_only(uninterrupted):
    files = {path.name for path in (uninterrupted / "checkpoints").rglob("*") if path.is_file()}
    assert files == {"best.json", "weights.safetensors"}


def test_a_finished_run_is_not_resumed(ngym, uninterrupted):
    result = ngym("run", "--resume", uninterrupted)
    assert result.code == 2
    assert "finished" in result.err


def test_resuming_takes_no_settings(ngym, uninterrupted):
    result = ngym("run", "--resume", uninterrupted, "--seed", "3")
    assert result.code == 2
    assert "--resume" in result.err


def test_a_run_in_use_is_left_alone(ngym, tmp_path):
    started, go_on = threading.Event(), threading.Event()

    class Waiting(Display):
        def update(self, step, numbers):
            started.set()
            go_on.wait(20)

    config = configuration(timesteps=4096)
    worker = threading.Thread(
        target=lambda: train(config, tmp_path / "runs", "busy", hooks=Hooks(make_display=lambda *_: Waiting()))
    )
    worker.start()
    assert started.wait(20)
    folder = tmp_path / "runs/RDM-v0/recurrent_ppo/busy"
    try:
        resumed = ngym("run", "--resume", folder)
        replaced = ngym("run", "--task", "RDM-v0", "--name", "busy", "--overwrite")
    finally:
        go_on.set()
        worker.join()
    for result in (resumed, replaced):
        assert result.code == 2
        assert "in use by another process" in result.err
    assert runs.RunFolder(folder).manifest()["status"] == "finished"
    assert_whole(folder)


def test_a_run_on_another_machine_is_left_alone(tmp_path, interrupted):
    run = runs.RunFolder(shutil.copytree(interrupted, tmp_path / "cut"))
    run.update(status="running", process={"host": "elsewhere", "pid": 1, "started": "1"})
    with pytest.raises(UserError, match="in use on elsewhere"):
        resume(run)
    os.utime(run.path / "manifest.json", (0, 0))
    assert resume(run).status == "finished"


def test_times_add_up_over_interruptions(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Clock, "times", lambda self: (2000.0, 1000.0))
        run = interrupt(configuration(), tmp_path, "cut", 3000)
    resume(run)
    assert 1000 < run.manifest()["cpu_seconds"] < 2000 < run.manifest()["wall_seconds"]


OWN_TASK = """
import collections
import numpy as np
import neurogym as ngym

class Mine(ngym.TrialEnv):
    def __init__(self, dt=100):
        super().__init__(dt=dt, timing={"fixation": 300})
        self.observation_space = ngym.spaces.Box(-1, 1, shape=(2,), name={"fixation": 0, "memory": 1})
        self.action_space = ngym.spaces.Discrete(2)
        self.seen, self.recent = set(), collections.deque(maxlen=3)
        self.dice = np.random.default_rng(3)

    def start_session(self):
        self.seen, self.recent, self.dice = set(), collections.deque(maxlen=3), np.random.default_rng(3)

    def _new_trial(self, **kwargs):
        self.add_period("fixation")
        self.add_ob((len(self.seen) % 7 + sum(self.recent)) / 100, where="memory")
        self.set_groundtruth(int(self.dice.integers(2)))
        return {"seen": len(self.seen)}

    def _step(self, action):
        self.recent.append(action)
        self.seen.add((int(action), int(self.dice.integers(1000))))
        return self.ob_now, float(action == self.gt_now), False, False, {}
"""


@pytest.mark.parametrize("alg", ["recurrent_ppo", pytest.param("supervised", marks=pytest.mark.long)])
def test_sets_and_queues_of_a_task_are_resumed(tmp_path, alg):
    (tmp_path / "resumed_task.py").write_text(OWN_TASK)
    settings = {"task": f"{tmp_path}/resumed_task.py:Mine", "wrappers": "", "timing": {}, "timesteps": 4000}
    resumed(configuration(alg, **settings), tmp_path, 2600, trust=True)


@pytest.mark.parametrize("saved", ["open(__file__)", "iter([1])", "[{'a': threading.Lock()}]", "random.Random(1)"])
def test_what_cannot_be_saved_is_refused_before_anything_is_written(ngym, tmp_path, saved):
    source = OWN_TASK.replace(
        "default_rng(3)\n\n    def start", f"default_rng(3)\n        self.kept = {saved}\n\n    def start"
    )
    (tmp_path / "unsaved_task.py").write_text("import random, threading\n" + source)
    result = ngym("run", "--task", f"{tmp_path}/unsaved_task.py:Mine", "--timesteps", 1000, "--runs", tmp_path / "runs")
    assert result.code == 2, result
    last = result.err.strip().splitlines()[-1]
    assert "attribute Mine.kept" in last and "state = (" in last
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("source", ["first", pytest.param("latest", marks=pytest.mark.long)])
def test_a_run_killed_before_its_first_checkpoint_finds_its_initial_weights_again(tmp_path, source):
    first = train(configuration(timesteps=1024), tmp_path, "first").run
    config = configuration(init_from=source, timesteps=3000)
    run = interrupt(config, tmp_path, "cut", 2000)
    for path in checkpoints.found_in(run.path / "checkpoints"):
        shutil.rmtree(path)
    assert resume(run).status == "finished"
    assert run.manifest()["init_from"]["run"] == str(first.path.resolve())
    if source != "latest":
        assert_same_run(train(config, tmp_path, "whole").run.path, run.path)
