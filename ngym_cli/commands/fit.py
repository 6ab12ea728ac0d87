"""``ngym fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands.options import Whole, option, single_threaded, with_roles


@with_roles(at=4)
@single_threaded
def command(
    table: Annotated[Path, typer.Argument()],
    model: str | None = None,
    units: str = "2",
    columns: Path | None = None,
    folds: Whole = 5,
    seeds: Whole = 3,
    test: Path | None = None,
    subjects: str = "each",
    recover: Whole = 0,
    seed: Annotated[int, option(min=0)] = 0,
    on: str | None = None,
    workers: Annotated[int | None, option(min=1)] = None,
    slurm: list[str] | None = None,
    name: str | None = None,
    runs: Path = Path("runs"),
    overwrite: bool = False,
    json: bool = False,
    **roles: str | None,
) -> None:
    """Fit models of choice to animals, humans or networks.

    Every trial is predicted by a model that was fitted without its session, from earlier trials of the session alone.

    Options:
        table: CSV, Parquet or NWB file with one row per trial.
        model: Models, as in psytrack,gru (see ngym list models), or your own file.py:name (what suits the table).
        units: Numbers of units of the networks, as in 1,2,4.
        columns: TOML file that maps the columns, as for ngym eval --compare.

    Scores:
        folds: Folds of the cross-validation by session.
        seeds: Networks whose probabilities are averaged.
        test: Table of later trials that the fitted models predict.
        subjects: Fit each subject, pooled over subjects, or hierarchical.
        recover: Simulations of each model that test the recovery of parameters and models.
        seed: Random seed.

    Where:
        on: Fit subjects one by one: local, ray, ray:auto, ray:HOST:PORT or slurm.
        workers: Largest number of subjects at a time (one per core).
        slurm: NAME=VALUE for sbatch, as in partition=gpu or time=2:00:00.

    Output:
        name: Name of the fit; one that was interrupted resumes.
        runs: Folder of all runs.
        overwrite: Replace a fit of this name.
        json: Print the result as JSON.
    """
    from ngym_cli import terminal
    from ngym_cli.fitting import printing, requests

    err = terminal.console(stderr=True)

    def progress(label: str, done: int, total: int) -> None:
        err.print(f"{label} ({done + 1} of {total})", soft_wrap=True)

    elsewhere = None
    if on is not None or workers is not None or slurm:
        from ngym_cli.sweeps import fits
        from ngym_cli.sweeps.recipe import launch_settings

        elsewhere = fits.on(launch_settings(on, workers, slurm), progress)
    hooks = requests.FitHooks(progress, err.print, elsewhere)
    found = requests.fit(
        table, model, hooks, units=units, folds=folds, seeds=seeds, seed=seed, subjects=subjects, test=test,
        columns=columns, recover=recover, name=name, runs=runs, overwrite=overwrite, **roles,
    )  # fmt: skip
    if json:
        terminal.print_json(found)
    else:
        printing.show(found)
