"""Requests to stop a run, by a signal or because the run is done, at a point that allows resumption."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Seconds that a run which is to stop is given to finish its rollout and update, so that it can be resumed from there.
PATIENCE = 10.0


class Stop(Exception):
    """Signal that ends learning at a point from which the run can be resumed exactly."""


class StopRequest:
    """Whether a run should stop, and why.

    Attributes:
        reason: reason for stopping, or None.
        complete: whether nothing is left to do.
    """

    def __init__(self) -> None:
        self.reason: str | None = None
        self.complete = False
        self._since = math.inf

    def ask(self, reason: str, complete: bool = False) -> None:
        """Request a stop after the learner's next update."""
        self.reason, self.complete, self._since = reason, complete, time.monotonic()

    @property
    def is_overdue(self) -> bool:
        """Whether the learner should stop in the middle of a rollout, because the stop has waited too long."""
        return time.monotonic() - self._since >= PATIENCE


@contextmanager
def stopping_on_signals(stop: StopRequest, say: Callable[[str], None]) -> Iterator[None]:
    """End a run cleanly on Ctrl-C, a request to terminate, a closed terminal or a cluster's warning.

    A second Ctrl-C ends it at once. Under ``nohup``, which ignores the closing of the terminal, so does the run.

    Args:
        stop: the request that the learner checks.
        say: shows a message to the user.
    """

    def ask(number: int, frame: object) -> None:
        if stop.reason is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        if stop.reason is None:
            stop.ask(signal.Signals(number).name)
            say("stopping after this update; the run can be resumed (Ctrl-C again: at once)")

    names = ("SIGINT", "SIGTERM", "SIGUSR1", "SIGHUP") if threading.current_thread() is threading.main_thread() else ()
    numbers = [signal.Signals[name] for name in names if name in signal.Signals.__members__]
    if "SIGHUP" in names and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        numbers.remove(signal.SIGHUP)
    old = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
