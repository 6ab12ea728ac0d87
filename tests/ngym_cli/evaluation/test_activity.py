"""What is recorded belongs to the trials beside it, and a file from a stranger is plain data or refused."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from ngym_cli.agents.saving import load_policy
from ngym_cli.environments import facts as of_task
from ngym_cli.errors import UserError
from ngym_cli.evaluation import fresh_trials
from ngym_cli.runs import Run
from ngym_cli.runs.recordings import FILE, QUANTITIES, Recording


@pytest.fixture(scope="module")
def found(run_folder, tmp_path_factory):
    """A recorded evaluation of everything there is."""
    run = Run(run_folder)
    config = run.config()
    facts = of_task.inspect(config)
    policy, _ = load_policy(run, config)
    folder = tmp_path_factory.mktemp("recorded")
    protocol = fresh_trials.Protocol(record=QUANTITIES)
    result = fresh_trials.evaluate(policy, config, facts, 301, seed=3, protocol=protocol, folder=folder)
    return result.table, Recording(folder), policy, folder


def test_each_trial_has_its_steps(found):
    table, recording, _, _ = found
    assert len(recording) == len(table["trial"]) == 301
    assert np.array_equal(np.diff(recording.offsets), table["steps"])
    assert recording.quantities == QUANTITIES
    assert all(len(recording[name]) == recording.offsets[-1] for name in QUANTITIES)


def test_last_action_and_summed_reward_are_those_of_the_table(found):
    table, recording, _, _ = found
    last = recording.offsets[1:] - 1
    assert np.array_equal(recording["actions"][last], table["choice"])
    sums = np.add.reduceat(recording["rewards"], recording.offsets[:-1])
    assert np.allclose(sums, table["reward"], atol=1e-5)


def test_activity_is_what_the_network_computes_from_the_recorded_observations(found):
    _, recording, policy, _ = found
    observations, activity = recording["observations"], recording["activity"]
    for k in (0, 7, 300):
        rows = slice(*recording.offsets[k : k + 2])
        state = policy.initial_state(1)
        for seen, expected in zip(observations[rows], activity[rows], strict=True):
            act, state = policy.act(seen[None], state, np.zeros(1, bool), True)
            assert np.allclose(act.activity[0], expected, atol=1e-5)


def test_the_stimulus_is_where_the_events_say(found):
    table, recording, _, _ = found
    onset = (recording.events["decision"] / recording.dt).astype(int)
    fixation = recording["observations"][recording.offsets[:-1] + onset, 0]
    assert np.all(fixation == 0)
    assert np.array_equal(recording.events["stimulus"], table["onset_stimulus"])


def test_logits_choose_the_actions(found):
    _, recording, _, _ = found
    assert np.array_equal(recording["logits"].argmax(axis=1), recording["actions"])


def test_a_link_or_data_elsewhere_is_refused(found, tmp_path):
    for name, make in {
        "soft": lambda file: file.__setitem__("values", h5py.SoftLink("/activity")),
        "elsewhere": lambda file: file.__setitem__("values", h5py.ExternalLink("/etc/passwd", "x")),
        "external": lambda file: file.create_dataset("values", (4,), "f4", external=[("/etc/hostname", 0, 16)]),
        "huge": lambda file: file.create_dataset("values", (10**12,), "f4", chunks=(1024,)),
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        with h5py.File(folder / FILE, "w") as file:
            file.attrs["dt"] = 100.0
            file["offsets"] = np.array([0, 4])
            file["activity"] = np.zeros((4, 2), np.float32)
            make(file)
        with pytest.raises(UserError, match="refused"):
            Recording(folder)


def test_a_damaged_file_is_one_clear_message(tmp_path):
    (tmp_path / FILE).write_bytes(b"not HDF5")
    with pytest.raises(UserError, match="damaged recording"):
        Recording(tmp_path)
