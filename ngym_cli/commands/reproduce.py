"""``ngym reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import option, whole

WHERE = "Where"


def command(
    paper: Annotated[
        str | None,
        typer.Argument(
            help="Name of a paper, or folder of your own; without it, all papers are listed.",
            autocompletion=completion.papers,
        ),
    ] = None,
    only: Annotated[
        list[str] | None, option("Only this part or claim (see ngym info PAPER); repeat for several.")
    ] = None,
    seeds: Annotated[int | None, whole("Networks for each part (default: as in the paper).")] = None,
    first_seed: Annotated[int, whole("First seed; others repeat a result with fresh networks.")] = 0,
    on: Annotated[str, option("Where to run: local, ray, ray:auto, ray:HOST:PORT or slurm.", panel=WHERE)] = "local",
    workers: Annotated[
        int | None, option("Largest number of networks at a time (one per core).", panel=WHERE, min=1)
    ] = None,
    slurm: Annotated[
        list[str] | None, option("NAME=VALUE for sbatch, as in partition=gpu or time=2:00:00.", panel=WHERE)
    ] = None,
    reproductions: Annotated[Path, option("Folder of all reproductions.", panel=WHERE)] = Path("reproductions"),
    trust: Annotated[bool, option("Trust the code in the folder of your paper.", "--trust")] = False,
    json: Annotated[bool, option("Print JSON.", "--json")] = False,
) -> None:
    """Repeat the experiments and test the claims of a paper.

    Trains the networks of the paper, measures its claims and draws its figures. Run the same command again to resume.
    """
    from ngym_cli.agents import threads

    threads.one()
    from ngym_cli.papers import requests

    if paper is None:
        raise typer.Exit(requests.show(json))
    launch = requests.launch_settings(on, workers, slurm)
    asked = requests.SeedRange(seeds, first_seed)
    raise typer.Exit(requests.reproduce(paper, only or (), asked, launch, reproductions, trust, json))
