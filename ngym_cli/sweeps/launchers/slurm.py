"""Launcher on Slurm: job arrays through submitit, checkpointed and requeued near the time limit."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ngym_cli import processes
from ngym_cli.errors import UserError, library, message_of, one_line, option
from ngym_cli.files.reading import read_json
from ngym_cli.files.writing import write_json
from ngym_cli.sweeps import folder, status, worker
from ngym_cli.sweeps.launchers import SECONDS_PER_READING, JobSpec, Perform

FOLDER, JOBS = "slurm", "jobs.json"

#: The signal that warns a job of its end; a run answers it with a checkpoint.
WARNING = "USR1"

#: Times that a job that has reached its time limit is put back into the queue.
REQUEUES = 1_000

#: Array tasks that clusters commonly allow; further runs share a task.
MOST_TASKS = 1_000

#: Seconds between two questions to the queue, which many people use.
SECONDS_PER_QUESTION = 10.0

SLURM_DEFAULTS: dict[str, Any] = {"time": 60, "cpus_per_task": 1, "stderr_to_stdout": True, "array_parallelism": 10_000}

#: Options that submitit treats in a way of its own; all others go to ``sbatch`` as they are.
SUBMITIT = (*SLURM_DEFAULTS, "job_name", "signal_delay_s", "use_srun")

#: Most seconds between the warning and the end of a job; a quarter of its time where that is less.
MOST_WARNING = 90


class Slurm:
    """Array jobs of a Slurm cluster that shares this machine's disk.

    Args:
        options: options of ``sbatch`` (``partition``, ``time``, ``mem``, ``account``, ...), and ``runs_per_job``.
        workers: most tasks at a time.
        dry_run: only preview; Slurm need not be installed.
    """

    def __init__(self, options: Mapping[str, Any], workers: int | None = None, dry_run: bool = False):
        os.environ["SUBMITIT_PREEMPT_SIGNAL"] = WARNING  # submitit reads it when it is imported
        submitit = library("submitit", f"{option('--on slurm')} needs submitit", "slurm")
        if not dry_run:
            try:
                processes.program("sbatch")
            except FileNotFoundError:
                raise UserError("no Slurm here: sbatch is not installed") from None
            in_queue()  # fails before anything is made if the cluster does not answer
        self.submitit, self.workers = submitit, workers
        self.options = dict(options)
        self.per_job = int(self.options.pop("runs_per_job", 0))
        if "time" in self.options:
            self.options["time"] = minutes(str(self.options["time"]))

    def script(self, path: Path, jobs: Sequence[int]) -> str:
        """Return the batch script that would be submitted; see ``ngym_cli.sweeps.launchers.batch_script``."""

        class Elsewhere(self.submitit.SlurmExecutor):  # type: ignore[name-defined]
            """Executor on a machine without Slurm."""

            @classmethod
            def affinity(cls) -> int:
                return 1

        tasks = len(self._batches(jobs))
        executor = self._executor(path / FOLDER, path.name, Elsewhere)
        if tasks > 1:
            executor.parameters["map_count"] = tasks
        return str(executor._make_submission_file_text(executor._submitit_command_str, "")).strip()

    def launch(self, order: JobSpec) -> None:
        """Submit all jobs that are not queued yet, and watch the queue; see ``Launcher``."""
        record = order.sweep.path / FOLDER / JOBS
        submissions = _submitted(record)
        queued = in_queue()
        queued_jobs = {job for name, jobs in submissions.items() if name in queued for job in jobs}
        todo = [job for job in order.jobs if job not in queued_jobs]
        if todo:
            submitted = self._submit(order, todo)
            submissions = {name: jobs for name, jobs in submissions.items() if name in queued} | submitted
            write_json(record, submissions)
        if not order.detach:
            self._watch(order, set(submissions))

    def _submit(self, order: JobSpec, jobs: Sequence[int]) -> dict[str, list[int]]:
        """Submit an array and return the jobs of each array task."""
        sweep_path = order.sweep.path.resolve()
        if not str(sweep_path).isprintable():  # it becomes part of the script that Slurm runs
            raise UserError(f"Slurm cannot write into a folder with such a name: {str(sweep_path)!r}")
        executor = self._executor(sweep_path / FOLDER, order.sweep.name)
        batches = self._batches(jobs)
        try:
            with executor.batch():
                path = str(order.sweep.path.resolve())
                tasks = [executor.submit(ArrayTask(path, each, order.trust, order.perform)) for each in batches]
        except (OSError, RuntimeError, self.submitit.core.utils.FailedJobError) as error:
            raise UserError(f"Slurm rejected the jobs: {one_line(error)}") from None
        return {str(task.job_id): batch for task, batch in zip(tasks, batches, strict=True)}

    def _batches(self, jobs: Sequence[int]) -> list[list[int]]:
        """Return the jobs of each array task."""
        size = self.per_job or -(-len(jobs) // MOST_TASKS)
        return [list(jobs[start : start + size]) for start in range(0, len(jobs), size)]

    def _executor(self, logs: Path, name: str, make: Any = None) -> Any:
        try:
            executor = (make or self.submitit.SlurmExecutor)(folder=logs / "%A", max_num_timeout=REQUEUES)
        except (RuntimeError, OSError) as error:
            raise UserError(f"no Slurm here: {one_line(error)}") from None
        parameters = {**SLURM_DEFAULTS, **self.options, "job_name": f"ngym-{name}"}
        parameters.setdefault("signal_delay_s", min(MOST_WARNING, parameters["time"] * 60 // 4))
        if self.workers:
            parameters["array_parallelism"] = self.workers
        further = {key.replace("_", "-"): parameters.pop(key) for key in list(parameters) if key not in SUBMITIT}
        setup = [f"export {name}=${{{name}:-1}}" for name in processes.VARIABLES]
        setup += [f"export {name}={value}" for name, value in processes.SAFE_ENVIRONMENT.items()]
        executor.update_parameters(**parameters, additional_parameters=further, setup=setup)
        return executor

    def _watch(self, order: JobSpec, names: set[str]) -> None:
        """Show the progress until no job is left in the queue. An interruption does not affect the jobs."""
        last_query = 0.0
        while True:
            order.look()
            if time.monotonic() - last_query > SECONDS_PER_QUESTION:
                last_query = time.monotonic()
                if not names & in_queue():
                    return
            time.sleep(SECONDS_PER_READING)


def _submitted(record: Path) -> dict[str, list[int]]:
    """Return the jobs of each submitted task.

    Raises:
        UserError: if the record is damaged.
    """
    record_content = read_json(record) if record.exists() else {}
    if not isinstance(record_content, dict) or not all(
        isinstance(jobs, list) and all(isinstance(job, int) for job in jobs) for jobs in record_content.values()
    ):
        raise UserError(f"{record} is damaged: it is not a list of jobs")
    return record_content


class ArrayTask:
    """Task of a job array: several jobs in sequence.

    Args:
        path: the sweep's folder.
        jobs: numbers of the jobs.
        trust: let the recipe name a user's own code.
        perform: does a job of other work than a sweep.
    """

    def __init__(self, path: str, jobs: Sequence[int], trust: bool, perform: Perform | None = None):
        self.path, self.jobs, self.trust, self.perform = path, list(jobs), trust, perform

    def __call__(self) -> list[str]:
        """Do the jobs that are not done; when warned of the end, put this task back into the queue with the rest."""
        if self.perform is not None:
            return [self.perform(self.path, job, self.trust) for job in self.jobs]
        number = signal.Signals[f"SIG{WARNING}"]
        requeue = signal.getsignal(number)
        states: list[str] = []
        for job in self.jobs:
            if self._rows(job, "state") <= set(status.FINAL):
                continue
            states.append(worker.perform(self.path, job, self.trust))
            warned = f"SIG{WARNING}" in self._rows(job, "reason")
            if warned and (states[-1] == worker.STOPPED or job != self.jobs[-1]) and callable(requeue):
                requeue(number, None)
            if warned or states[-1] == worker.STOPPED:
                break
        return states

    def _rows(self, job: int, name: Literal["state", "reason"]) -> set[str | None]:
        """Return the distinct values of a status field over a job's runs."""
        sweep = folder.load(Path(self.path))
        return {status.row(sweep, entry)[name] for entry in sweep.jobs[job]}

    def checkpoint(self) -> Any:
        """Return the task that submitit runs again; each run has written a checkpoint."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(ArrayTask(self.path, self.jobs, self.trust, self.perform))


def in_queue() -> set[str]:
    """Return the tasks that are pending or running, as ``ARRAY_TASK``, or ``JOB`` for jobs without an array.

    Raises:
        UserError: if the queue cannot be asked.
    """
    try:
        command = [processes.program("squeue"), "--noheader", "--array", "--format=%F_%K", "--me"]
        process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except FileNotFoundError:
        raise UserError("no Slurm here: squeue is not installed") from None
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise UserError(f"Slurm does not answer: {message_of(error.stderr or error)}") from None
    return {name.removesuffix("_N/A") for name in process.stdout.split()}


def minutes(text: str) -> int:
    """Return a time in Slurm's format (``90``, ``2:00:00``, ``30:00``, ``1-12``, ``1-12:30:00``) in whole minutes.

    Raises:
        UserError: if it is none.

    Example:
        >>> [minutes(text) for text in ("90", "2:00:00", "30:00", "1-12")]
        [90, 120, 30, 2160]
    """
    if not re.fullmatch(r"(\d+-)?\d+(:\d+){0,2}", text):
        raise UserError(
            f"{option('--slurm')} time: '{text}' is not a valid time; expected 90 (minutes), 2:00:00 or 1-12:00:00"
        )
    days, dash, rest = text.rpartition("-")
    fields = [int(field) for field in rest.split(":")]
    if dash:
        hours, mins, seconds = (*fields, 0, 0)[:3]
    elif len(fields) == 3:
        hours, mins, seconds = fields
    else:
        hours, mins, seconds = 0, fields[0], fields[1] if len(fields) == 2 else 0
    total = int(days or 0) * 1440 + hours * 60 + mins + -(-seconds // 60)
    if total < 1:
        raise UserError(f"{option('--slurm')} time: '{text}' is less than a minute")
    return total
