"""Fits as records: listed, tagged, removed, compared, reported, exported and resumed like runs."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ngym_cli import fit
from ngym_cli.runs import RunFolder


@pytest.fixture(autouse=True)
def in_the_folder(rat, monkeypatch):
    monkeypatch.chdir(rat.parent)


def test_fits_are_records_like_runs(rat, ngym):
    for name, folds in (("a", 2), ("b", 3)):
        fit("rat.csv", "logistic", folds=folds, name=name)
    rows = json.loads(ngym("list", "runs", "--json").out)
    assert [(row["name"], row["status"], row["alg"]) for row in rows] == [(k, "finished", "fit") for k in "ab"]
    differences = {row["id"]: row for row in json.loads(ngym("diff", "a", "b", "--json").out)}
    assert (differences["settings.folds"]["one"], differences["settings.folds"]["other"]) == (2, 3)
    assert "log_likelihood.logistic" in differences
    page = Path(ngym("report", "a").out.strip()).read_text()
    assert "Held-out sessions" in page and "<svg" in page and "logistic" in page
    (folder,) = ngym("export", "a").out.split()
    assert len(Path(folder, "trials.csv").read_text().splitlines()) == 641
    assert ngym("export", "a", "--to", "onnx").code == 2
    assert ngym("runs", "tag", "b", "good").code == 0
    assert "good" in ngym("list", "runs").out
    assert ngym("runs", "rm", "a", "--yes").code == 0
    assert [row["name"] for row in json.loads(ngym("list", "runs", "--json").out)] == ["b"]


def test_a_killed_fit_resumes_with_its_complete_models(rat):
    command = "-m ngym_cli fit rat.csv --model logistic,gru --units 2 --name k".split()
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    count = Path("runs/rat/fit/k/models/logistic.json")
    deadline = time.monotonic() + 120
    while not count.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = count.stat().st_mtime_ns
    assert RunFolder(Path("runs/rat/fit/k")).manifest()["status"] == "crashed"
    result = fit("rat.csv", "logistic,gru", units=2, name="k")
    assert count.stat().st_mtime_ns == before and set(result["scores"]) >= {"logistic", "gru:units=2"}
    assert RunFolder(Path("runs/rat/fit/k")).manifest()["status"] == "finished"
