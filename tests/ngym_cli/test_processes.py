"""Nothing in the current folder is imported by a command or by its child processes; closed streams do no harm."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

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
    return subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, **more)


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "RDM-v0"],
        ["sweep", "--task", "RDM-v0", "--timesteps", "64", "--n-envs", "2", "--eval-trials", "4", "--seed", "0,1",
         "--workers", "2"],
        ["run", "--task", "RDM-v0", "--smoke"],
        ["list", "tasks", "rdm"],
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_nothing_planted_in_the_current_folder_runs(planted, arguments):
    done = run([NGYM, *arguments], planted)
    assert not list(planted.parent.glob("ran-*")), done.stderr
    assert done.returncode == 0, done.stderr


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
    done = run([sys.executable, str(program)], planted)
    assert done.stdout == "done\n", done.stderr
    assert not list(planted.parent.glob("ran-*"))


@pytest.mark.skipif(os.name == "nt", reason="POSIX shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_not_a_traceback(tmp_path, closed):
    done = run(["sh", "-c", f"{NGYM} list tasks rdm {closed}"], tmp_path)
    assert done.returncode == 0 and "Traceback" not in done.stderr


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
