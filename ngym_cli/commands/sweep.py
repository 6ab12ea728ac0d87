"""``ngym sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ngym_cli.commands.options import all_flags, option, with_flags

VARIED, SEARCH, WHERE = "Parameters: one value, a,b,c or START:STOP", "Search", "Where"


@with_flags([flag for flag in all_flags() if flag.sweeps], many=True, panel=VARIED, at=2)
def command(
    what: Annotated[
        str | None,
        typer.Argument(help="A recipe (TOML); or 'status' or 'resume' with a sweep; nothing: flags are the recipe."),
    ] = None,
    sweep: Annotated[str | None, typer.Argument(help="Name or folder of a sweep, or 'latest'.")] = None,
    zip: Annotated[
        list[str] | None, option("Parameters that change together: units,timesteps.", "--zip", panel=VARIED)
    ] = None,
    search: Annotated[int | None, option("Number of trials drawn by Optuna.", panel=SEARCH)] = None,
    space: Annotated[
        list[str] | None,
        option("PARAMETER=log:LOW:HIGH, float:.., int:LOW:HIGH:STEP, logint:.., choice:V1:V2.", panel=SEARCH),
    ] = None,
    maximize: Annotated[str | None, option("performance or reward_per_trial.", panel=SEARCH)] = None,
    sampler: Annotated[str | None, option("tpe or random.", panel=SEARCH)] = None,
    pruner: Annotated[str | None, option("Ends poor trials early: median, hyperband or none.", panel=SEARCH)] = None,
    search_seed: Annotated[int | None, option("Seed of the draws.", panel=SEARCH)] = None,
    on: Annotated[str | None, option("local, ray, ray:auto, ray:HOST:PORT or slurm.", panel=WHERE)] = None,
    workers: Annotated[int | None, option("Most runs at a time; default one per core.", panel=WHERE)] = None,
    slurm: Annotated[
        list[str] | None, option("NAME=VALUE for sbatch: partition=gpu, time=2:00:00; runs_per_job=10.", panel=WHERE)
    ] = None,
    detach: Annotated[bool, option("Do not wait for a Slurm cluster.", "--detach", panel=WHERE)] = False,
    name: Annotated[str | None, option("Name of the sweep.", panel=WHERE)] = None,
    sweeps: Annotated[Path, option("Folder of all sweeps.", panel=WHERE)] = Path("sweeps"),
    trust: Annotated[
        bool, option("Let the recipe import task code that this line does not name.", "--trust", panel=WHERE)
    ] = False,
    dry_run: Annotated[bool, option("Print the runs and how long they would take.", "--dry-run", panel=WHERE)] = False,
    json: Annotated[bool, option("Print one JSON document.", "--json", panel=WHERE)] = False,
    **varied: Any,
) -> None:
    """Make many runs: grids, seeds and searches, here, on a Ray cluster or on Slurm; repeating it goes on."""
    from ngym_cli.agents import threads

    threads.one()
    from ngym_cli.sweeps import requests

    searched = {
        "trials": search, "space": space, "maximize": maximize, "sampler": sampler, "pruner": pruner,
        "seed": search_seed,
    }  # fmt: skip
    where = {"on": on, "workers": workers, "slurm": slurm}
    code = requests.sweep(
        what, sweep, varied, varied.pop("wrappers"), zip, searched, where, sweeps, name,
        detach=detach, trust=trust, dry_run=dry_run, json=json,
    )  # fmt: skip
    raise typer.Exit(code)
