"""Whatever a user's task does: it is trained, evaluated and drawn, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ngym_cli.catalog import checking, own_tasks

FILE = Path(__file__).parent / "odd_tasks.py"
SMALL = "--timesteps 512 --n-envs 4 --units 4 --set n_steps=64 --eval-trials 20 --eval-every 500 --name it".split()

ACCEPTED = ("OddKeys", "OddValues", "OddRewards", "OddNames")
REFUSED = {
    "Exits": "ended the program",
    "GenExit": "ended the program",
    "Raises": "oh no\\x1b[2J",
    "Empty": "shows nothing",
    "RewardList": "RewardList",
    "Period": "Period",
    "NanReward": "finite",
    "StrReward": "StrReward",
    "TrialList": "TrialList",
    "FunctionValue": "['f'] is FunctionValue.more.<locals>.<lambda>, but the constructor makes NoneType",
    "ObjectValue": "attribute ObjectValue.trial['o'] is an object, which cannot be saved",
    "ComplexValue": "['c'] is a ndarray, which cannot be saved",
}


@pytest.mark.usefixtures("one_figure", "last_figure")
@pytest.mark.parametrize("name", ACCEPTED)
def test_tasks_that_are_odd_but_work(ngym, tmp_path, name):
    task = f"{FILE}:{name}"
    assert ngym("info", task).code == 0
    result = ngym("run", "--task", task, *SMALL)
    assert result.code == 0, result
    folder = tmp_path / f"runs/odd_tasks.{name}/recurrent_ppo/it"
    for command in (["eval", folder, "--trials", "10", "--export", "csv,nwb"], ["report", folder]):
        result = ngym(*command, "--trust")
        assert result.code == 0, (command[0], result)
        assert "\x1b" not in result.out + result.err


@pytest.mark.parametrize("name", REFUSED)
def test_tasks_that_do_not_work_are_refused_in_one_line(ngym, tmp_path, name):
    result = ngym("run", "--task", f"{FILE}:{name}", *SMALL)
    assert result.code == 2, result
    last = result.err.strip().splitlines()[-1]
    assert last.startswith("ngym: ") and REFUSED[name] in last
    assert "Traceback" not in result.err and "\x1b" not in result.err
    assert not (tmp_path / "runs").exists()


def test_a_task_that_ends_the_program_in_the_middle_of_training(ngym, tmp_path):
    result = ngym("run", "--task", f"{FILE}:ExitsLater", *SMALL, "--timesteps", "2048")
    assert result.code == 2
    assert result.err.strip().splitlines()[-1].startswith("ngym: task ")
    manifest = (tmp_path / "runs/odd_tasks.ExitsLater/recurrent_ppo/it/manifest.json").read_text()
    assert '"status": "failed"' in manifest and "SystemExit: 3" in manifest


@pytest.mark.parametrize(
    "name", ["LoopsHard", *(pytest.param(each, marks=pytest.mark.long) for each in ("Loops", "LoopsInNew", "LoopsInC"))]
)
def test_an_endless_loop_is_found_out(ngym, monkeypatch, name):
    monkeypatch.setattr(own_tasks, "LONGEST_CHECK", 2.0)
    monkeypatch.setattr(checking, "START_SECONDS", 8.0)
    result = ngym("check", f"{FILE}:{name}")
    assert result.code == 1
    assert "endless loop" in result.out
    assert result.out.count("endless loop") == 1, "no further check is made"


@pytest.mark.parametrize(("name", "way"), [("Crashes", "SIGSEGV"), ("Quits", "exit code 4")])
def test_a_task_that_ends_the_process_is_told(ngym, name, way):
    result = ngym("check", f"{FILE}:{name}")
    assert result.code == 1
    assert result.out.count(f"ended the program ({way})") == 1


def test_what_a_task_prints_is_not_among_the_results(ngym):
    (result,) = json.loads(ngym("check", f"{FILE}:Prints", "--json").out)
    assert result["id"] == f"{FILE}:Prints"


def test_a_file_that_does_not_come_to_an_end_is_one_line(ngym, monkeypatch, tmp_path):
    monkeypatch.setattr(own_tasks, "LONGEST_CHECK", 2.0)
    monkeypatch.setattr(checking, "START_SECONDS", 8.0)
    (tmp_path / "slow.py").write_text("sum(range(10**15))")
    result = ngym("check", "slow.py:Slow")
    assert (result.code, result.out) == (2, "") and "endless loop" in result.err and result.err.count("\n") == 1


def test_words_that_a_spreadsheet_would_run_are_quoted(ngym, tmp_path):
    assert ngym("run", "--task", f"{FILE}:Formula", *SMALL).code == 0
    folder = tmp_path / "runs/odd_tasks.Formula/recurrent_ppo/it"
    assert ngym("eval", folder, "--trials", "10", "--export", "csv", "--trust").code == 0
    import csv

    with (folder / "eval/trials10-seed0/trials.csv").open() as file:
        rows = list(csv.reader(file))
    for row in rows:
        for cell in row:
            assert cell[:1] not in ("=", "+", "@") and (cell[:1] != "-" or float(cell) < 0), cell
    assert "'=cmd|' /C calc'!A0" in rows[1]
