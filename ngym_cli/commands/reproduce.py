"""``ngym reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.values import whole

WHERE = "Where"


def command(
    paper: Annotated[
        str | None,
        typer.Argument(
            help="Id of a paper, or the folder of your own; nothing: list the papers.", autocompletion=completion.papers
        ),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this part or claim, as ngym info PAPER names them; several times.")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(parser=whole, metavar="WHOLE", help="Networks of each part; default as the paper says."),
    ] = None,
    on: Annotated[
        str, typer.Option(help="local, ray, ray:auto, ray:HOST:PORT or slurm.", rich_help_panel=WHERE)
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Most networks at a time; default one per core.", rich_help_panel=WHERE)
    ] = None,
    slurm: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE for sbatch: partition=gpu, time=2:00:00.", rich_help_panel=WHERE),
    ] = None,
    reproductions: Annotated[Path, typer.Option(help="Folder of all reproductions.", rich_help_panel=WHERE)] = Path(
        "reproductions"
    ),
    trust: Annotated[bool, typer.Option("--trust", help="Let your paper's folder run code of its own.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Train what a paper trained, measure what it measured, draw its figures; repeating it goes on."""
    from ngym_cli.agents import threads

    threads.one()
    from ngym_cli.papers import requests

    if paper is None:
        raise typer.Exit(requests.show(json))
    launch = requests.launch_settings(on, workers, slurm)
    raise typer.Exit(requests.reproduce(paper, only or (), seeds, launch, reproductions, trust, json))
