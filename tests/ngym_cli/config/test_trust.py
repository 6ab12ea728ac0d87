"""A run of the user's own task, made here from a file that has not changed, needs no --trust; any other does."""

from __future__ import annotations

import json
import shutil

import pytest

TASK = """
import neurogym as ngym


class Mine(ngym.envs.registration.entry("GoNogo-v0")):
    pass
"""
RUN = ("run", "--task", "mine.py:Mine", "--n-envs", "4", "--timesteps", "1000", "--eval-trials", "10", "--name", "a")


@pytest.fixture
def planted_files(ngym, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "mine.py").write_text(TASK)
    assert ngym(*RUN).code == 0
    return tmp_path / "runs" / "mine.Mine" / "recurrent_ppo" / "a"


def test_a_run_made_here_is_the_users_own(ngym, planted_files):
    for command in (
        ("eval", "a", "--trials", "10"),
        ("plot", "a", "learning"),
        ("run", "--config", f"{planted_files}/config.toml", "--name", "b"),
    ):
        result = ngym(*command)
        assert result.code == 0, result.err


def refused(ngym, *command):
    result = ngym(*command)
    assert (result.code, result.out) == (2, "")
    assert "--trust" in result.err and result.err.count("\n") == 1


def test_a_file_that_has_changed_is_refused(ngym, planted_files, tmp_path):
    (tmp_path / "mine.py").write_text(TASK + "\nraise SystemExit('this was run')\n")
    refused(ngym, "eval", "a", "--trials", "10")


def test_a_record_that_only_claims_to_be_from_here_is_refused(ngym, planted_files, tmp_path):
    second = tmp_path / "runs" / "mine.Mine" / "recurrent_ppo" / "sent"
    shutil.copytree(planted_files, second)
    manifest = json.loads((second / "manifest.json").read_text())
    (tmp_path / "evil.py").write_text(TASK)
    from ngym_cli.files.reading import digest

    manifest["code"] = {"files": {"evil.py:Mine": digest(tmp_path / "evil.py")}, "signature": "0" * 64}
    (second / "manifest.json").write_text(json.dumps(manifest))
    text = (second / "config.toml").read_text().replace("mine.py:Mine", "evil.py:Mine")
    (second / "config.toml").write_text(text)
    refused(ngym, "eval", "sent", "--trials", "10")


def test_another_users_record_is_refused(ngym, planted_files, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    refused(ngym, "eval", "a", "--trials", "10")


def test_a_run_elsewhere_is_refused(ngym, planted_files, tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    shutil.copy(tmp_path / "mine.py", tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    refused(ngym, "eval", planted_files, "--trials", "10")


def test_a_wrapper_that_writes_files_is_trusted_with_the_arguments_that_were_run_here(ngym, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    requested = ("--task", "GoNogo-v0", "--n-envs", "4", "--timesteps", "1000", "--eval-trials", "10", "--name", "a")
    assert ngym("run", *requested, "--wrappers", "monitor:interval=1000000").code == 0
    evaluated = ngym("eval", "a", "--trials", "10")
    assert evaluated.code == 0, evaluated.err
    config = tmp_path / "runs/GoNogo-v0/recurrent_ppo/a/config.toml"
    config.write_text(config.read_text().replace('name = "monitor"', 'name = "monitor"\nsave_dir = "elsewhere"'))
    refused(ngym, "eval", "a", "--trials", "10")
