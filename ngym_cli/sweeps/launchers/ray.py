"""Launcher on a Ray cluster, which exists already or is started on this machine."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from pathlib import Path
from typing import Any

from ngym_cli.errors import UserError, library, one_line, option
from ngym_cli.files.writing import write_text
from ngym_cli.sweeps.launchers import RETRIES, SECONDS_PER_READING, JobSpec, Perform

#: Seconds that interrupted tasks are given to write checkpoints.
CHECKPOINT_SECONDS = 60.0

#: Times in a row that the head of a cluster does not answer before it is taken to be lost.
MOST_UNANSWERED = 3


class Ray:
    """Launcher with Ray tasks of a single core each; Ray repeats tasks whose worker or node is lost.

    Args:
        address: ``auto``, ``HOST:PORT``, or empty to start a Ray on this machine.
        workers: most tasks at a time; default as many as the cluster has cores.
    """

    def __init__(self, address: str, workers: int | None = None):
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("PYTHONSAFEPATH", "1")  # workers import no module of the current folder at start
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        self.ray, self.address, self.workers = (
            library("ray", f"{option('--on ray')} needs Ray", "ray"),
            address,
            workers,
        )

    def launch(self, order: JobSpec) -> None:
        """Do all jobs; see ``Launcher``."""
        self._connect()
        lost = True  # the cluster is gone and cannot be notified
        try:
            self._launch(order)
            lost = False
        except UserError:
            raise
        except Exception as error:  # Ray raises whatever its parts raise when its head or the network is lost
            where = f"Ray at {self.address or 'this machine'}"
            raise UserError(f"{where} was lost: {one_line(error)[:300]}; run the command again to resume") from None
        except BaseException:
            lost = False
            raise
        finally:
            if not lost:
                self.ray.shutdown()

    def _connect(self) -> None:
        options: dict[str, Any] = {"include_dashboard": False, "num_cpus": self.workers} if not self.address else {}
        if self.address.startswith("127."):
            options["_node_ip_address"] = self.address.partition(":")[0]
        try:
            self.ray.init(address=self.address or "local", log_to_driver=False, logging_level=logging.ERROR, **options)
        except Exception as error:  # Ray raises whatever its parts raise
            raise UserError(f"cannot reach Ray at {self.address or 'this machine'}: {one_line(error)}") from None
        self._unanswered = 0

    def _refuse_lost(self) -> None:
        """Detect a lost head before Ray does, because Ray would end the process without a message after a minute.

        Raises:
            ConnectionError: if it has not answered several times.
        """
        host, _, port = self.ray.get_runtime_context().gcs_address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=SECONDS_PER_READING).close()
            self._unanswered = 0
        except OSError:
            self._unanswered += 1
            if self._unanswered >= MOST_UNANSWERED:
                raise ConnectionError("its head no longer answers") from None

    def _launch(self, order: JobSpec) -> None:
        task = self.ray.remote(num_cpus=1, max_retries=RETRIES)(_perform)
        waiting = list(reversed(order.jobs))
        room = self.workers or len(waiting)
        running: dict[Any, int] = {}
        path = str(order.sweep.path.resolve())
        try:
            while waiting or running:
                while waiting and len(running) < room:
                    job = waiting.pop()
                    running[task.remote(path, str(Path.cwd()), job, order.trust, order.perform)] = job
                finished, _ = self.ray.wait(list(running), timeout=SECONDS_PER_READING)
                for reference in finished:
                    self._take(reference, running.pop(reference), order)
                self._refuse_lost()
                order.look()
        except ConnectionError:
            raise
        except BaseException:
            self._end(list(running))
            raise

    def _take(self, reference: object, job: int, order: JobSpec) -> None:
        """Record a job that Ray has given up on."""
        try:
            self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            write_text(order.sweep.error_path(job), f"Ray gave up: {one_line(error)[:500]}\n\n{error}")

    def _end(self, references: list[Any]) -> None:
        """Interrupt all tasks, as Ctrl-C would, and wait for checkpoints."""
        for reference in references:
            with contextlib.suppress(Exception):
                self.ray.cancel(reference, force=False)
        with contextlib.suppress(Exception):
            self.ray.wait(references, num_returns=len(references), timeout=CHECKPOINT_SECONDS)


def _perform(path: str, folder: str, job: int, trust: bool, perform: Perform | None) -> str:
    """Do a job on a node, in the folder from which the sweep was started."""
    from ngym_cli.sweeps import worker

    os.chdir(folder)
    return (perform or worker.perform)(path, job, trust)
