"""``ngym fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands.options import option, whole, with_roles

SCORE, WHERE, OUTPUT = "Scores", "Where", "Output"


@with_roles(at=4)
def command(
    table: Annotated[Path, typer.Argument(help="CSV, Parquet or NWB file with one row per trial.")],
    model: Annotated[
        str | None,
        option("Models (see ngym list models) or your own file.py:name; those that suit the table if left out."),
    ] = None,
    units: Annotated[str, option("Numbers of units of the networks, as in 1,2,4.")] = "2",
    columns: Annotated[Path | None, option("TOML file that maps the columns, as for ngym eval --compare.")] = None,
    folds: Annotated[int, whole("Folds of the cross-validation by session.", panel=SCORE)] = 5,
    seeds: Annotated[int, whole("Networks whose probabilities are averaged.", panel=SCORE)] = 3,
    test: Annotated[Path | None, option("Table of later trials that the fitted models predict.", panel=SCORE)] = None,
    subjects: Annotated[str, option("Fit each subject, pooled over subjects, or hierarchical.", panel=SCORE)] = "each",
    recover: Annotated[
        int,
        whole("Simulations of each model that test the recovery of parameters and models.", panel=SCORE),
    ] = 0,
    seed: Annotated[int, option("Random seed.", panel=SCORE, min=0)] = 0,
    on: Annotated[
        str | None, option("Fit subjects one by one: local, ray, ray:auto, ray:HOST:PORT or slurm.", panel=WHERE)
    ] = None,
    workers: Annotated[
        int | None, option("Largest number of subjects at a time (one per core).", panel=WHERE, min=1)
    ] = None,
    slurm: Annotated[
        list[str] | None, option("NAME=VALUE for sbatch, as in partition=gpu or time=2:00:00.", panel=WHERE)
    ] = None,
    name: Annotated[str | None, option("Name of the fit; one that was interrupted resumes.", panel=OUTPUT)] = None,
    runs: Annotated[Path, option("Folder of all runs.", panel=OUTPUT)] = Path("runs"),
    overwrite: Annotated[bool, option("Replace a fit of this name.", "--overwrite", panel=OUTPUT)] = False,
    json: Annotated[bool, option("Print the result as JSON.", "--json", panel=OUTPUT)] = False,
    **roles: str | None,
) -> None:
    """Fit models of choice to animals, humans or networks.

    Every trial is predicted by a model that was fitted without its session, from earlier trials of the session alone.
    """
    from ngym_cli import terminal
    from ngym_cli.agents import threads
    from ngym_cli.errors import UserError
    from ngym_cli.fitting import printing, requests
    from ngym_cli.fitting.settings import Place, Settings

    threads.one()
    if not all(entry.isdecimal() for entry in requests.parse(units)) or not requests.parse(units):
        raise UserError(f"--units must be whole numbers, as in 1,2,4, not '{units}'")
    if model is not None and not requests.parse(model):
        raise UserError("--model is empty; expected names as in psytrack,gru")
    settings = Settings(
        str(table),
        requests.parse(model or ""),
        tuple(map(int, requests.parse(units))),
        folds,
        seeds,
        seed,
        subjects,
        None if test is None else str(test),
        None if columns is None else str(columns),
        roles,
    )

    err = terminal.console(stderr=True)

    def progress(label: str, done: int, total: int) -> None:
        err.print(f"{label} ({done + 1} of {total})", soft_wrap=True)

    elsewhere = None
    if on is not None or workers is not None or slurm:
        from ngym_cli.sweeps import fits

        elsewhere = fits.on({"on": on, "workers": workers, "slurm": slurm}, progress)
    found = requests.run(settings, Place(runs, name, overwrite), progress, recover, elsewhere, err.print)
    if json:
        terminal.print_json(found)
    else:
        printing.show(found)
