"""Launcher on this machine: a single-threaded process per core, with the executors of the standard library."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from ngym_cli import processes
from ngym_cli.files.writing import write_text
from ngym_cli.sweeps import worker
from ngym_cli.sweeps.launchers import RETRIES, SECONDS_PER_READING, JobSpec

#: Jobs after which a worker is replaced by a new process.
JOBS_PER_PROCESS = 100


class Local:
    """Workers on this machine.

    Args:
        workers: number of workers; default as many as cores.
    """

    def __init__(self, workers: int | None = None):
        self.workers = workers or processes.cores()
        self._stop = threading.Event()
        self._pids: set[int] = set()

    def launch(self, order: JobSpec) -> None:
        """Do all jobs; see ``Launcher``."""
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for job in order.jobs:
            waiting.put(job)
        count = min(self.workers, len(order.jobs))
        processes.limit_libraries()
        with ThreadPoolExecutor(max(count, 1), thread_name_prefix="worker") as pool:
            futures = [pool.submit(self._work, order, waiting) for _ in range(count)]
            try:
                while wait(futures, SECONDS_PER_READING).not_done:
                    order.look()
            except BaseException:
                self._end_workers()
                raise
            for future in futures:
                future.result()

    def _end_workers(self) -> None:
        """Ask all workers to write checkpoints and stop."""
        self._stop.set()
        for pid in list(self._pids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def _work(self, order: JobSpec, waiting: queue.SimpleQueue[int]) -> None:
        """Do jobs, with a process at a time, until the queue is empty."""
        executor: ProcessPoolExecutor | None = None
        n_finished = 0
        try:
            while not self._stop.is_set():
                try:
                    job = waiting.get_nowait()
                except queue.Empty:
                    return
                if n_finished % JOBS_PER_PROCESS == 0:
                    executor = _renewed(executor)
                executor = self._do(order, job, executor)
                n_finished += 1
        finally:
            if executor is not None:
                executor.shutdown()

    def _do(self, order: JobSpec, job: int, executor: ProcessPoolExecutor | None) -> ProcessPoolExecutor:
        """Do a job, and repeat after the death of a process; return the executor for the next job."""
        for _ in range(1 + RETRIES):
            executor = executor or _renewed(None)
            pid: int | None = None
            try:
                pid = executor.submit(os.getpid).result()
                self._pids.add(pid)
                if not self._stop.is_set():
                    perform = order.perform or worker.perform
                    future: Future[str] = executor.submit(perform, str(order.sweep.path), job, order.trust)
                    future.result()
                return executor
            except BrokenProcessPool:
                executor = _renewed(executor)
                if self._stop.is_set():
                    return executor
            finally:
                self._pids.discard(pid or 0)
        write_text(order.sweep.error_path(job), f"its process died {1 + RETRIES} times\n")
        return executor or _renewed(None)


def _renewed(old: ProcessPoolExecutor | None) -> ProcessPoolExecutor:
    """Return an executor with a fresh process.

    Each worker has one of its own, for a process that dies takes its executor with it.
    """
    if old is not None:
        old.shutdown()
    return ProcessPoolExecutor(1, processes.spawn_context(), initializer=_begin)


def _begin() -> None:
    """Prepare a worker: Ctrl-C is handled by the sweep."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
