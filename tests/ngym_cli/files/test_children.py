"""Child processes start without importing from the current folder, and end with their parent."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil

PARENT = """
import os, sys, time
from concurrent.futures import ProcessPoolExecutor
from ngym_cli.files.children import end_with_parent, spawn_context
if __name__ == "__main__":
    with ProcessPoolExecutor(1, spawn_context(), initializer=end_with_parent) as pool:
        print(pool.submit(os.getpid).result(), os.environ.get("PYTHONSAFEPATH"), flush=True)
        pool.submit(time.sleep, 60)
        time.sleep(60)
"""


def test_planted_modules_stay_unused_and_children_end_with_their_parent(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code/parent.py").write_text(PARENT)
    for name in ("multiprocessing", "encodings_x", "pickle", "concurrent"):
        (tmp_path / f"{name}.py").write_text("open('was_here', 'w').close()\n")
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "code/parent.py")], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    child, variable = parent.stdout.readline().split()
    assert variable == "None", "the environment of the parent is left as it was"
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 2
    while psutil.pid_exists(int(child)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not psutil.pid_exists(int(child)) or psutil.Process(int(child)).status() == psutil.STATUS_ZOMBIE
    assert not os.path.exists(tmp_path / "was_here")
