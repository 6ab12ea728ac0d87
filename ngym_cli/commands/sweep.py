"""``ngym sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ngym_cli.commands.options import option, single_threaded, with_flags
from ngym_cli.config.flags import FLAGS

VARIED = "Parameters: one value, a,b,c or START:STOP"


@with_flags([flag for flag in FLAGS.values() if flag.sweeps], many=True, panel=VARIED, at=2)
@single_threaded
def command(
    what: Annotated[str | None, typer.Argument()] = None,
    sweep: Annotated[str | None, typer.Argument()] = None,
    zip: Annotated[list[str] | None, option(panel=VARIED)] = None,
    search: int | None = None,
    space: list[str] | None = None,
    maximize: str | None = None,
    sampler: str | None = None,
    pruner: str | None = None,
    search_seed: int | None = None,
    on: str | None = None,
    workers: int | None = None,
    slurm: list[str] | None = None,
    detach: bool = False,
    name: str | None = None,
    sweeps: Path = Path("sweeps"),
    trust: bool = False,
    dry_run: bool = False,
    json: bool = False,
    **varied: Any,
) -> None:
    """Train many agents: grids, seeds and searches.

    Runs on this machine, a Ray cluster or Slurm. Run the same command again to resume.

    Options:
        what: Recipe (TOML file), or 'status' or 'resume' followed by a sweep; without it, flags are the recipe.
        sweep: Name or folder of a sweep, or 'latest'.
        zip: Parameters that change together, as in units,timesteps.

    Search:
        search: Number of trials drawn by Optuna.
        space: PARAMETER=log:LOW:HIGH, or float:, int:, logint:, choice:V1:V2.
        maximize: What to maximise: performance or reward_per_trial.
        sampler: How parameters are drawn: tpe or random.
        pruner: Early stopping of poor trials: median, hyperband or none.
        search_seed: Random seed of the search.

    Where:
        on: Where to run: local, ray, ray:auto, ray:HOST:PORT or slurm.
        workers: Largest number of runs at a time (one per core).
        slurm: NAME=VALUE for sbatch, as in partition=gpu or time=2:00:00; or runs_per_job=10.
        detach: Submit to Slurm and return.
        name: Name of the sweep.
        sweeps: Folder of all sweeps.
        trust: Trust code that the recipe names and this command line does not.
        dry_run: Print the planned runs and their expected duration.
        json: Print JSON.
    """
    from ngym_cli.sweeps.control import SweepCommand
    from ngym_cli.sweeps.recipe import from_flags, launch_from_flags, tables_from_flags

    searched = {
        "trials": search, "space": space, "maximize": maximize, "sampler": sampler, "pruner": pruner,
        "seed": search_seed,
    }  # fmt: skip
    over = tables_from_flags(launch_from_flags(on, workers, slurm), searched, zip)
    stacks = varied.pop("wrappers")
    asked = SweepCommand(
        what, sweep, from_flags(varied, stacks), over, sweeps, name,
        detach=detach, trust=trust, dry_run=dry_run, json=json,
    )  # fmt: skip
    raise typer.Exit(asked.execute())
