"""This process, its threads and its children: safe import paths, signals, programs, numbers of threads.

Child processes import neither modules of the current folder nor the main script, and end with the parent.

Python puts the current folder first on the import path of a process started with ``-c`` or ``-m``. A file called
``multiprocessing.py`` next to a run would then be executed by every worker. Two measures prevent this: the environment
variable ``PYTHONSAFEPATH`` for all children of the command line, and ``spawn_context`` for children of any program.

Numerical libraries use a single thread, the fastest choice at our sizes; gradients use several.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import context, parent_process
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from typing_extensions import TypedDict

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
    """Child process started with ``PYTHONSAFEPATH`` and without the main module of the parent.

    Its messages name options as those of the parent do.
    """

    def __init__(self, *args: Any, **keywords: Any):
        from neurogym.messages.options import SPELLING

        super().__init__(*args, **keywords)
        self._spelling = SPELLING.get()

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802 - name given by multiprocessing
        with _safe_environment(), _without_main():
            return context.SpawnProcess._Popen(process_obj)

    def run(self) -> None:
        """Do the work of the child, and end as soon as the parent process is gone.

        Runs are resumed exactly from the last checkpoint, so that nothing else has to be written.
        """
        from neurogym.messages.options import SPELLING

        SPELLING.set(self._spelling)
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
    folder = os.getcwd()  # noqa: PTH109 - pathlib is slow to import
    if sys.path and sys.path[0] in ("", folder) and not sys.flags.safe_path:
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


# -- identity ---------------------------------------------------------------------------------------------------------


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


# -- threads ----------------------------------------------------------------------------------------------------------


Share = TypeVar("Share")

#: Environment variables that NumPy's, SciPy's and torch's libraries read when loaded.
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
WORTH_SHARING = 4_000_000  #: products for each thread; handing fewer over takes longer than they take


def limit_libraries() -> None:
    """Limit libraries that are not loaded yet to a single thread, unless the user has set another number."""
    limit_blas()
    if os.environ.get(VARIABLES[1]) == "1":
        os.environ.setdefault(VARIABLES[0], "1")


def limit_blas() -> None:
    """Limit matrix libraries that are not loaded yet to a single thread, unless the user has set another number.

    Their threads wait for work by keeping their cores busy, which makes a fit of a few numbers thirty times slower.
    """
    if not any(name in os.environ for name in VARIABLES):
        os.environ.update(dict.fromkeys(VARIABLES[1:], "1"))


def limit_torch(products: int = 0) -> None:
    """Limit torch to a single thread unless the user has set another number; small networks only get slower.

    Args:
        products: products of a step of learning that torch computes without our own threads; if so many that more
            threads help, torch has as many as were requested for learning.
    """
    import torch

    if _requested:
        torch.set_num_threads(useful_threads(products, _learning))
    else:
        torch.set_num_threads(_threads_from_user() or 1)


def limit_in_worker() -> None:
    """Limit torch and matrix libraries to a single thread, because every core has a worker."""
    limit_libraries()
    import torch

    torch.set_num_threads(_threads_from_user() or 1)


def _threads_from_user() -> int:
    """Number of threads that the user has set for libraries; of a list, one for each nested level, the first."""
    first = os.environ.get(VARIABLES[0], "").partition(",")[0].strip()
    return int(first) if first.isdecimal() else 0


_learning, _requested = 1, False


def learning_threads() -> int:
    """Number of threads that compute a gradient; the result does not depend on this number."""
    return _learning


def set_learning_threads(threads: int | None) -> None:
    """Set the number of learning threads; by default ``OMP_NUM_THREADS``, else the number of cores."""
    global _learning, _requested  # noqa: PLW0603 - settings of the process, like the threads of torch
    _requested = threads is not None
    _learning = threads or _threads_from_user() or cores()


def useful_threads(products: int, n_parts: int) -> int:
    """Number of threads, at least 1, that are worth using for a number of products and parts."""
    return max(1, min(_learning, products // WORTH_SHARING, n_parts))


def share_work(work: Callable[[Share], object], shares: Sequence[Share]) -> None:
    """Do the work for each part in the threads that share a gradient; each takes part after part.

    Faster only for work that releases Python's global lock: calls of compiled functions and of torch.
    """
    todo, n = iter(shares), min(_learning, len(shares))

    def take() -> None:
        for item in todo:
            work(item)

    futures = [_pool(os.getpid(), _learning).submit(take) for _ in range(n - 1)]
    take()
    for future in futures:
        if not future.cancel():  # a thread that has not begun has nothing left to do
            future.result()


@functools.cache
def _pool(process: int, n: int) -> ThreadPoolExecutor:  # threads do not live on in a process that was forked
    return ThreadPoolExecutor(n, f"learning in {process}")


def cores() -> int:
    """Number of physical cores that this process may use."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    shared = set()
    for processor in os.sched_getaffinity(0):
        path = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")
        shared.add(path.read_text() if path.exists() else str(processor))
    return len(shared)


#: Memory maps of a process above which compiled functions are released; Linux ends a process with more than 65,530.
MOST_MAPS = 20_000


def release_compiled() -> None:
    """Drop compiled functions of JAX where many are loaded: each holds several memory maps, whose number is limited."""
    jax, maps = sys.modules.get("jax"), Path("/proc/self/maps")
    if jax is not None and maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()
