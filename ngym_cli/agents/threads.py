"""Threads of numerical libraries: problems of our size only lose by more than one."""

from __future__ import annotations

import os

#: What NumPy's, SciPy's and torch's libraries read when they are loaded.
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def one() -> None:
    """Let libraries that are not loaded yet compute in one thread, unless the user says otherwise."""
    if not any(name in os.environ for name in VARIABLES):
        os.environ.update(dict.fromkeys(VARIABLES, "1"))


def one_in_torch() -> None:
    """Let torch compute in one thread unless told otherwise: networks of this size only lose by more."""
    if "OMP_NUM_THREADS" not in os.environ:
        import torch

        torch.set_num_threads(1)


def in_worker() -> None:
    """Let torch and its libraries compute in one thread: there is one worker on each core."""
    one()
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
