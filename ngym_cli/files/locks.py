"""Locks of run folders: identity of a process, and a lock so that a single process writes a folder."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path

from typing_extensions import TypedDict

from ngym_cli.errors import InUseError, UserError, os_errors

try:
    import fcntl
except ImportError:  # not a POSIX system: only the process named in the manifest protects a run there
    fcntl = None  # type: ignore[assignment]


class RunProcess(TypedDict, total=False):
    """Process that writes a run."""

    host: str | None
    pid: int | None
    started: str | None


def this_process() -> RunProcess:
    """Return host, number and start of this process, for ``is_alive``."""
    return {"host": platform.node(), "pid": os.getpid(), "started": start_of_process(os.getpid())}


def is_alive(process: Mapping[str, object]) -> bool:
    """Return whether a process still exists on this machine; a process of another machine counts as alive.

    Args:
        process: result of ``this_process`` in that process.
    """
    if process.get("host") != platform.node():
        return True
    pid = process.get("pid")
    return isinstance(pid, int) and pid > 0 and start_of_process(pid) == process.get("started")


def start_of_process(pid: int) -> str | None:
    """Return the start time of a process, which identifies reused process numbers; None if the process is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self").exists():
        return None
    import psutil

    try:
        return f"{psutil.Process(pid).create_time():.0f}"
    except (psutil.Error, OverflowError):
        return None


@contextlib.contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Hold the lock of a run folder; the system releases the lock when the process ends, however that happens.

    Raises:
        InUseError: if another process holds the lock.
        UserError: if the folder cannot be read.
    """
    with _opened(folder) as handle:
        if not _lock(handle):
            raise InUseError(f"run folder {folder} is in use by another process")
        yield


@contextlib.contextmanager
def exclusive(file: Path) -> Iterator[None]:
    """Wait for and hold the lock of a file that is never replaced, while another file is read, changed and written.

    Without effect where files cannot be locked or there is no such file.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            handle = os.open(file, os.O_RDONLY)
            stack.callback(os.close, handle)
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def in_use(folder: Path) -> bool:
    """Return whether a process holds the lock of a folder."""
    try:
        with _opened(folder) as handle:
            return not _lock(handle)
    except UserError:
        return False


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """Yield a handle of a folder; None where folders cannot be locked (Windows)."""
    if fcntl is None:
        yield None
        return
    with os_errors(f"cannot read run folder {folder}"):
        handle = os.open(folder, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int | None) -> bool:
    """Take the lock and return whether the lock was free; always true on file systems without locks."""
    if handle is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
