"""Launchers of the jobs of a sweep: a small interface and three engines from other packages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ngym_cli.config.launch import LaunchSettings
from ngym_cli.errors import UserError, option, unknown

#: Launchers with description, required packages, and the full form of the name where there is one.
MEANING = {
    "local": "processes on this machine, one run per core at a time (--workers)",
    "ray": "a Ray cluster: ray starts one here, ray:auto joins the one at hand, ray:HOST:PORT one elsewhere",
    "slurm": "jobs of a Slurm cluster through submitit (--slurm partition=gpu, --detach)",
}
LAUNCHERS = tuple(MEANING)
NEEDS = {"ray": "pip install 'ngym[ray]'", "slurm": "pip install 'ngym[slurm]' and sbatch"}
WRITTEN = {"slurm": "slurm --slurm partition=NAME"}

#: Times that a job is tried again when its process or its machine is lost.
RETRIES = 3

#: Seconds between two readings of the run folders.
SECONDS_PER_READING = 1.0


class JobFolder(Protocol):
    """Folder of work that consists of numbered jobs: a sweep, or a fit of many subjects."""

    @property
    def path(self) -> Path:
        """Folder of the work."""

    @property
    def name(self) -> str:
        """Name of the work."""

    def error_path(self, job: int) -> Path:
        """Return the file with the error of a failed job."""


#: Function that does a job, given the folder, the number of the job and trust; returns the state of the job.
Perform = Callable[[str, int, bool], str]


@dataclass(frozen=True)
class JobSpec:
    """Request to a launcher.

    Attributes:
        sweep: the sweep, or other work.
        jobs: numbers of the jobs.
        trust: let the recipe name a user's own code.
        look: called about once a second; shows the progress.
        detach: return as soon as the jobs are submitted, where the engine allows this.
        perform: does a job of other work; None for a sweep.
    """

    sweep: JobFolder
    jobs: Sequence[int]
    trust: bool
    look: Callable[[], None]
    detach: bool = False
    perform: Perform | None = None


class Launcher(Protocol):
    """An engine that does jobs by calling ``ngym_cli.sweeps.worker.perform``, or the order's own, for each.

    A launcher knows nothing of runs: what a job has come to is in the sweep's folder. It may do a job twice or lose
    one; the first is harmless, for a job skips what is done, and the second is mended by calling it again.

    Attributes:
        workers: most jobs at a time; None: as many as the engine has room for.
    """

    @property
    def workers(self) -> int | None:
        """Most jobs at a time."""

    def launch(self, order: JobSpec) -> None:
        """Do all jobs.

        Raises:
            UserError: if the engine cannot be had.
            KeyboardInterrupt: if the user interrupts; the jobs have then been asked to stop.
        """


def find(settings: LaunchSettings) -> Launcher:
    """Return a launcher by name: ``local``, ``ray``, ``ray:auto``, ``ray:HOST:PORT`` or ``slurm``.

    Raises:
        UserError: if the name is unknown or the package is not installed.
    """
    name, address = _name(settings)
    if name == "ray":
        from ngym_cli.sweeps.launchers.ray import Ray

        return Ray(address, settings.workers)
    if name == "slurm":
        from ngym_cli.sweeps.launchers.slurm import Slurm

        return Slurm(settings.slurm, settings.workers)
    from ngym_cli.sweeps.launchers.local import Local

    return Local(settings.workers)


def batch_script(settings: LaunchSettings, path: Path, jobs: Sequence[int]) -> str:
    """Return the batch script that would be submitted for jobs; empty without a cluster. Slurm need not be installed.

    Args:
        settings: name and options of the launcher.
        path: folder of the sweep.
        jobs: numbers of the jobs.

    Raises:
        UserError: if the name is unknown or the package is not installed.
    """
    if _name(settings)[0] != "slurm":
        return ""
    from ngym_cli.sweeps.launchers.slurm import Slurm

    return Slurm(settings.slurm, settings.workers, dry_run=True).script(path, jobs)


def _name(settings: LaunchSettings) -> tuple[str, str]:
    """Return name and address of a launcher."""
    name, _, address = settings.on.partition(":")
    if name not in LAUNCHERS:
        raise unknown("launcher", settings.on, LAUNCHERS)
    if address and name != "ray":
        raise UserError(f"launcher {name} takes no address, as in '{settings.on}'")
    if settings.slurm and name != "slurm":
        raise UserError(f"{option('--slurm')} applies only to {option('--on slurm')}")
    return name, address
