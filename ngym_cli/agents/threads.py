"""Threads: numerical libraries use a single thread, the fastest choice at our sizes; gradients use several."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

Share = TypeVar("Share")

#: Environment variables that NumPy's, SciPy's and torch's libraries read when loaded.
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
WORTH_SHARING = 4_000_000  #: products for each thread; handing fewer over takes longer than they take


def limit_libraries() -> None:
    """Limit libraries that are not loaded yet to a single thread, unless the user has set another number."""
    one_in_blas()
    if os.environ.get(VARIABLES[1]) == "1":
        os.environ.setdefault(VARIABLES[0], "1")


def one_in_blas() -> None:
    """Limit matrix libraries that are not loaded yet to a single thread, unless the user has set another number.

    Their threads wait for work by keeping their cores busy, which makes a fit of a few numbers thirty times slower.
    """
    if not any(name in os.environ for name in VARIABLES):
        os.environ.update(dict.fromkeys(VARIABLES[1:], "1"))


def one_in_torch() -> None:
    """Limit torch to a single thread unless the user has set another number; small networks only get slower."""
    if "OMP_NUM_THREADS" not in os.environ:
        import torch

        torch.set_num_threads(1)


def in_worker() -> None:
    """Limit torch and matrix libraries to a single thread, because every core has a worker."""
    limit_libraries()
    import torch

    torch.set_num_threads(_from_user() or 1)


def _from_user() -> int:
    """Number of threads that the user has set for libraries; of a list, one for each nested level, the first."""
    first = os.environ.get(VARIABLES[0], "").partition(",")[0].strip()
    return int(first) if first.isdecimal() else 0


_learning = 1


def learning() -> int:
    """Number of threads that compute a gradient; the result does not depend on this number."""
    return _learning


def learn_with(threads: int | None) -> None:
    """Set the number of learning threads; by default ``OMP_NUM_THREADS``, else the number of cores."""
    global _learning  # noqa: PLW0603 - a setting of the process, like the threads of torch
    _learning = threads or _from_user() or cores()


def enough_for(products: int, n_parts: int) -> int:
    """Number of threads, at least 1, that are worth using for a number of products and parts."""
    return max(1, min(_learning, products // WORTH_SHARING, n_parts))


def share(work: Callable[[Share], object], shares: Sequence[Share]) -> None:
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
