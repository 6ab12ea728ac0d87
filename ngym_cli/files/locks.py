"""One process at a time writes a run folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ngym_cli.errors import Taken, UserError

try:
    import fcntl
except ImportError:  # not a POSIX system: there runs are told apart by the process in their manifest alone
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the lock of a run folder; the system releases it with the process, however that ends.

    Raises:
        Taken: if another process holds it.
        UserError: if the folder cannot be read.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"cannot read run folder {folder}: {error.strerror}") from None
    try:
        if not _lock(handle):
            raise Taken(f"run folder {folder} is in use by another process")
        yield
    finally:
        os.close(handle)


def in_use(folder: Path) -> bool:
    """Say whether a process holds the lock of a folder."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not _lock(handle)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    """Take the lock; say whether it could be had. A file system without locks has it always."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
