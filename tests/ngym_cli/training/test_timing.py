"""What a run will take: by arithmetic, and by trying (``ngym bench``)."""

from __future__ import annotations

import json

import pytest

from ngym_cli import processes
from ngym_cli.agents import per_task
from ngym_cli.agents.algorithms.sb3 import Learner
from ngym_cli.agents.defaults import prepare
from ngym_cli.agents.device import selection
from ngym_cli.agents.from_config import build_model, build_venv
from ngym_cli.config.model import from_dict
from ngym_cli.training import timing
from ngym_cli.training.request import BenchRequest

FEW = {"task": "PerceptualDecisionMaking-v0", "timesteps": 2_000, "hyperparameters": {"n_steps": 16}}


def expected(**settings):
    config, properties = prepare(from_dict({"task": "PerceptualDecisionMaking-v0", **settings}))
    return timing.expected(config, properties)


def test_more_steps_and_units_are_expected_to_take_longer(monkeypatch):
    monkeypatch.setattr(timing, "operations_per_second", lambda: 1e11)
    usual = expected()
    assert timing.START < usual < expected(timesteps=800_000) < expected(timesteps=800_000, units=256)
    assert expected(alg="supervised", timesteps=400_000) < usual  # each step is learned from once


@pytest.mark.parametrize(
    "settings",
    [{"alg": "ppo"}, {"task": "RandomDotMotion-v0"}, {"task": "RandomDotMotion-v0", "wrappers": "none"}],
    ids=["without memory", "images that a wrapper reduces", "images"],
)
def test_where_the_arithmetic_says_little_nothing_is_expected(settings):
    assert expected(**settings) is None


def test_candidates_take_turns_until_the_time_is_over():
    moment = iter(range(10_000))
    best, result, rest = timing.try_out(from_dict(FEW), seconds=60, clock=lambda: float(next(moment)))
    assert {timed.n_envs for timed in result} <= set(timing.ENVIRONMENTS) and best.n_envs == result[0].n_envs
    assert all(timed.speed > 0 and timed.turns >= 1 for timed in result)
    assert max(timed.turns for timed in result) - min(timed.turns for timed in result) <= 1
    assert rest >= timing.START


def test_of_those_about_as_fast_the_fewest_environments_are_best(monkeypatch):
    speed = {16: 50.0, 64: 95.0, 256: 100.0}
    monkeypatch.setattr(timing, "make_turn", lambda config, n_threads, clock: lambda: speed[config.n_envs])
    moment = iter(range(10_000))
    _, result, _ = timing.try_out(from_dict(FEW), n_threads=1, seconds=40, clock=lambda: float(next(moment)))
    assert [timed.n_envs for timed in result] == [64, 256, 16]


def test_every_turn_has_the_threads_that_it_is_to_tell_of(monkeypatch):
    monkeypatch.setattr(processes, "cores", lambda: 2)
    moment, in_force = iter(range(10_000)), []

    def clock():
        in_force.append(processes.learning_threads())
        return float(next(moment))

    timing.try_out(from_dict({**FEW, "n_envs": 4}), seconds=40, clock=clock)
    assert set(in_force[-10:]) >= {1, 2}


@pytest.mark.parametrize(
    ("alg", "steps"), [("recurrent_ppo", 16), ("ppo", 16), ("supervised", 16), ("dqn", timing.STEPS)]
)
def test_a_turn_is_a_rollout_or_where_there_are_none_many_steps(alg, steps):
    hyperparameters = {} if alg == "dqn" else {"n_steps": 16}  # of deep Q-learning the steps of a return, not a rollout
    config = prepare(from_dict({"task": "RDM-v0", "alg": alg, "n_envs": 2, "hyperparameters": hyperparameters}))[0]
    model = build_model(config, build_venv(config, 2))
    assert timing.steps_of_a_turn(model) == steps


@pytest.mark.parametrize(("message", "n"), [("3", 3), ("3,1", 3), ("0", 2), ("", 2), ("many", 2)])
def test_the_number_of_threads_is_that_of_the_environment_or_of_the_cores(monkeypatch, message, n):
    monkeypatch.setattr(processes, "cores", lambda: 2)
    monkeypatch.setenv("OMP_NUM_THREADS", message)
    before = processes.learning_threads()
    processes.set_learning_threads(None)
    result = processes.learning_threads()
    processes.set_learning_threads(before)
    assert result == n


