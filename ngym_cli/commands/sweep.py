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
        typer.Argument(
            help="Recipe (TOML file), or 'status' or 'resume' followed by a sweep; without it, flags are the recipe."
        ),
    ] = None,
    sweep: Annotated[str | None, typer.Argument(help="Name or folder of a sweep, or 'latest'.")] = None,
    zip: Annotated[
        list[str] | None, option("Parameters that change together, as in units,timesteps.", "--zip", panel=VARIED)
    ] = None,
    search: Annotated[int | None, option("Number of trials drawn by Optuna.", panel=SEARCH)] = None,
    space: Annotated[
        list[str] | None,
        option("PARAMETER=log:LOW:HIGH, or float:, int:, logint:, choice:V1:V2.", panel=SEARCH),
    ] = None,
    maximize: Annotated[str | None, option("What to maximise: performance or reward_per_trial.", panel=SEARCH)] = None,
    sampler: Annotated[str | None, option("How parameters are drawn: tpe or random.", panel=SEARCH)] = None,
    pruner: Annotated[
        str | None, option("Early stopping of poor trials: median, hyperband or none.", panel=SEARCH)
    ] = None,
    search_seed: Annotated[int | None, option("Random seed of the search.", panel=SEARCH)] = None,
    on: Annotated[
        str | None, option("Where to run: local, ray, ray:auto, ray:HOST:PORT or slurm.", panel=WHERE)
    ] = None,
    workers: Annotated[int | None, option("Largest number of runs at a time (one per core).", panel=WHERE)] = None,
    slurm: Annotated[
        list[str] | None,
        option("NAME=VALUE for sbatch, as in partition=gpu or time=2:00:00; or runs_per_job=10.", panel=WHERE),
    ] = None,
    detach: Annotated[bool, option("Submit to Slurm and return.", "--detach", panel=WHERE)] = False,
    name: Annotated[str | None, option("Name of the sweep.", panel=WHERE)] = None,
    sweeps: Annotated[Path, option("Folder of all sweeps.", panel=WHERE)] = Path("sweeps"),
    trust: Annotated[
        bool, option("Trust code that the recipe names and this command line does not.", "--trust", panel=WHERE)
    ] = False,
    dry_run: Annotated[
        bool, option("Print the planned runs and their expected duration.", "--dry-run", panel=WHERE)
    ] = False,
    json: Annotated[bool, option("Print JSON.", "--json", panel=WHERE)] = False,
    **varied: Any,
) -> None:
    """Train many agents: grids, seeds and searches.

    Runs on this machine, a Ray cluster or Slurm. Run the same command again to resume.
    """
    from ngym_cli.agents import threads

    threads.one()
    from ngym_cli.sweeps import control

    searched = {
        "trials": search, "space": space, "maximize": maximize, "sampler": sampler, "pruner": pruner,
        "seed": search_seed,
    }  # fmt: skip
    where = {"on": on, "workers": workers, "slurm": slurm}
    code = control.sweep(
        what, sweep, varied, varied.pop("wrappers"), zip, searched, where, sweeps, name,
        detach=detach, trust=trust, dry_run=dry_run, json=json,
    )  # fmt: skip
    raise typer.Exit(code)
