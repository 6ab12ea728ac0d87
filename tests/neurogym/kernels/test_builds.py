"""The compiled functions as other compilers build them, under the sanitizers, and on another processor."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from neurogym import kernels

CHECKOUT = Path(__file__).parents[3]


@pytest.mark.long
@pytest.mark.skipif(kernels.runnable() == [kernels.PLAIN], reason="no compiled functions are built")
@pytest.mark.parametrize("way", ["clang", "sanitize", "aarch64"])
def test_compiled_and_plain_forms_agree(way):
    environment = {**os.environ, "BIN": os.path.relpath(Path(sys.executable).parent, CHECKOUT)}
    command = ["bash", str(CHECKOUT / "tests" / "kernels.sh"), way]
    process = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    if process.returncode == 77:
        pytest.skip(process.stderr.strip().splitlines()[-1])
    assert process.returncode == 0, process.stdout[-3000:] + process.stderr[-3000:]
