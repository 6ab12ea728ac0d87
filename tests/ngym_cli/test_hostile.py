"""A run folder from a stranger can be used like any other; a damaged or hostile one is refused in one line."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.numpy import load_file, save_file

from ngym_cli.agents import checkpoints

WEIGHTS = "model/weights.safetensors"
TASK_CODE = "open('was_here', 'w').close()\nclass Task:\n    def __init__(self, **kwargs):\n        pass\n"


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __reduce__(self):
        return os.system, ("touch was_here",)


@pytest.fixture
def folder(run_folder, tmp_path):
    """A copy of a run at a place where listings find it."""
    return shutil.copytree(run_folder, tmp_path / "runs/RDM-v0/recurrent_ppo/stranger")


def edit_json(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def edit_config(folder, old, new):
    text = (folder / "config.toml").read_text()
    assert old in text
    (folder / "config.toml").write_text(text.replace(old, new, 1))


def pickled_weights(folder):
    torch.save({"lstm.weight": Bomb()}, folder / WEIGHTS)


def raw_pickle(folder):
    (folder / WEIGHTS).write_bytes(pickle.dumps(Bomb()))


def link_out(folder):
    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).symlink_to("/etc/passwd")


def folder_link_out(folder):
    shutil.rmtree(folder / "eval")
    (folder / "eval").symlink_to("/tmp")


def relative_link_out(folder):
    (folder / "trials/part-000009.parquet").symlink_to("../../../../../../secret.parquet")


def fifo(folder):
    (folder / "model/model.json").unlink()
    os.mkfifo(folder / "model/model.json")


def gigantic_shape(folder):
    header = json.dumps({"x": {"dtype": "F32", "shape": [1 << 40, 1 << 20], "data_offsets": [0, 1 << 62]}}).encode()
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 5000000)


def gigantic_header(folder):
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", 1 << 60) + b"{}" * 1000000)


def gigantic_network(folder):
    edit_config(folder, "units = 16", "units = 60000")


def gigantic_period(folder):
    edit_config(folder, "stimulus = 300", "stimulus = 1e18")


def nan_weights(folder):
    tensors = load_file(folder / WEIGHTS)
    next(iter(tensors.values())).flat[0] = np.nan
    save_file(tensors, folder / WEIGHTS)


def other_shapes(folder):
    tensors = load_file(folder / WEIGHTS)
    name = next(iter(tensors))
    tensors[name] = np.zeros((3, *tensors[name].shape), np.float32)
    save_file(tensors, folder / WEIGHTS)


def parquet_bomb(folder):
    rows = pa.array(np.zeros(25_000_000, np.int8))
    pq.write_table(pa.table({"trial": rows}), folder / "trials/part-000000.parquet", compression="zstd")


def words_bomb(folder):
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), pa.array(["x" * 5_000_000]))
    pq.write_table(pa.table({"outcome": words}), folder / "trials/part-000000.parquet", compression="zstd")


def pickled_trials(folder):
    (folder / "trials/part-000000.parquet").write_bytes(pickle.dumps(Bomb()))


def large_toml(folder):
    with (folder / "config.toml").open("a") as file:
        file.write("# " + "x" * 10_000_000)


def deep_toml(folder):
    with (folder / "config.toml").open("a") as file:
        file.write("[deep]\nx = " + "[" * 50_000 + "]" * 50_000)


def deep_keys(folder):
    (folder / "config.toml").write_text(".".join("a" * 200_000) + " = 1")


def deep_json(folder):
    (folder / "model/model.json").write_text("[" * 1_000_000)


def deep_json_closed(folder):
    (folder / "manifest.json").write_text('{"status": ' + "[" * 900 + "]" * 900 + "}")


def long_number(folder):
    (folder / "model/model.json").write_text('{"format": ' + "1" * 100_000 + "}")


def no_utf8(folder):
    (folder / "manifest.json").write_bytes(b'{"status": "\xff\xfe\x80"}')


def no_utf8_config(folder):
    (folder / "config.toml").write_bytes(b'task = "\xc3\x28"')


def code_as_task(folder):
    (folder.parents[3] / "evil.py").write_text(TASK_CODE)
    edit_config(folder, 'task = "RDM-v0"', 'task = "evil.py:Task"')


def code_in_a_wrapper(folder):
    (folder.parents[3] / "evil.py").write_text(TASK_CODE)
    edit_config(folder, "wrappers = [", 'wrappers = [{name = "combine", task2 = "evil:Task-v0"},')


def files_by_a_wrapper(folder):
    edit_config(folder, "wrappers = [", 'wrappers = [{name = "monitor"},')


def lacking(name):
    return lambda folder: (folder / name).unlink()


def no_end(folder):
    (folder / "manifest.json").write_text("{")


def unknown_status(folder):
    (folder / "manifest.json").write_text('{"status": "unheard of"}')


EVERYWHERE = [
    (no_end, "plot", "manifest.json"),
    (unknown_status, "plot", "status"),
    *((lacking(name), "eval", name.rpartition("/")[2]) for name in ("config.toml", WEIGHTS, "model/model.json")),
    (pickled_weights, "eval", "not a safetensors file"),
    (raw_pickle, "eval", "safetensors"),
    (link_out, "eval", "leads out of its folder"),
    (folder_link_out, "eval", "leads out of its folder"),
    (relative_link_out, "plot", "leads out of its folder"),
    (fifo, "eval", "not a regular file"),
    (gigantic_shape, "eval", "not a safetensors file"),
    (gigantic_header, "eval", "not a safetensors file"),
    (gigantic_network, "eval", "too small for a network"),
    (gigantic_period, "eval", "at most 10,000,000 ms"),
    (nan_weights, "eval", "not finite"),
    (other_shapes, "eval", "does not fit"),
    (parquet_bomb, "plot", "25,000,000 rows"),
    (words_bomb, "plot", "letters"),
    (pickled_trials, "plot", "damaged trial table"),
    (large_toml, "eval", "bytes"),
    (deep_toml, "eval", "deep"),
    (deep_keys, "eval", "the limit is 64"),
    (deep_json, "eval", "deep"),
    (deep_json_closed, "plot", "deep"),
    (long_number, "eval", "damaged"),
    (no_utf8, "plot", "UTF-8"),
    (no_utf8_config, "eval", "UTF-8"),
    (code_as_task, "eval", "--trust"),
    (code_in_a_wrapper, "eval", "--trust"),
    (files_by_a_wrapper, "eval", "--trust"),
]


@pytest.mark.parametrize(("attack", "command", "says"), EVERYWHERE, ids=lambda value: getattr(value, "__name__", ""))
def test_a_hostile_folder_is_refused(ngym, folder, tmp_path, attack, command, says):
    attack(folder)
    result = ngym(command, folder)
    assert result.code == 2, result
    assert result.err.count("\n") == 1
    assert says in result.err
    assert len(ngym("list", "runs", "--json").document) == 1
    resumed = ngym("run", "--resume", folder)
    assert resumed.code == 2
    assert not list(tmp_path.rglob("was_here"))


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "..", "a/b", ".hidden", "a\0b"])
def test_names_stay_inside_their_folder(ngym, folder, tmp_path, name):
    for command in (["eval", folder, "--trials", "10"], ["run", "--task", "RDM-v0"]):
        result = ngym(*command, "--name", name)
        assert result.code == 2
        assert result.err.count("\n") == 1
    assert not (tmp_path / "outside").exists()


def test_task_code_of_a_trusted_record_is_used(ngym, folder, tmp_path):
    code_as_task(folder)
    result = ngym("eval", folder, "--trust")
    assert result.code == 2
    assert "not a trial-based task" in result.err
    assert (tmp_path / "was_here").exists()


def test_a_configuration_file_does_not_import_code_unasked(ngym, tmp_path):
    (tmp_path / "evil.py").write_text(TASK_CODE)
    (tmp_path / "run.toml").write_text("task = 'evil.py:Task'")
    assert "--trust" in ngym("run", "--config", "run.toml").err
    assert "--trust" in ngym("run", "--smoke", "--config", "run.toml").err
    assert not (tmp_path / "was_here").exists()
    assert "trial-based" in ngym("run", "--config", "run.toml", "--task", "evil.py:Task").err
    assert (tmp_path / "was_here").exists()


def test_a_record_cannot_write_to_the_terminal(ngym, folder):
    edit_json(folder / "manifest.json", task="\x1b]0;owned\x07[/red][link=x]", started="\u202e", performance={"a": [1]})
    result = ngym("list", "runs")
    assert result.code == 0
    assert "\x1b" not in result.out and "\x07" not in result.out
    (folder / "manifest.json").write_text('{"status": "\x1b[2J"}')
    assert "\x1b" not in ngym("plot", folder).err


def reseal(path):
    """Give a checkpoint the checksums of its present files, as an attacker would."""
    names = (checkpoints.WEIGHTS, checkpoints.ARRAYS)
    edit_json(path / checkpoints.STATE, sha256={name: checkpoints.digest(path / name) for name in names})


def edit_state(path, change):
    state = json.loads((path / checkpoints.STATE).read_text())
    change(state)
    (path / checkpoints.STATE).write_text(json.dumps(state))


def checkpoint_pickle(path):
    torch.save({"x": Bomb()}, path / checkpoints.ARRAYS)
    reseal(path)


def checkpoint_nan(path):
    tensors = load_file(path / checkpoints.WEIGHTS)
    next(iter(tensors.values())).flat[0] = np.inf
    save_file(tensors, path / checkpoints.WEIGHTS)
    reseal(path)


def checkpoint_bits(path):
    (path / checkpoints.ARRAYS).write_bytes((path / checkpoints.ARRAYS).read_bytes()[:-10])


def checkpoint_deep(path):
    (path / checkpoints.STATE).write_text('{"format": 1, "step": ' + "[" * 100_000 + "]" * 100_000 + "}")


def checkpoint_block(path):
    edit_state(path, lambda state: [env["trials"].update(n=1 << 30) for env in state["environments"]["envs"]])


def checkpoint_sizes(path):
    edit_state(path, lambda state: [env["trials"].update(sizes=[1 << 39] * 2) for env in state["environments"]["envs"]])


def checkpoint_next(path):
    edit_state(path, lambda state: state["environments"]["envs"][3]["trials"].update(next=-1))


def checkpoint_before(path):
    edit_state(path, lambda state: state["environments"]["envs"][3]["trials"].pop("before"))


def checkpoint_counters(path):
    edit_state(path, lambda state: state["learner"]["counters"].update(policy=1))


def checkpoint_environments(path):
    edit_state(path, lambda state: state["environments"]["envs"].pop())


def checkpoint_missing(path):
    (path / checkpoints.ARRAYS).unlink()


def checkpoint_no_utf8(path):
    (path / checkpoints.STATE).write_bytes(b"\xff\xff")


def checkpoint_optimizer(path):
    edit_state(path, lambda state: state["learner"]["optimizer"]["entries"].append([10**9, "../../x"]))


CHECKPOINTS = [
    (checkpoint_pickle, "not a safetensors file"),
    (checkpoint_nan, "not finite"),
    (checkpoint_bits, "checksum"),
    (checkpoint_deep, "damaged"),
    (checkpoint_block, "number of trials in the block"),
    (checkpoint_sizes, "size of a block"),
    (checkpoint_next, "next trial"),
    (checkpoint_before, "does not fit"),
    (checkpoint_counters, "counters"),
    (checkpoint_environments, "environments"),
    (checkpoint_missing, "missing"),
    (checkpoint_no_utf8, "UTF-8"),
    (checkpoint_optimizer, "does not fit"),
]


@pytest.mark.parametrize(("attack", "says"), CHECKPOINTS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_hostile_checkpoint_is_refused(ngym, interrupted, tmp_path, attack, says):
    folder = shutil.copytree(interrupted, tmp_path / "run")
    for path in checkpoints.resumable_in(folder / checkpoints.CHECKPOINTS_FOLDER):
        attack(path)
    result = ngym("run", "--resume", folder)
    assert result.code == 2, result
    lines = result.err.strip().splitlines()
    assert says in lines[-1]
    assert all(line.startswith(("ngym:", "training")) for line in lines)
    assert not list(tmp_path.rglob("was_here"))


def craft(path, name, change):
    """Change one saved array of the environments."""
    tensors = checkpoints.read(path).tensors
    arrays = {key: value.numpy().copy() for key, value in tensors.items() if not key.startswith("policy/")}
    edit_state(path, lambda state: state.pop("joined"))  # as earlier versions wrote it, each array by itself
    key = next(key for key in arrays if key.startswith("environments/") and key.endswith(name))
    arrays[key] = change(arrays[key])
    save_file(arrays, path / checkpoints.ARRAYS)
    reseal(path)


@pytest.fixture(scope="module")
def in_a_trial(tmp_path_factory):
    """A run whose trials depend on the agent, so that checkpoints have the rows of the current trial."""
    from tests.ngym_cli.conftest import configuration, interrupt

    config = configuration(task="MatchingPenny-v0", timing={})
    return interrupt(config, tmp_path_factory.mktemp("trial"), "cut", 3000).path


PLACES = ["batch/0", "batch/1"]  #: the current trial of each environment, and the step in it
TRIAL = "trials/trial/pairs"  #: the current trial where trials are not made ahead: entries in the order of CONTENTS
LENGTH, EVENT, GO = f"{TRIAL}/3/1/value", f"{TRIAL}/5/1/pairs/4/1/value", f"{TRIAL}/6/1/value"


def test_the_entries_of_trials_that_are_damaged_are_what_they_are_called(in_a_trial):
    saved = checkpoints.latest(in_a_trial / checkpoints.CHECKPOINTS_FOLDER)[0]
    trial = dict(saved.environments["envs"][0]["trials"]["trial"]["pairs"])
    assert list(trial)[3] == "length" and list(trial)[6] == "go"
    assert trial["fields"]["pairs"][4][0] == "event"


def filled(number):
    return lambda array: np.full_like(array, number)


def cut_off(array):
    return array[:-1]


def of_floats(array):
    return array.astype(np.float64)


def one_axis_more(array):
    return array[None]


OTHER = (cut_off, of_floats, one_axis_more)
NUMBERS = (10**6, 2**30, -(2**30), -1, 2**63 - 1)
#: Saved arrays with values outside of the trials, and of another shape or type, in either kind of run.
DAMAGED = [
    *(("interrupted", name, filled(number)) for name in PLACES for number in NUMBERS),
    *(("in_a_trial", LENGTH, filled(number)) for number in (0, *NUMBERS)),
    *(("in_a_trial", EVENT, filled(number)) for number in (5, 6, 7)),
    *(("interrupted", name, change) for name in (*PLACES, "seen/0") for change in OTHER),
    *(("in_a_trial", name, change) for name in (LENGTH, EVENT, GO) for change in OTHER),
    *(("interrupted", "envs/3/layers/3/attributes/theta/value", lambda a, k=k: a[k]) for k in (slice(0), (None,) * 3)),
]


@pytest.mark.parametrize(("run", "name", "change"), DAMAGED)
def test_an_array_that_does_not_fit_its_run_is_refused(ngym, request, tmp_path, run, name, change):
    folder = shutil.copytree(request.getfixturevalue(run), tmp_path / "run")
    for path in checkpoints.resumable_in(folder / checkpoints.CHECKPOINTS_FOLDER):
        craft(path, name, change)
    result = ngym("run", "--resume", folder)
    assert result.code == 2 and "does not fit its run" in result.err.strip().splitlines()[-1], result


@pytest.mark.parametrize("command", ["eval", "watch", "export"])
def test_an_empty_configuration_is_damaged(ngym, folder, command):
    (folder / "config.toml").write_text("")
    result = ngym(command, folder)
    assert result.code == 2 and "lacks settings of the run" in result.err, result
