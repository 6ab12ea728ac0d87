"""Batches made on the CPU by a thread while the device learns from the one before."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Batch = TypeVar("Batch")


class Prefetch(Generic[Batch]):
    """Makes batches one ahead, in the same order and by the same calls as without.

    Args:
        make: returns the next batch; called by one thread at a time.
    """

    def __init__(self, make: Callable[[], Batch]) -> None:
        self._make = make
        self._pool = ThreadPoolExecutor(1, "trials made ahead")
        self._pending: Future[Batch] | None = None

    def take(self) -> Batch:
        """Return the next batch."""
        pending, self._pending = self._pending, None
        return self._make() if pending is None else pending.result()

    def start(self) -> None:
        """Begin to make the next batch."""
        if self._pending is None:
            self._pending = self._pool.submit(self._make)
