"""A row of the trial table belongs to the trial that the agent saw: checked against environments stepped one by one."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neurogym.envs import registration
from neurogym.vector import make_vec
from ngym_cli.agents.defaults import prepare
from ngym_cli.agents.from_config import build_venv
from ngym_cli.config.model import from_dict
from ngym_cli.config.tasks import find_task
from ngym_cli.environments.stack import make_env
from ngym_cli.errors import UserError
from ngym_cli.files.reading import read_parquet
from ngym_cli.runs.trial_recorder import TrialRecorder
from ngym_cli.runs.trial_table import concatenate, read_trials, write_table
from tests.neurogym.envs.test_reported import FIRST_STAGE

N_ENVS, STEPS = 5, 400

STACKS = [
    {"task": "RDM-v0", "wrappers": "pass_reward,pass_action", "timing": {"stimulus": 300, "decision": 300}},
    {"task": "RDM-v0", "wrappers": "reaction_time", "timing": {"stimulus": "uniform:200:800"}},
    {"task": "GoNogo-v0", "timing": {"delay": "choice:100:300"}},
    {"task": "ReadySetGo-v0"},
    {"task": "Bandit-v0"},
    {"task": "ReachingDelayResponse-v0"},
]


def stepped_alone(config, seeds, actions):
    """Return the trials of each environment as seen by stepping it alone: one dictionary per trial."""
    task, trials = find_task(config.task), []
    for env_index, seed in enumerate(seeds):
        env = make_env(task, config)
        env.reset(seed=seed)
        rewards, ours = [], []
        for step in range(STEPS):
            action = actions[step][env_index]
            _, reward, _, _, info = env.step(action)
            rewards.append(reward)
            if info["new_trial"]:
                ours.append(
                    {
                        "env": env_index,
                        "step": (step + 1) * N_ENVS,
                        "steps": len(rewards),
                        "reward": sum(rewards),
                        "choice": action,
                        "performance": info["performance"],
                        "outcome": info["outcome"],
                        "rt": info["rt"],
                        "info": {key: value for key, value in info["trial"].items() if np.ndim(value) == 0},
                    }
                )
                rewards = []
        trials.append(ours)
    return trials


@pytest.mark.parametrize("settings", STACKS, ids=lambda given: f"{given['task']} {given.get('wrappers', '')}")
def test_rows_are_those_of_environments_stepped_alone(settings, tmp_path):
    config, properties = prepare(from_dict(settings))
    venv = build_venv(config, N_ENVS)
    seeds = [int(seed) for seed in venv.seed(11)]
    venv.reset()
    recorder = TrialRecorder(tmp_path, config.task, properties.dt, N_ENVS, properties.rt_from)
    space, actions = properties.action_space, []
    space.seed(5)
    for step in range(STEPS):
        actions.append(np.array([space.sample() for _ in range(N_ENVS)]))
        venv.step(actions[-1])
        recorder.add(venv.finished, (step + 1) * N_ENVS)
        if step == STEPS // 2:
            recorder.flush()
    recorder.flush()

    table = read_trials(tmp_path)
    assert list(table["trial"]) == list(range(len(table["trial"])))
    assert len(list(tmp_path.glob("part-*.parquet"))) == 2
    for env_index, expected in enumerate(stepped_alone(config, seeds, actions)):
        rows = np.flatnonzero(table["env"] == env_index)
        assert len(rows) == len(expected)
        previous = None
        for row, trial in zip(rows, expected, strict=True):
            for name in ("step", "steps", "performance", "outcome"):
                assert table[name][row] == trial[name], name
            assert table["reward"][row] == pytest.approx(trial["reward"])
            assert table["length_ms"][row] == trial["steps"] * properties.dt
            np.testing.assert_allclose(table["choice"][row], trial["choice"])
            np.testing.assert_equal(table["rt"][row], trial["rt"])
            for name, value in trial["info"].items():
                assert table[name][row] == value, name
            if previous is None:
                assert np.all([item is None or item != item for item in (table["prev_outcome"][row],)])
            else:
                assert table["prev_outcome"][row] == previous["outcome"]
                np.testing.assert_allclose(table["prev_choice"][row], previous["choice"])
            previous = trial


def test_previous_trial_is_null_at_first_and_crosses_parts(tmp_path):
    recorder = TrialRecorder(tmp_path, "T", 10.0, 2)
    for step, env in enumerate([0, 1, 0, 1, 0]):
        recorder.add({"env": np.array([env]), "choice": np.array([step]), "outcome": np.array(["miss"], object)}, step)
        recorder.flush()
    table = pq.read_table(tmp_path)
    assert table.column("prev_choice").to_pylist() == [None, None, 0.0, 1.0, 2.0]
    assert table.column("prev_outcome").to_pylist() == [None, None, "miss", "miss", "miss"]
    assert table.column("trial").to_pylist() == [0, 1, 2, 3, 4]


def test_columns_that_only_some_trials_have_are_filled():
    joined = concatenate([{"a": np.array([1.0]), "b": np.array([2])}, {"a": np.array([3.0])}])
    np.testing.assert_equal(joined["b"], [2.0, np.nan])


def test_a_write_that_fails_leaves_nothing(tmp_path):

    with pytest.raises(AttributeError):
        write_table({"a": "no array"}, tmp_path / "part.parquet")
    assert not list(tmp_path.iterdir())


def test_a_damaged_part_is_named(tmp_path):
    (tmp_path / "part-000000.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(UserError, match="part-000000"):
        read_trials(tmp_path)


def test_threads_of_arrow_never_need_the_lock_of_python(tmp_path, monkeypatch):
    path, sources, ours = tmp_path / os.fsdecode(b"\xe9.parquet"), [], pq.ParquetFile
    write_table({"trial": np.arange(3)}, path)
    monkeypatch.setattr(pq, "ParquetFile", lambda source, **how: sources.append(source) or ours(source, **how))
    assert read_parquet(path).num_rows == 3
    assert sources and all(type(source) is pa.OSFile for source in sources)
    with pytest.raises(UserError, match="Is a directory"):
        read_parquet(tmp_path)


@pytest.mark.parametrize("task", [*FIRST_STAGE, "PerceptualDecisionMaking-v0"])
def test_the_table_of_trials_has_the_choices_of_the_agent_and_the_trials_before(task):
    n = 3
    env = make_vec(lambda: registration.make(task), n)
    recorder = TrialRecorder(None, task, 100, n)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    first, expected = [None] * n, [[] for _ in range(n)]
    for step in range(400):
        actions = rng.integers(1, 3, size=n)
        if task not in FIRST_STAGE:
            actions[rng.random(n) < 0.9] = 0
        first = [int(a) if f is None else f for a, f in zip(actions, first, strict=True)]
        *_, infos = env.step(actions)
        for i in np.flatnonzero(infos["new_trial"]):
            expected[i].append(first[i] if task in FIRST_STAGE else int(actions[i]))
            first[i] = None
        recorder.add(env.finished, step)
    table = recorder.collect()
    for i in range(n):
        ours = np.asarray(table["env"]) == i
        choice = np.asarray(table["choice"], dtype=float)[ours]
        assert choice.tolist() == expected[i] and len(set(expected[i])) > 1
        before = np.asarray(table["prev_choice"], dtype=float)[ours]
        assert np.isnan(before[0]) and before[1:].tolist() == expected[i][:-1]
        outcome = np.asarray(table["outcome"], dtype=object)[ours]
        assert np.asarray(table["prev_outcome"], dtype=object)[ours][1:].tolist() == outcome[:-1].tolist()
