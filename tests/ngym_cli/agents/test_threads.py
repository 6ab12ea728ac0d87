"""Libraries loaded ahead of their import."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading
from ngym_cli.agents import threads
threads.load_torch_ahead()
for thread in threading.enumerate():
    if thread is not threading.current_thread():
        thread.join()
print("libtorch_cpu.so" in open("/proc/self/maps").read(), "torch" in sys.modules)
import torch
print(torch.ones(3).sum().item())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux is it loaded ahead")
def test_torch_is_loaded_ahead_of_its_import():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "3.0"]
