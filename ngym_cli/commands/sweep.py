"""``ngym sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ngym_cli.commands.options import all_flags, with_flags

VARIED, SEARCH, WHERE = "Parameters: one value, a,b,c or START:STOP", "Search", "Where"


@with_flags([flag for flag in all_flags() if flag.sweeps], many=True, panel=VARIED, at=2)
def command(
    what: Annotated[
        str | None,
        typer.Argument(help="A recipe (TOML); or 'status' or 'resume' with a sweep; nothing: flags are the recipe."),
    ] = None,
    sweep: Annotated[str | None, typer.Argument(help="Name or folder of a sweep, or 'latest'.")] = None,
    zip: Annotated[
        list[str] | None,
        typer.Option("--zip", help="Parameters that change together: units,timesteps.", rich_help_panel=VARIED),
    ] = None,
    search: Annotated[
        int | None, typer.Option(help="Number of trials drawn by Optuna.", rich_help_panel=SEARCH)
    ] = None,
    space: Annotated[
        list[str] | None,
        typer.Option(
            help="PARAMETER=log:LOW:HIGH, float:.., int:LOW:HIGH:STEP, logint:.., choice:V1:V2.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    maximize: Annotated[
        str | None, typer.Option(help="performance or reward_per_trial.", rich_help_panel=SEARCH)
    ] = None,
    sampler: Annotated[str | None, typer.Option(help="tpe or random.", rich_help_panel=SEARCH)] = None,
    pruner: Annotated[
        str | None, typer.Option(help="Ends poor trials early: median, hyperband or none.", rich_help_panel=SEARCH)
    ] = None,
    search_seed: Annotated[int | None, typer.Option(help="Seed of the draws.", rich_help_panel=SEARCH)] = None,
    on: Annotated[
        str | None,
        typer.Option(help="local, ray, ray:auto, ray:HOST:PORT or slurm.", rich_help_panel=WHERE),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Most runs at a time; default one per core.", rich_help_panel=WHERE)
    ] = None,
    slurm: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=VALUE for sbatch: partition=gpu, time=2:00:00; runs_per_job=10.", rich_help_panel=WHERE
        ),
    ] = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Do not wait for a Slurm cluster.", rich_help_panel=WHERE)
    ] = False,
    name: Annotated[str | None, typer.Option(help="Name of the sweep.", rich_help_panel=WHERE)] = None,
    sweeps: Annotated[Path, typer.Option(help="Folder of all sweeps.", rich_help_panel=WHERE)] = Path("sweeps"),
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Let the recipe import task code that this line does not name.", rich_help_panel=WHERE
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the runs and how long they would take.", rich_help_panel=WHERE)
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.", rich_help_panel=WHERE)] = False,
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
