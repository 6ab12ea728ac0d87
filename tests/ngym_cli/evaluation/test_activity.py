"""What is recorded belongs to the trials beside it, and a file from a stranger is plain data or refused."""

from __future__ import annotations

import itertools
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from neurogym.behaviour.entries import numbers
from neurogym.behaviour.files import read_source
from ngym_cli.agents.defaults import read_config
from ngym_cli.agents.saving import load_policy
from ngym_cli.environments import properties as of_task
from ngym_cli.errors import UserError
from ngym_cli.evaluation import fresh_trials
from ngym_cli.runs import RunFolder
from ngym_cli.runs.folder import EXPORTS
from ngym_cli.runs.population_parts import condition_names
from ngym_cli.runs.populations import columns_of, period_spans, read_parts, read_population
from ngym_cli.runs.recordings import ACTIVITY_FILE, QUANTITIES, Recording
from ngym_cli.runs.trial_table import read_trials


@pytest.fixture(scope="module")
def recorded_run(run_folder, tmp_path_factory):
    """A recorded evaluation of everything there is."""
    run = RunFolder(run_folder)
    config = read_config(run)
    properties = of_task.inspect(config)
    policy, _ = load_policy(run, config)
    folder = tmp_path_factory.mktemp("recorded")
    protocol = fresh_trials.EvaluationSettings(301, 3, record=QUANTITIES, folder=folder)
    result = fresh_trials.evaluate(policy, config, properties, protocol)
    return result.table, Recording(folder), policy, folder


def test_each_trial_has_its_steps(recorded_run):
    table, recording, _, _ = recorded_run
    assert len(recording) == len(table["trial"]) == 301
    assert np.array_equal(np.diff(recording.offsets), table["steps"])
    assert recording.quantities == QUANTITIES
    assert all(len(recording[name]) == recording.offsets[-1] for name in QUANTITIES)


def test_last_action_and_summed_reward_are_those_of_the_table(recorded_run):
    table, recording, _, _ = recorded_run
    last = recording.offsets[1:] - 1
    assert np.array_equal(recording["actions"][last], table["choice"])
    sums = np.add.reduceat(recording["rewards"], recording.offsets[:-1])
    assert np.allclose(sums, table["reward"], atol=1e-5)


def test_activity_is_what_the_network_computes_from_the_recorded_observations(recorded_run):
    _, recording, policy, _ = recorded_run
    observations, activity = recording["observations"], recording["activity"]
    for k in (0, 7, 300):
        rows = slice(*recording.offsets[k : k + 2])
        state = policy.initial_state(1)
        for seen, expected in zip(observations[rows], activity[rows], strict=True):
            act, state = policy.actor().act(seen[None], state)
            assert np.allclose(act.activity[0], expected, atol=1e-5)


def test_the_stimulus_is_where_the_events_say(recorded_run):
    table, recording, _, _ = recorded_run
    onset = (recording.events["decision"] / recording.dt).astype(int)
    fixation = recording["observations"][recording.offsets[:-1] + onset, 0]
    assert np.all(fixation == 0)
    assert np.array_equal(recording.events["stimulus"], table["onset_stimulus"])


def test_logits_choose_the_actions(recorded_run):
    _, recording, _, _ = recorded_run
    assert np.array_equal(recording["logits"].argmax(axis=1), recording["actions"])


