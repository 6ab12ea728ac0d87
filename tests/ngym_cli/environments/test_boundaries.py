"""Resets of the recurrent state where a session or a block begins."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest

from ngym_cli.agents.acting import rollout
from ngym_cli.agents.defaults import prepare
from ngym_cli.agents.from_config import build_batch, build_model, build_venv
from ngym_cli.agents.trained import agent_for
from ngym_cli.config.model import from_dict
from ngym_cli.environments.trial_batch import batch_of
from ngym_cli.errors import UserError
from ngym_cli.evaluation import fresh_trials
from ngym_cli.runs.trial_table import read_trials
from ngym_cli.training.main_loop import train
from tests.ngym_cli.sameness import resumed

BANDIT = {"task": "ChangingBandit-v0", "wrappers": [], "task_args": {"session": 5}, "reset_state": "session"}
TWO_STEP = {"task": "TwoStep-v0", "task_args": {"session": 5}, "reset_state": "session"}
SHORT = {"n_envs": 4, "units": 8, "timesteps": 2000, "hyperparameters": {"n_steps": 32}, "evaluation": {"trials": 50}}
BLOCKS = {"task": "IBLBlock-v0", "reset_state": "block"}
BIASED = {"task": "RDM-v0", "wrappers": "side_bias:probs=0.2/0.8//0.8/0.2:block_dur=3", "reset_state": "block"}
RAGGED = {"alg": "supervised", "timing": {"stimulus": "uniform:200:900"}}
HISTORY = {"task": "RDM-v0", "wrappers": "trial_history:block_dur=3", "reset_state": "block"}


def made(settings, n_envs=3):
    return build_venv(prepare(from_dict(settings))[0], n_envs)


def stepped(venv, steps):
    """Return dones (steps, environments), and the reports of trials of environment 0 with the step of their end."""
    dones, trials = [], []
    for step in range(steps):
        dones.append(venv.step(np.zeros(venv.num_envs, int))[2])
        if venv.finished is not None and 0 in venv.finished["env"]:
            at = venv.finished["env"].tolist().index(0)
            trials.append({"step": step, **{name: column[at] for name, column in venv.finished.items()}})
    return np.array(dones), trials


@pytest.mark.parametrize(
    ("settings", "column", "trials"),
    [
        (BANDIT, "session_trial", 30),
        (TWO_STEP, "session_trial", 30),
        (BLOCKS, "block", 900),
        (BIASED, "side_bias_block", 20),
        (HISTORY, "trial_history_block", 20),
    ],
    ids=lambda value: value["task"] if isinstance(value, dict) else None,
)
def test_the_state_resets_exactly_before_the_first_trial_of_a_session_or_block(settings, column, trials):
    venv = made(settings)
    venv.seed(1)
    venv.reset()
    dones, result = stepped(venv, trials * (23 if settings["task"] == "RDM-v0" else 2))
    labels = [trial[column] for trial in result]
    first = [later == 0 if column == "session_trial" else later != earlier for earlier, later in pairwise(labels)]
    assert any(first) and not all(first)
    assert [dones[trial["step"], 0] for trial in result[:-1]] == first
    between = np.delete(dones[:, 0], [trial["step"] for trial in result])
    assert not between.any()


@pytest.mark.parametrize("settings", [BANDIT, TWO_STEP, BIASED], ids=lambda given: given["task"])
def test_a_restored_batch_resets_where_the_saved_batch_would(settings):
    venv, again = made(settings), made(settings)
    venv.seed(2)
    venv.reset()
    stepped(venv, 37)
    batch_of(again).set_state(batch_of(venv).state())
    expected, _ = stepped(venv, 120)
    result, _ = stepped(again, 120)
    np.testing.assert_array_equal(result, expected)
    assert result.any()


@pytest.mark.parametrize(("word", "alike"), [("session", True), ("never", False)])
def test_an_agent_begins_every_session_in_the_same_state(word, alike):
    config, properties = prepare(from_dict({**BANDIT, "reset_state": word}))
    policy = build_model(config, build_venv(config, 1)).policy
    venv = build_batch(config, 2)
    venv.seed(0)
    steps = list(islice(rollout(venv, agent_for(policy, 0, True)), 20))
    first = [np.array(step.act.activity[0]) for step in steps[::5]]
    assert all(np.array_equal(single, first[0]) for single in first) is alike
    result = fresh_trials.evaluate(policy, config, properties, fresh_trials.EvaluationSettings(400))
    assert result.summary["reset_state"] == word and result.table["linked"].all()


def test_the_state_resets_at_the_sessions_of_the_present_stage(tmp_path):
    stages = [{"trials": 200, "task_args": {"session": 5}}, {"task_args": {"session": 7}}]
    run = train(from_dict({**BANDIT, "stages": stages, **SHORT}), tmp_path, "staged").run
    assert run.manifest()["status"] == "finished" and len(run.manifest()["stages"]) == 2
    table = read_trials(run.path / "trials")
    assert set(table["session_trial"].astype(int)) == set(range(7))


@pytest.mark.parametrize("network", ["lstm", "gru"])
def test_supervised_sequences_end_at_blocks_and_states_begin_anew(network):
    small = {"batch_size": 5, "seq_len": 50, "n_updates": 1}
    settings = {**BIASED, **RAGGED, "network": network, "units": 8, "hyperparameters": small}
    config = prepare(from_dict(settings))[0]
    model = build_model(config, build_venv(config, 2))
    steps, ended = np.zeros(5, int), 0
    for _ in range(8):
        before = tuple(array.clone() for array in model.carried_state)
        begins = np.array([stream.begins for stream in model.streams])
        material, sequences = model.batch()
        ended += begins.sum()
        assert not any(array[:, begins].any() for array in model.carried_state)
        for array, old in zip(model.carried_state, before, strict=True):
            assert (array[:, ~begins] == old[:, ~begins]).all()
        assert not material.begins.reshape(-1, 5)[1:].any()
        carried = tuple(array.clone() for array in model.carried_state)
        compiled, numbers = model.gradient(material, sequences)
        compiled, after = compiled.clone(), tuple(array.clone() for array in model.carried_state)
        taught, model.compiled, model.carried_state = model.compiled, None, carried
        plain, again = model.gradient(material, sequences)
        assert np.allclose(compiled, plain, atol=1e-5) and np.allclose(numbers, again, atol=1e-5)
        assert all(
            np.allclose(first, second, atol=1e-5) for first, second in zip(after, model.carried_state, strict=True)
        )
        model.compiled = taught
        steps += sequences.length
    assert ended > 10 and len(set(steps)) > 1


def test_supervised_training_with_resets_at_blocks_resumes_exactly(tmp_path):
    more = {"alg": "supervised", "hyperparameters": {"batch_size": 4, "seq_len": 40, "n_updates": 2}}
    config = from_dict({**BIASED, **SHORT, **more, "timesteps": 4000, "checkpoint": {"every": 500}})
    resumed(config, tmp_path, 2000)


def test_a_task_with_sessions_but_no_blocks_names_the_valid_words():
    with pytest.raises(UserError, match="report no blocks; expected auto, trial, session or never"):
        prepare(from_dict({**BANDIT, "reset_state": "block"}))
