"""Child processes that import neither modules of the current folder nor the main script, and that end with the parent.

Python puts the current folder first on the import path of a process started with ``-c`` or ``-m``. A file called
``multiprocessing.py`` next to a run would then be executed by every worker. Two measures prevent this: the environment
variable ``PYTHONSAFEPATH`` for all children of the command line, and ``spawn_context`` for children of any program.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing import context, parent_process
from types import ModuleType
from typing import Any

#: Environment of children: no current folder on the import path, and (on Windows) none on the search path of programs.
SAFE_ENVIRONMENT = {"PYTHONSAFEPATH": "1", "NoDefaultCurrentDirectoryInExePath": "1"}


_LOCK = threading.Lock()


@contextlib.contextmanager
def _safe_environment() -> Iterator[None]:
    with _LOCK:
        before = {name: os.environ[name] for name in SAFE_ENVIRONMENT if name in os.environ}
        os.environ.update(SAFE_ENVIRONMENT)
        try:
            yield
        finally:
            os.environ.update(before)
            for name in SAFE_ENVIRONMENT.keys() - before.keys():
                del os.environ[name]


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main module; a script without ``if __name__ == "__main__"`` would otherwise run again in each child."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


class _SafeProcess(context.SpawnProcess):
    """Child process started with ``PYTHONSAFEPATH`` and without the main module of the parent."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802 - name given by multiprocessing
        with _safe_environment(), _without_main():
            return context.SpawnProcess._Popen(process_obj)

    def run(self) -> None:
        """Do the work of the child, and end as soon as the parent process is gone.

        Runs are resumed exactly from the last checkpoint, so that nothing else has to be written.
        """
        threading.Thread(target=_wait_for_parent, daemon=True).start()
        super().run()


class _SafeContext(context.SpawnContext):
    Process = _SafeProcess


def spawn_context() -> context.SpawnContext:
    """Return the multiprocessing context of all worker processes: freshly started, with a safe import path."""
    if os.name == "posix":
        from multiprocessing import resource_tracker

        with _safe_environment():  # the tracker of shared resources is a child process too
            resource_tracker.ensure_running()
    return _SafeContext()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def protect_command_line() -> None:
    """Make the import path safe for the command line and all child processes.

    ``python -m ngym_cli`` puts the current folder first on the import path; it moves to the end, behind all installed
    packages, so that a checkout that is not installed still runs.
    """
    os.environ.update(SAFE_ENVIRONMENT)
    here = os.getcwd()  # noqa: PTH109 - pathlib is slow to import
    if sys.path and sys.path[0] in ("", here) and not sys.flags.safe_path:
        sys.path.append(sys.path.pop(0))
    if os.path.lexists("matplotlibrc"):
        # Matplotlib prefers settings of the current folder, and settings can name programs and modules to run.
        with contextlib.chdir(sys.prefix):
            import matplotlib  # noqa: F401


def open_closed_streams() -> None:
    """Connect standard streams that the caller has closed to the null device.

    Otherwise the next opened file takes the descriptor of standard output, and printed text ends up in that file.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - open until the process ends


@contextlib.contextmanager
def handling_signals(handler: Callable[[int, object], None], *names: str) -> Iterator[None]:
    """Handle signals within a block of the main thread; elsewhere nothing is changed.

    Under ``nohup``, which ignores the closing of the terminal (SIGHUP), so does the block.

    Args:
        handler: called with the number of the signal and the stack frame.
        *names: of the signals; those that the system does not know are left out.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.Signals[name] for name in names if name in signal.Signals.__members__]
    ignored = [n for n in numbers if n.name == "SIGHUP" and signal.getsignal(n) == signal.SIG_IGN]
    old = {number: signal.signal(number, handler) for number in numbers if number not in ignored}
    try:
        yield
    finally:
        for number, before in old.items():
            signal.signal(number, before)


def program(name: str) -> str:
    """Return the path of a program, looked for only in absolute folders of PATH.

    Raises:
        FileNotFoundError: if there is no such program.
    """
    path = shutil.which(name, path=_absolute(os.environ.get("PATH", os.defpath)))
    if path is None:
        raise FileNotFoundError(2, "No such program", name)
    return path


def ignore_relative_paths() -> None:
    """Remove relative folders from PATH, so that no library starts a program of the current folder."""
    if "PATH" in os.environ:
        os.environ["PATH"] = _absolute(os.environ["PATH"])


def _absolute(path: str) -> str:
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if os.path.isabs(folder))  # noqa: PTH117
