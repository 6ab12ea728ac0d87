"""Nothing in the current folder is imported by a command or by its child processes; closed streams do no harm."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from ngym_cli import processes

#: Modules that commands or their children import after start-up, from the standard library and from other packages.
PLANTED = ("multiprocessing", "json", "socket", "hmac", "torch", "numpy", "gymnasium", "matplotlib", "rich", "ngym_cli")

EVIL = "import pathlib\npathlib.Path({mark!r}).touch()\nraise ImportError('planted')\n"

NGYM = str(Path(sys.executable).with_name("ngym"))


@pytest.fixture
def planted(tmp_path):
    folder = tmp_path / "strangers"
    folder.mkdir()
    for name in PLANTED:
        (folder / f"{name}.py").write_text(EVIL.format(mark=str(tmp_path / f"ran-{name}")))
    return folder


def run(arguments, folder, **more):
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONSAFEPATH", "PYTHONPATH")}
    settings = {"capture_output": True, "text": True, "timeout": 300} | more
    return subprocess.run(arguments, cwd=folder, env=environment, check=False, **settings)


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "RDM-v0"],
        "sweep --task RDM-v0 --timesteps 64 --n-envs 2 --eval-trials 4 --seed 0 --workers 1".split(),
        pytest.param(["run", "--task", "RDM-v0", "--smoke"], marks=pytest.mark.long),
        ["list", "tasks", "rdm"],
    ],
    ids=lambda words: words[0],
)
def test_nothing_planted_in_the_current_folder_runs(planted, arguments):
    process = run([NGYM, *arguments], planted)
    assert not list(planted.parent.glob("ran-*")), process.stderr
    assert process.returncode == 0, process.stderr


def test_workers_of_a_program_are_safe_too(planted):
    program = planted.parent / "program.py"
    program.write_text(
        "from ngym_cli.processes import spawn_context\n"
        "if __name__ == '__main__':\n"
        "    process = spawn_context().Process(target=print, args=('done',))\n"
        "    process.start()\n"
        "    process.join()\n"
        "    assert process.exitcode == 0\n"
    )
    process = run([sys.executable, str(program)], planted)
    assert process.stdout == "done\n", process.stderr
    assert not list(planted.parent.glob("ran-*"))


@pytest.mark.skipif(os.name == "nt", reason="POSIX shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_not_a_traceback(tmp_path, closed):
    process = run(["sh", "-c", f"{NGYM} list tasks rdm {closed}"], tmp_path)
    assert process.returncode == 0 and "Traceback" not in process.stderr


PARENT = """
import os, time
from concurrent.futures import ProcessPoolExecutor
from ngym_cli.processes import spawn_context
if __name__ == "__main__":
    with ProcessPoolExecutor(1, spawn_context()) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 60)
        time.sleep(60)
"""


def test_workers_end_with_their_parent(tmp_path):
    (tmp_path / "parent.py").write_text(PARENT)
    parent = subprocess.Popen([sys.executable, str(tmp_path / "parent.py")], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 2
    while _exists(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _exists(child)


def _exists(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def fake(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_programs_are_looked_for_in_absolute_folders_only(tmp_path, monkeypatch):
    fake(tmp_path / "git", "exit 0")
    fake(tmp_path / "bin/git", "exit 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".:bin::{tmp_path}/bin")
    assert processes.program("git") == f"{tmp_path}/bin/git"
    monkeypatch.setenv("PATH", ".:bin:")
    with pytest.raises(FileNotFoundError):
        processes.program("git")


def test_a_command_starts_no_program_of_the_current_folder(tmp_path):
    for name in ("git", "uname", "ffmpeg", "squeue", "sbatch", "gcc", "ldconfig"):
        fake(tmp_path / name, f"touch started-{name}")
    arguments = "run --task RDM-v0 --n-envs 4 --units 8 --timesteps 256 --eval-trials 4 --name it".split()
    environment = {**os.environ, "PATH": f".:{os.environ['PATH']}"}
    subprocess.run([sys.executable, "-m", "ngym_cli", *arguments], cwd=tmp_path, env=environment, check=True)
    assert not list(tmp_path.glob("started-*"))


def test_compiled_functions_are_released_where_many_are_loaded(monkeypatch):
    jax = pytest.importorskip("jax")
    traced = []
    double = jax.jit(lambda x: traced.append(x) or 2 * x)
    assert double(3.0) == 6
    processes.release_compiled()
    assert double(4.0) == 8 and len(traced) == 1
    monkeypatch.setattr(processes, "MOST_MAPS", 0)
    processes.release_compiled()
    assert double(5.0) == 10 and len(traced) == 2
