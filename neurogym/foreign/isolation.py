"""Calls in a process of their own: a library that crashes or hangs on a damaged file ends that process, not this one.

The other process is started at the first call, takes about 0.4 s for that, and serves all further calls until this
process ends; where processes can be forked, each call has a fork of its own. Replies are plain data (JSON) and bytes of
arrays; nothing is unpickled.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import IO, Any

import numpy as np

#: Seconds of the processor that a call may take, and more for each byte of the file (1 s for each MB).
PATIENCE, SECONDS_PER_BYTE = 20, 1e-6

CRASHED = "the library that reads the file crashed or did not come to an end"

#: Result of a function that can be called: plain data, and arrays without objects.
Reply = tuple[Any, list[np.ndarray]]


class DamagedFileError(ValueError):
    """A file that cannot be read; the message does not name the file."""


class _Worker:
    """Process that serves calls."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", "-m", "neurogym.foreign.isolation"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process: subprocess.Popen[bytes] = subprocess.Popen(command, **pipes)  # type: ignore[call-overload]
        self.caller = os.getpid()
        atexit.register(self.stop)

    def call(self, request: bytes) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Send a request and return the reply.

        Raises:
            EOFError: if the process has ended.
        """
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(request)
            self.process.stdin.flush()
            header = json.loads(self.process.stdout.readline())
            arrays = [_received(self.process.stdout, *about) for about in header.pop("arrays")]
        except (OSError, ValueError) as error:
            raise EOFError from error
        return header, arrays

    def stop(self) -> None:
        """End the process."""
        atexit.unregister(self.stop)
        if self.caller == os.getpid():  # not a process that was forked
            self.process.kill()
            with contextlib.suppress(OSError):
                self.process.communicate()


_lock = threading.Lock()


@functools.lru_cache(maxsize=1)
def _worker(process: int) -> _Worker:  # a process that was forked has a worker of its own
    return _Worker()


def call(function: str, path: Path, *arguments: object, needs: Sequence[str] = ()) -> Reply:
    """Call a function in another process.

    Args:
        function: address as ``module:name``; takes a path and plain values, and returns a `Reply`.
        path: file that the function reads.
        *arguments: further arguments, plain values.
        needs: modules that the function imports, which are imported once for all calls.

    Raises:
        DamagedFileError: if the function refused the file, failed, or ended or blocked the process.
    """
    request = json.dumps([[*needs], PATIENCE, function, str(path.absolute()), *arguments]).encode() + b"\n"
    with _lock:
        worker = _worker(os.getpid())
        if worker.process.poll() is not None:  # ended while idle
            _worker.cache_clear()
            worker = _worker(os.getpid())
        try:
            reply, arrays = worker.call(request)
        except BaseException as error:
            _worker.cache_clear()
            worker.stop()
            if isinstance(error, EOFError):
                raise DamagedFileError(CRASHED) from None
            raise
    if "refused" in reply:
        raise DamagedFileError(reply["refused"])
    return reply["value"], arrays


def _received(stream: IO[bytes], dtype: str, shape: list[int]) -> np.ndarray:
    array = np.empty(shape, dtype)
    view = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    read = 0
    while read < len(view):
        count = stream.readinto(view[read:])  # type: ignore[attr-defined]
        if not count:
            raise EOFError
        read += count
    return array


def _limit(path: Path, patience: float) -> None:
    """Let the system end this process if a call takes too long, and refuse more memory than the machine has."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        size = path.stat().st_size if path.is_file() else 0
        most = usage.ru_utime + usage.ru_stime + patience + size * SECONDS_PER_BYTE
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        for kind, limit in (("CPU", int(most) + 1), ("AS", memory), ("CORE", 0)):
            number = getattr(resource, f"RLIMIT_{kind}")
            hard = resource.getrlimit(number)[1]
            resource.setrlimit(number, (limit if hard < 0 else min(limit, hard), hard))


def _answer(replies: IO[bytes], patience: float, function: str, path: str, arguments: list[Any]) -> None:
    """Call a function and send the result, or why there is none."""
    _limit(Path(path), patience)
    arrays: list[np.ndarray] = []
    try:
        value, arrays = resolve_name(function)(Path(path), *arguments)
        reply: dict[str, Any] = {"value": value}
    except Exception as error:
        reply = {"refused": " ".join(str(error).split()) or type(error).__name__}
    arrays = [np.asarray(array, order="C") for array in arrays]
    reply["arrays"] = [[array.dtype.str, array.shape] for array in arrays]
    replies.write(json.dumps(reply).encode() + b"\n")
    for array in arrays:
        replies.write(array.reshape(-1).view(np.uint8).data)
    replies.flush()


def _answer_apart(replies: IO[bytes], *request: Any) -> None:
    """Call a function in a fork of this process; end this process too if the fork ends in the middle of a reply."""
    begun, begins = os.pipe()
    child = os.fork()
    if not child:
        try:
            _answer(_Announcing(replies, begins), *request)  # type: ignore[arg-type]
        finally:
            os._exit(0)
    os.close(begins)
    status = os.waitpid(child, 0)[1]
    has_begun = bool(os.read(begun, 1))
    os.close(begun)
    if not has_begun:
        replies.write(json.dumps({"refused": CRASHED, "arrays": []}).encode() + b"\n")
        replies.flush()
    elif status:
        os._exit(1)


class _Announcing:
    """Stream that announces in a pipe that it is about to be written to."""

    def __init__(self, stream: IO[bytes], pipe: int) -> None:
        self._stream, self._pipe, self.flush = stream, pipe, stream.flush
        self._announced = False

    def write(self, data: bytes) -> None:
        """Write bytes."""
        if not self._announced:
            os.write(self._pipe, b".")
        self._announced = True
        self._stream.write(data)


def _serve() -> None:
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that a library prints is taken for a reply
    answer = _answer_apart if hasattr(os, "fork") else _answer
    for line in sys.stdin.buffer:
        needs, patience, function, path, *arguments = json.loads(line)
        for module in needs:
            with contextlib.suppress(ImportError):
                importlib.import_module(module)
        answer(replies, patience, function, path, arguments)


if __name__ == "__main__":
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that calls is interrupted, and ends this one
    _serve()
