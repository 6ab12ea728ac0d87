"""Where tutorials are run: the checkout's programs are found first, and a command that fails is an error."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Run by the kernel before the first cell: what is typed after ``!`` has no terminal, whose colours and moving lines
#: a page does not show; and a command that fails ends the tutorial.
STARTUP = """
import os
import subprocess

for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR"):
    os.environ.pop(name, None)


def _run(line):
    command = ["bash", "-o", "pipefail", "-c", get_ipython().var_expand(line, depth=1)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout, end="")
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}")


get_ipython().system = _run
"""


def environment(folder: Path, path: str) -> dict[str, str]:
    """Return the variables that the kernel of a tutorial is started with.

    Args:
        folder: where IPython keeps what it needs.
        path: the present search path of programs.
    """
    startup = folder / "profile_default" / "startup" / "terminal.py"
    startup.parent.mkdir(parents=True, exist_ok=True)
    startup.write_text(STARTUP, encoding="utf-8")
    return {
        "PATH": f"{Path(sys.executable).parent}:{path}",
        "IPYTHONDIR": str(folder),
        "COLUMNS": "88",
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "agg",
        "NGYM_CHECKOUT": str(ROOT),
    }
