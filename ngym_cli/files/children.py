"""Child processes that import nothing from the current folder when they start, and end with their parent."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
from collections.abc import Iterator
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

_ENVIRONMENT = threading.Lock()


class _SafeProcess(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        with _safe_path():
            return SpawnProcess._Popen(process_obj)


class _SafeContext(SpawnContext):
    Process = _SafeProcess


def spawn_context() -> SpawnContext:
    """Return a ``multiprocessing`` context whose children import nothing from the current folder when they start.

    A child of the plain context begins with ``import multiprocessing``, with the current folder first on its path: a
    file of that name in a downloaded folder would run.
    """
    if os.name == "posix":
        from multiprocessing import resource_tracker

        with _safe_path():  # the tracker is a child process too
            resource_tracker.ensure_running()
    return _SafeContext()


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Set ``PYTHONSAFEPATH`` while a child process is started."""
    with _ENVIRONMENT:
        before = os.environ.get("PYTHONSAFEPATH")
        os.environ["PYTHONSAFEPATH"] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ["PYTHONSAFEPATH"]
            else:
                os.environ["PYTHONSAFEPATH"] = before


def end_with_parent() -> None:
    """Let a child process of ``spawn_context`` end at once when its parent process is gone.

    Runs are resumed exactly from their last checkpoint, so that nothing else has to be written.
    """
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