@pytest.mark.parametrize("alg", ["recurrent_ppo", "supervised", "ppo"])
def test_bench_prints_flags_and_time(ngym, alg):
    before = processes.learning_threads()
    line = ("bench", "--task", "RDM-v0", "--alg", alg, "--n-envs", "4", "--threads", "1", "--seconds", "0.1")
    summary = ngym(*line, "--timesteps", "3000", "--json").document
    assert summary["flags"] == "--n-envs 4 --threads 1" and summary["timesteps"] == 3000
    (tried,) = summary["tried"]
    assert summary["learning_seconds"] == pytest.approx(3000 / tried["speed"], abs=0.051)
    assert summary["expected_seconds"] > summary["learning_seconds"]
    assert processes.learning_threads() == before


def test_bench_leaves_nothing_and_refuses_what_run_refuses(ngym, tmp_path):
    assert ngym("bench", "--task", "RDM-v1x").code == 2
    refused = ngym("bench", "--task", "RDM-v0", "--seconds", "0")
    assert refused.code == 2 and "--seconds" in refused.err
    assert "bench" in ngym("benchmark").err


def test_the_first_line_of_a_run_says_how_long_it_takes_and_the_record_how_many_threads(ngym, tmp_path):
    few = ("--timesteps", "512", "--n-envs", "4", "--threads", "2", "--name", "a", "--runs", str(tmp_path / "r"))
    result = ngym("run", "--task", "RDM-v0", *few)
    assert result.code == 0, result.err
    first = result.err.splitlines()[0]
    assert "512 steps; about " in first and first.endswith(" s")
    (manifest,) = (tmp_path / "r").rglob("manifest.json")
    assert json.loads(manifest.read_text())["machine"]["threads"] == 2


@pytest.mark.parametrize("gpu_is_faster", [True, False])
def test_a_gpu_is_compared_with_the_cpu_and_auto_follows(monkeypatch, tmp_path, gpu_is_faster):
    """Here the device is the CPU, which acts as a card."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(Learner, "on_device", True)
    config = prepare(from_dict({**FEW, "n_envs": 4}))[0]
    cpu = 1e-3 if gpu_is_faster else 1e12
    crossover = timing.measure_device(config, cpu, "a card", "cpu")
    assert crossover.gpu > 0 and (crossover.network, crossover.units, crossover.n_envs) == ("lstm", 64, 4)
    choice = selection.choose_measured("a card", "lstm", 64, 4, selection.read_crossovers())
    assert choice.device == ("cuda" if gpu_is_faster else "cpu")


def test_the_comparison_is_part_of_what_is_printed(monkeypatch, capsys):
    measured = selection.Crossover("a card", "lstm", 64, 16, cpu=1_000.0, gpu=5_000.0)
    monkeypatch.setattr(timing, "installed_card", lambda: "a card")
    monkeypatch.setattr(timing, "measure_device", lambda *_: measured)
    result = timing.bench(BenchRequest(settings={**FEW, "n_envs": 16}, threads=1, seconds=0.1))
    assert result["flags"].endswith("--device cuda") and result["device"]["gpu"] == 5_000.0
    assert result["learning_seconds"] == pytest.approx(2_000 / 5_000, abs=0.1)
    timing.print_timed(result)
    assert "5,000 steps a second on a card, 1,000 on the CPU" in capsys.readouterr().out.replace("\n", " ")


def test_a_plan_says_how_long_its_line_took(ngym):
    """Learning in torch is beyond the arithmetic, but the line was measured."""
    command = ("run", "--task", "ChangingBandit-v0", "--dry-run")
    row = per_task.measured("ChangingBandit-v0")
    assert json.loads(ngym(*command, "--json").out)["seconds"] == pytest.approx(row.seconds)
    half = ngym(*command, "--timesteps", str(row.steps // 2), "--json")
    assert json.loads(half.out)["seconds"] == pytest.approx(row.seconds / 2, rel=0.01)


def test_a_plan_says_that_correct_actions_are_shown(ngym):
    command = ("run", "--task", "DynamicForaging-v0", "--dry-run")
    assert "learns from reward and the correct action of each step" in ngym(*command).out
    rewards = ngym(*command, "--set", "imitation=0")
    assert rewards.code == 0 and "correct action" not in rewards.out
