"""A recipe's words for Slurm become lines of a script that runs: only names and values that sbatch knows get there."""

from __future__ import annotations

import os

import pytest

from ngym_cli.config.launch import check_options
from ngym_cli.errors import UserError
from ngym_cli.sweeps import recipe


@pytest.mark.parametrize(
    "options",
    [
        {"comment": "x\ntouch PWN #"},
        {"comment": "x\rtouch PWN #"},
        {"comment": "x\u2028touch PWN #"},
        {"comment": "\x1b]0;owned\x07"},
        {"comment": "x' \n touch PWN"},
        {"comment": "$(touch PWN)"},
        {"comment": "`touch PWN`"},
        {"comment": "x" * 10_000},
        {"comment": ["a"]},
        {"comment": {"a": 1}},
        {"output": "/home/other/.bashrc"},
        {"error": "x"},
        {"wrap": "touch PWN"},
        {"export": "ALL,LD_PRELOAD=/tmp/x.so"},
        {"setup": "touch PWN"},
        {"srun_args": "--prolog=/tmp/x"},
        {"additional_parameters": "x"},
        {"chdir": "/"},
        {"array": "0-100000"},
        {"comment\ntouch PWN #": "x"},
        {"time": "5\ntouch PWN"},
        {"runs_per_job": "1\n"},
        {"use_srun": "touch PWN"},
    ],
    ids=str,
)
def test_a_recipe_cannot_write_into_the_script(options):
    with pytest.raises(UserError) as refused:
        recipe.build({"launch": {"on": "slurm", "slurm": options}}, {})
    assert str(refused.value).isprintable()


def test_what_clusters_need_can_be_said():
    settings = {
        "partition": "gpu,long",
        "time": "1-12:00:00",
        "mem": "4G",
        "constraint": "[rack1*2&rack2*4]|skylake",
        "gres": "gpu:a100:2(S:0-1)",
        "mail-user": "a.b@c.org",
        "exclusive": True,
        "nodes": "2-4",
        "runs_per_job": 10,
        "dependency": "afterok:123:456?".rstrip("?"),
        "begin": "now+1hour",
        "nodelist": "n[01-10]",
        "nice": -5,
    }
    assert check_options(settings)["mail_user"] == "a.b@c.org"


def test_without_slurm_nothing_is_made(ngym, tmp_path, monkeypatch):
    pytest.importorskip("submitit", reason="submitit is not installed (pip install 'ngym[slurm]')")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    result = ngym("sweep", "--task", "RDM-v0", "--seed", "0:2", "--on", "slurm")
    assert result.code == 2
    assert result.err == "ngym: no Slurm here: sbatch is not installed\n"
    assert not list(tmp_path.iterdir())


def test_a_dry_run_prints_the_batch_script_without_slurm(ngym, tmp_path):
    pytest.importorskip("submitit", reason="submitit is not installed (pip install 'ngym[slurm]')")
    flags = ("--task", "RDM-v0", "--timesteps", "1000", "--seed", "0:2", "--on", "slurm", "--slurm", "partition=gpu")
    result = ngym("sweep", *flags, "--dry-run")
    assert result.code == 0
    assert "#SBATCH --partition=gpu\n" in result.out and "#SBATCH --array=0-1%2\n" in result.out
    assert not list(tmp_path.iterdir())


def test_where_slurm_does_not_answer_nothing_is_made(ngym, tmp_path, monkeypatch):
    pytest.importorskip("submitit", reason="submitit is not installed (pip install 'ngym[slurm]')")
    (tmp_path / "bin").mkdir()
    for name in ("sbatch", "squeue"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\necho 'slurm_load_jobs error: Unable to contact' >&2\nexit 1\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    result = ngym("sweep", "--task", "RDM-v0", "--seed", "0:2", "--on", "slurm")
    assert result.code == 2 and "does not answer" in result.err and result.err.count("\n") == 1
    assert os.listdir(tmp_path) == ["bin"]


@pytest.mark.parametrize("name", ["x\ntouch PWN #", "a\tb", "\x1b[2J", "n" * 300, "é" * 140])
def test_the_name_of_a_sweep_is_a_plain_one(ngym, tmp_path, name):
    result = ngym("sweep", "--task", "RDM-v0", "--seed", "0:2", "--name", name)
    assert result.code == 2 and "plain folder name" in result.err and result.err.count("\n") == 1
    assert not list(tmp_path.iterdir())
