"""When two runs are the same, and when a folder is whole: shared by the tests of resuming and of killing."""

from __future__ import annotations

import json
import signal
import tomllib

import numpy as np
import pyarrow.parquet as pq
from safetensors.numpy import load_file

from ngym_cli.runs.trial_table import read_trials
from ngym_cli.training.main_loop import resume, train
from tests.ngym_cli.conftest import interrupt

RESULTS = ("status", "steps", "trials", "performance", "performance_ci", "reward_per_trial", "chance", "ceiling")


def curves(folder):
    """Return TensorBoard's points, tag to a list of (step, value) in the order in which they were written."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
    from tensorboard.util.tensor_util import make_ndarray

    results = {}
    for path in sorted(folder.glob("events.out.tfevents.*"), key=lambda path: path.stat().st_mtime_ns):
        for event in EventFileLoader(str(path)).Load():
            for value in event.summary.value if event.HasField("summary") else ():
                if value.metadata.plugin_data.plugin_name == "scalars" and not value.tag.startswith("time/"):
                    results.setdefault(value.tag, []).append((event.step, float(make_ndarray(value.tensor))))
    return results


def same_table(first, second):
    """Say in which columns two trial tables differ, and where."""
    differing = [name for name in {*first, *second} if name not in first or name not in second]
    for name in (name for name in first if name in second):
        a, b = first[name], second[name]
        if a.dtype != b.dtype or a.shape != b.shape:
            differing.append(name)
        elif a.dtype == object:
            differing += [name] if any(not _same(x, y) for x, y in zip(a, b, strict=True)) else []
        elif not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
            differing.append(name)
    return differing


def _same(x, y):
    return np.array_equal(x, y) or (x != x and y != y)


def assert_same_run(single, different):
    """Hold that two run folders say the same, bit for bit: weights, trials, curves, results."""
    first, second = (load_file(folder / "model/weights.safetensors") for folder in (single, different))
    assert first.keys() == second.keys()
    assert [name for name in first if first[name].tobytes() != second[name].tobytes()] == []
    assert same_table(read_trials(single / "trials"), read_trials(different / "trials")) == []
    assert (
        same_table(
            read_trials(single / "eval/final/trials.parquet"), read_trials(different / "eval/final/trials.parquet")
        )
        == []
    )
    assert curves(single) == curves(different)
    records = [json.loads((folder / "manifest.json").read_text()) for folder in (single, different)]
    assert [
        (name, records[0][name], records[1][name]) for name in RESULTS if records[0][name] != records[1][name]
    ] == []
    assert (single / "config.toml").read_text() == (different / "config.toml").read_text()


def resumed(config, root, step, number=signal.SIGTERM, **how):
    """Interrupt a run at a step (or where the manifest of the whole run says) and resume it.

    Returns the uninterrupted run and the resumed one, which have been compared.
    """
    whole = train(config, root, "whole").run
    run = interrupt(config, root, "cut", step(whole.manifest()) if callable(step) else step, number)
    assert_whole(run.path)
    assert run.manifest()["exit_reason"] == signal.Signals(number).name
    assert resume(run, **how).status == "finished" and len(run.manifest()["resumed"]) == 1
    assert_same_run(whole.path, run.path)
    return whole, run


def assert_whole(folder):
    """Hold that every file of a run folder can be read, and that no trial is in it twice."""
    tomllib.loads((folder / "config.toml").read_text())
    for path in (path for path in folder.rglob("*") if path.is_file()):
        if any(piece.startswith(".") for piece in path.relative_to(folder).parts):
            continue
        if path.suffix == ".parquet":
            pq.read_table(path)
        elif path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".safetensors":
            load_file(path)
    trials = read_trials(folder / "trials").get("trial", np.zeros(0)) if (folder / "trials").is_dir() else np.zeros(0)
    assert np.array_equal(trials, np.arange(len(trials)))