def test_a_link_or_data_elsewhere_is_refused(recorded_run, tmp_path):
    for name, make in {
        "soft": lambda file: file.__setitem__("values", h5py.SoftLink("/activity")),
        "elsewhere": lambda file: file.__setitem__("values", h5py.ExternalLink("/etc/passwd", "x")),
        "external": lambda file: file.create_dataset("values", (4,), "f4", external=[("/etc/hostname", 0, 16)]),
        "huge": lambda file: file.create_dataset("values", (10**12,), "f4", chunks=(1024,)),
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        with h5py.File(folder / ACTIVITY_FILE, "w") as file:
            file.attrs["dt"] = 100.0
            file["offsets"] = np.array([0, 4])
            file["activity"] = np.zeros((4, 2), np.float32)
            make(file)
        with pytest.raises(UserError, match=r"copy|announces"):
            Recording(folder)


def test_a_recording_of_another_tool_takes_no_data_from_elsewhere(tmp_path):
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["data"] = np.ones((20, 2))
    with h5py.File(tmp_path / "session.nwb", "w") as file:
        file["intervals/trials/start_time"], file["intervals/trials/stop_time"] = [0.0, 1.0], [0.9, 1.9]
        file["processing/ecephys/activity/timestamps"] = np.arange(20) / 10
        file["processing/ecephys/activity/data"] = h5py.ExternalLink("secret.h5", "data")
    with pytest.raises(UserError, match="data is a link"):
        read_population(tmp_path / "session.nwb", ())


def test_a_damaged_file_is_one_clear_message(tmp_path):
    (tmp_path / ACTIVITY_FILE).write_bytes(b"not HDF5")
    with pytest.raises(UserError, match="damaged recording"):
        Recording(tmp_path)


@pytest.mark.usefixtures("one_figure")
def test_activity_is_compared_with_a_recording_by_period(ngym, run_folder, tmp_path):
    run = shutil.copytree(run_folder, tmp_path / "run")
    assert ngym("eval", run, "--trials", "300", "--record", "activity", "--export", "nwb", "--name", "r").code == 0
    nwb = shutil.copy(run / "eval" / "r" / "session.nwb", tmp_path / "session.nwb")
    compared = ngym("eval", run, "--trials", "300", "--seed", "1", "--compare-activity", nwb, "--json")
    result = compared.document["activity"]
    rows = {(row["part"], row["measure"]): row for row in result["agreement"]}
    assert result["by"] == ["coh", "ground_truth"] and {piece for piece, _ in rows} >= {"trial", "stimulus"}
    assert rows["trial", "prediction"]["corrected"] > 0.8 and rows["trial", "cka"]["value"] > 0.8
    for measure in ("dsa", "procrustes", "crossnobis"):  # the network itself: as near as halves of the recording
        row = rows["trial", measure]
        assert row["value"] > row["halves"] - max(0.02, 3 * row["spread"]), row
    assert Path(result["figure"]).stat().st_size > 5000 and list((run / "eval").glob("*/activity_comparison.json"))
    assert ngym("report", run).code == 0
    page = (run / "report.html").read_text()
    assert "Activity beside session" in page and 'id="activity-figure-' in page
    assert f"{rows['trial', 'cka']['value']:.4g}"[:4] in page


def test_averages_in_hdf5_are_compared_and_what_is_missing_is_said(ngym, run_folder, tmp_path):
    run, rng = shutil.copytree(run_folder, tmp_path / "run"), np.random.default_rng(0)
    averages = {
        "activity": rng.normal(size=(4, 9, 5)),
        "condition_coh": [0, 6.4, 25.6, 51.2],
        "period_stimulus": [1, 8],
    }
    for name, changes in {
        "fine": {},
        "flat": {"activity": np.zeros((4, 9))},
        "other": {"condition_coh": [1, 2, 3, 4]},
        "short": {"condition_coh": [0, 6.4]},
        "none": {"condition_coh": None},
        "masked": {"mask": np.ones(4)},
        "early": {"period_stimulus": [-5, 8]},
        "late": {"period_stimulus": [1, 10]},
        "seen": {"inputs": np.ones(9)},
    }.items():
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            for key, value in {**averages, **changes}.items():
                if value is not None:
                    file[key] = value
    requested = ("eval", run, "--trials", "200", "--overwrite", "--compare-activity")
    visible = ngym(*requested, tmp_path / "fine.h5")
    assert visible.code == 0 and "single row for each condition" in visible.out
    for name, words in {
        "flat": "must have the shape (trials, steps, units)",
        "other": "expected two or more shared conditions",
        "short": "has 2 entries, expected 4",
        "none": "has no condition of the trials",
        "missing": "no such recording",
        "early": "must lie between 0 and 9",
        "late": "must lie between 0 and 9",
        "masked": "mask has the shape (4,)",
        "seen": "inputs has the shape (9,)",
    }.items():
        refused = ngym(*requested, tmp_path / f"{name}.h5")
        assert refused.code == 2 and words in refused.err and refused.err.count("\n") == 1


def whole_and_periods(recording, table):
    """The activity of each trial, and of each period of it."""
    spans = {"": [slice(a, b) for a, b in itertools.pairwise(recording.offsets)]}
    spans |= period_spans(table, recording.offsets, recording.dt)
    long = {name: [span for span in each if span.stop - span.start > 1] for name, each in spans.items()}
    return {name: [recording["activity"][span] for span in each] for name, each in long.items() if each}


@pytest.mark.parametrize("form", EXPORTS)
def test_every_format_that_is_written_is_read_back_whole(ngym, run_folder, tmp_path, form):
    run = shutil.copytree(run_folder, tmp_path / "it")
    assert ngym("eval", run, "--trials", "30", "--record", "activity", "--export", form, "--name", "x").code == 0
    folder, path = run / "eval/x", run / "eval/x" / EXPORTS[form]
    table, recording = read_trials(folder / "trials.parquet"), Recording(folder)
    if form == "csv":
        columns = read_source(path).table
        assert {name for name in table if name not in columns} == set()
        for name in ("coh", "choice", "ground_truth", "reward", "rt", "onset_stimulus", "period_stimulus"):
            assert np.allclose(numbers(columns[name]), table[name].astype(float), equal_nan=True), name
        return
    assert {"coh", "ground_truth", "onset_stimulus", "period_stimulus"} <= set(columns_of(path))
    parts = read_parts(path, ["coh"])
    for name, trials in whole_and_periods(recording, table).items():
        assert len(parts[name].trials) == len(trials), name
        for read, expected in zip(parts[name].trials, trials, strict=True):
            assert np.allclose(read, expected), name
    assert list(parts[""].condition) == list(condition_names(table, ["coh"], 30))


@pytest.mark.parametrize("blocks", [4, pytest.param(500, marks=pytest.mark.long)])
def test_a_full_disk_ends_a_recording_with_one_line(run_folder, tmp_path, blocks):
    """The kernel refuses every write beyond a size, as a full disk does."""
    run = shutil.copytree(run_folder, tmp_path / "it")
    line = ["eval", run, "--trials", "60", "--record", "activity,spikes", "--export", "npz,nwb", "--name", "x"]

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (blocks << 10, blocks << 10))

    command = [sys.executable, "-m", "ngym_cli", *map(str, line)]
    ended = subprocess.run(command, cwd=tmp_path, preexec_fn=limit, check=False, capture_output=True, text=True)
    assert ended.returncode == 2, ended
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ngym: {run}/eval/x/") and last.endswith("File too large") and ".ngym-" not in last
    assert "Traceback" not in ended.stderr and not list(run.rglob("*.ngym-*"))
    assert not (run / "eval/x").exists() or (run / "eval/x/summary.json").is_file()
