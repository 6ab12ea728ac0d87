"""``ngym reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import option
from ngym_cli.config.values import parse_whole

WHERE = "Where"


def command(
    paper: Annotated[
        str | None,
        typer.Argument(
            help="Id of a paper, or the folder of your own; nothing: list the papers.", autocompletion=completion.papers
        ),
    ] = None,
    only: Annotated[
        list[str] | None, option("Only this part or claim, as ngym info PAPER names them; several times.")
    ] = None,
    seeds: Annotated[
        int | None, option("Networks of each part; default as the paper says.", parser=parse_whole, metavar="INTEGER")
    ] = None,
    on: Annotated[str, option("local, ray, ray:auto, ray:HOST:PORT or slurm.", panel=WHERE)] = "local",
    workers: Annotated[int | None, option("Most networks at a time; default one per core.", panel=WHERE, min=1)] = None,
    slurm: Annotated[
        list[str] | None, option("NAME=VALUE for sbatch: partition=gpu, time=2:00:00.", panel=WHERE)
    ] = None,
    reproductions: Annotated[Path, option("Folder of all reproductions.", panel=WHERE)] = Path("reproductions"),
    trust: Annotated[bool, option("Let your paper's folder run code of its own.", "--trust")] = False,
    json: Annotated[bool, option("Print one JSON document.", "--json")] = False,
) -> None:
    """Train what a paper trained, measure what it measured, draw its figures; repeating it goes on."""
    from ngym_cli.agents import threads

    threads.one()
    from ngym_cli.papers import requests

    if paper is None:
        raise typer.Exit(requests.show(json))
    launch = requests.launch_settings(on, workers, slurm)
    raise typer.Exit(requests.reproduce(paper, only or (), seeds, launch, reproductions, trust, json))
