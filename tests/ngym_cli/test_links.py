"""Folders and files of others: links that lead elsewhere are refused, and nothing is read or written there."""

from __future__ import annotations

import json
import shutil

import h5py
import numpy as np
import pytest

from ngym_cli.sweeps import folder as sweeps
from ngym_cli.sweeps import recipe

LINE = "choice,coh\n" + "\n".join(f"{k % 2},{k % 5 - 2}" for k in range(40)) + "\n"


@pytest.fixture
def outside(tmp_path):
    """A folder and a file of somebody else."""
    (tmp_path / "elsewhere/runs").mkdir(parents=True)
    (tmp_path / "elsewhere/secret.csv").write_text(LINE)
    (tmp_path / "elsewhere/file").write_text("")
    yield tmp_path / "elsewhere"
    assert (tmp_path / "elsewhere/file").read_text() == "" and not list((tmp_path / "elsewhere/runs").iterdir())


@pytest.fixture
def sweep(tmp_path):
    tables = {"run": {"task": "GoNogo-v0", "timesteps": 64, "n_envs": 2}}
    return sweeps.make(tmp_path / "sweeps", "it", recipe.build(tables, {"seed": [0, 1]})).path


@pytest.mark.parametrize("name", ["study.jsonl", "runs", "errors", "figures", "best.toml", "recipe.toml", "list.json"])
def test_a_sweep_with_a_link_is_refused(ngym, sweep, outside, name):
    (sweep / name).unlink(missing_ok=True)
    (sweep / name).symlink_to(outside / ("runs" if "." not in name else "file"))
    for line in (["sweep", "status", "it"], ["sweep", "resume", "it"], ["plot", "it"], ["plot", sweep]):
        result = ngym(*line)
        assert result.code == 2 and "leads out of its folder" in result.err, (line, result)
    rows = {row["id"]: row for row in json.loads(ngym("list", "sweeps", "--json").out)}
    assert rows["sweeps/it"]["status"] == "damaged"


def test_a_run_of_a_sweep_is_not_trained_elsewhere(ngym, sweep, outside, in_process):
    (sweep / "runs").mkdir()
    (sweep / "runs/GoNogo-v0").symlink_to(outside / "runs")
    result = ngym("sweep", "resume", "it")
    assert result.code == 1 and "leads out of its folder" in result.out + result.err, result


@pytest.mark.parametrize("content", [b"\x80\x04K\x01.", b"[" * 5000, b"1", b"", b"[]", b"null", b'{"a": 1}'])
@pytest.mark.parametrize("name", ["list.json", "study.jsonl"])
def test_a_damaged_sweep_hides_no_other(ngym, sweep, content, name):
    shutil.copytree(sweep, sweep.with_name("whole"))
    tables = {"run": {"task": "GoNogo-v0"}, "search": {"trials": 2, "space": {"learning_rate": "log:1e-4:1e-2"}}}
    search = sweeps.make(sweep.parent, "search", recipe.build(tables, {})).path
    path = (search if name == "study.jsonl" else sweep) / name
    path.write_bytes(content + b"\n")
    listed = ngym("list", "sweeps")
    assert listed.code == 0 and "whole" in listed.out and path.parent.name in listed.out
    result = ngym("sweep", "resume", path.parent.name)
    assert result.code in (1, 2) and "Traceback" not in result.err
    assert result.code == 2 or name == "study.jsonl"


@pytest.mark.parametrize(
    "line", ["report a", "plot a", "export a", "eval a --simulate RDM-v0", "fit t.csv --model bias --name a"]
)
def test_a_fit_with_a_link_is_refused(ngym, tmp_path, outside, line):
    (tmp_path / "t.csv").write_text(LINE)
    if not (tmp_path / "runs").exists():
        assert ngym("fit", "t.csv", "--model", "bias", "--name", "a").code == 0
    shutil.rmtree(tmp_path / "runs/t/fit/a/models")
    (tmp_path / "runs/t/fit/a/models").symlink_to(outside / "runs")
    result = ngym(*line.split())
    assert result.code == 2 and "leads out of its folder" in result.err, result


def test_a_table_of_a_folder_is_in_the_folder(ngym, tmp_path, outside):
    (tmp_path / "study").mkdir()
    (tmp_path / "study/a.csv").symlink_to(outside / "secret.csv")
    for line in (["data", "study"], ["fit", "study", "--model", "bias"]):
        result = ngym(*line)
        assert result.code == 2 and "leads out of study" in result.err, result
    assert ngym("data", "study/a.csv", "--out", "none").code == 0, "a link that the user names is followed"
    (tmp_path / "study/b.csv").write_text(LINE)
    (tmp_path / "study/a.csv").unlink()
    (tmp_path / "study/a.csv").symlink_to("b.csv")
    assert ngym("data", "study", "--out", "none").code == 0, "a link within the folder is followed"


def test_trials_in_another_file_are_not_read(ngym, run_folder, tmp_path):
    with h5py.File(tmp_path / "secret.nwb", "w") as file:
        file["trials/id"], file["trials/choice"] = np.arange(9), np.arange(9) % 2
    with h5py.File(tmp_path / "a.nwb", "w") as file:
        file["intervals/trials"] = h5py.ExternalLink("secret.nwb", "trials")
    run = shutil.copytree(run_folder, tmp_path / "run")
    for line in (
        ["data", "a.nwb"],
        ["eval", run, "--trials", "4", "--compare-activity", "a.nwb"],
        ["plot", run, "a.nwb", "similarity"],
    ):
        result = ngym(*line)
        assert result.code == 2 and "a.nwb" in result.err and "secret" not in result.err, (line, result)


def stranger(record):
    for model in record["models"].values():
        model["parameters"] = {"nobody": next(iter(model["parameters"].values()))}


def unknown_label(record):
    record["scores"]["nothing"] = record["scores"].pop("bias")


@pytest.mark.parametrize("change", [stranger, unknown_label, lambda record: record.update(models={})])
def test_a_fit_whose_parts_do_not_belong_together_is_refused(ngym, tmp_path, change):
    (tmp_path / "t.csv").write_text(LINE)
    assert ngym("fit", "t.csv", "--model", "bias", "--name", "a").code == 0
    path = tmp_path / "runs/t/fit/a/fit.json"
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))
    for line in ("report a", "plot a", "export a", "eval a --simulate RDM-v0"):
        result = ngym(*line.split())
        assert result.code == 2 and "damaged fit runs/t/fit/a" in result.err, (line, result)
    assert "a" in ngym("list", "runs").out


def test_the_second_of_two_fits_of_one_name_is_told(ngym, tmp_path):
    from ngym_cli.files.writing import lock

    (tmp_path / "t.csv").write_text(LINE)
    assert ngym("fit", "t.csv", "--model", "bias", "--name", "a").code == 0
    for more in ([], ["--overwrite"]):
        with lock(tmp_path / "runs/t/fit/a"):
            result = ngym("fit", "t.csv", "--model", "bias", "--name", "a", *more)
        assert result.code == 2 and "another process" in result.err, result
    assert ngym("fit", "t.csv", "--model", "bias", "--name", "a").code == 0
