"""``ngym reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import Whole, option, single_threaded


@single_threaded
def command(
    paper: Annotated[str | None, typer.Argument(autocompletion=completion.papers)] = None,
    only: list[str] | None = None,
    seeds: Whole | None = None,
    first_seed: Whole = 0,
    on: str = "local",
    workers: Annotated[int | None, option(min=1)] = None,
    slurm: list[str] | None = None,
    reproductions: Path = Path("reproductions"),
    trust: bool = False,
    json: bool = False,
) -> None:
    """Repeat the experiments and test the claims of a paper.

    Trains the networks of the paper, measures its claims and draws its figures. Run the same command again to resume.

    Options:
        paper: Name of a paper, or folder of your own; without it, all papers are listed.
        only: Only this part or claim (see ngym info PAPER); repeat for several.
        seeds: Networks for each part (default: as in the paper).
        first_seed: First seed; others repeat a result with fresh networks.
        trust: Trust the code in the folder of your paper.
        json: Print JSON.

    Where:
        on: Where to run: local, ray, ray:auto, ray:HOST:PORT or slurm.
        workers: Largest number of networks at a time (one per core).
        slurm: NAME=VALUE for sbatch, as in partition=gpu or time=2:00:00.
        reproductions: Folder of all reproductions.
    """
    from ngym_cli.papers import requests
    from ngym_cli.sweeps.recipe import launch_settings

    if paper is None:
        raise typer.Exit(requests.show(json))
    launch = launch_settings(on, workers, slurm)
    asked = requests.SeedRange(seeds, first_seed)
    raise typer.Exit(requests.reproduce(paper, only or (), asked, launch, reproductions, trust, json))
