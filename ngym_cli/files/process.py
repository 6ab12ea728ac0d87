"""Which process writes something, and whether it still exists."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def is_alive(process: Mapping[str, object]) -> bool:
    """Say whether a process still exists on this machine (one elsewhere is believed).

    Args:
        process: what ``this_process`` returned in it.
    """
    if process.get("host") != os.uname().nodename:
        return True
    pid = process.get("pid")
    return isinstance(pid, int) and pid > 0 and start_of_process(pid) == process.get("started")


def start_of_process(pid: int) -> str | None:
    """Return what tells a process from a later one with the same number, or None when there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self").exists():
        return None
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError):
        return None
    return "unknown"


def this_process() -> dict[str, Any]:
    """Return what identifies this process."""
    return {"host": os.uname().nodename, "pid": os.getpid(), "started": start_of_process(os.getpid())}
