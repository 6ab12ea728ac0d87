"""Fits of many subjects as jobs of the launchers of sweeps: one job for each subject."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neurogym.behaviour.table import Behaviour
from ngym_cli import processes
from ngym_cli.config.launch import LaunchSettings
from ngym_cli.errors import UserError
from ngym_cli.fitting import fitted
from ngym_cli.fitting.folder import SUBJECTS_FILE, FitFolder
from ngym_cli.fitting.requests import Elsewhere, FitProgress
from ngym_cli.sweeps import launchers
from ngym_cli.sweeps.worker import DONE, attempted


@dataclass(frozen=True)
class Subjects:
    """Subjects of a fit as numbered jobs; see `ngym_cli.sweeps.launchers.JobFolder`.

    Attributes:
        path: folder of the fit.
    """

    path: Path

    @property
    def name(self) -> str:
        """Name of the fit."""
        return self.path.name

    def error_path(self, job: int) -> Path:
        """Return the file with the error of a failed job."""
        return self.path / SUBJECTS_FILE / f"{job:05d}.txt"


def perform(path: str, job: int, trust: bool = False) -> str:
    """Fit all models to a subject; what is complete is not fitted again.

    Args:
        path: folder of the fit.
        job: number of the subject.
        trust: not needed; the command that made the fit named the code.

    Returns:
        ``done`` or ``failed`` (the reason is in the folder).
    """
    processes.limit_in_worker()

    def do() -> str:
        fitted.fit_subject(FitFolder(Path(path)), job)
        return DONE

    return attempted(do, Subjects(Path(path)).error_path(job))


def on(launch: LaunchSettings, progress: FitProgress | None = None) -> Elsewhere:
    """Return a function that fits subjects one by one with a launcher of sweeps.

    Args:
        launch: launch settings, as of ``ngym sweep``.
        progress: called with the number of subjects that are done.

    Raises:
        UserError: if the launcher does not exist or cannot be had.
    """
    launcher = launchers.find(launch)

    def fit_all(folder: FitFolder, labels: list[str], table: Behaviour) -> None:
        work, total = Subjects(folder.path), len(table.subjects)
        jobs = [] if all(folder.load(label) for label in labels) else fitted.missing(folder, labels, total)
        n_finished = -1

        def look() -> None:
            nonlocal n_finished
            now = total - len(fitted.missing(folder, labels, total))
            if progress is not None and now > n_finished:
                progress("subjects", now - 1, total)
            n_finished = now

        for job in jobs:
            work.error_path(job).unlink(missing_ok=True)
        if jobs:
            launcher.launch(launchers.JobSpec(work, jobs, True, look, perform=perform))
        for job in jobs:
            if work.error_path(job).is_file():
                error = work.error_path(job).read_text(encoding="utf-8").partition("\n")[0]
                raise UserError(f"subject {table.subjects[job]}: {error}")

    return fit_all
