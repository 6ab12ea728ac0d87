"""Where tutorials are run: a terminal without colours and moving lines, the checkout's programs first."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Run by the kernel before the first cell: it asks programs for colours, which a page does not show.
STARTUP = """
import os

for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR"):
    os.environ.pop(name, None)
os.environ.update(TERM="dumb", NO_COLOR="1")
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
        "COLUMNS": "100",
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "agg",
        "NGYM_CHECKOUT": str(ROOT),
    }
