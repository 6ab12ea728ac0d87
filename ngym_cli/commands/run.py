"""``ngym run``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import all_flags, with_flags

RUN = "Run"


@with_flags(all_flags(), at=1)
def command(
    context: typer.Context,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Threads that share the learning; the result is the same for any number. Default: one on each core.",
            rich_help_panel=RUN,
        ),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            help="Continue an interrupted run: its folder, its name, or 'latest'.",
            rich_help_panel=RUN,
            autocompletion=completion.run_folders,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="TOML file, as a run's config.toml; flags are laid over it.", rich_help_panel=RUN),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run folder.", rich_help_panel=RUN)] = None,
    runs: Annotated[Path, typer.Option(help="Folder of all runs.", rich_help_panel=RUN)] = Path("runs"),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a run of this name.", rich_help_panel=RUN)
    ] = False,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust",
            help="Let --config or --resume import task code that this line does not name.",
            rich_help_panel=RUN,
        ),
    ] = False,
    smoke: Annotated[
        bool,
        typer.Option(
            "--smoke", help="Build, check and train for a few hundred steps; keeps nothing.", rich_help_panel=RUN
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the result as one JSON document.", rich_help_panel=RUN)
    ] = False,
    **typed: Any,
) -> None:
    """Train an agent; leaves a run folder with its record, trials, model and evaluation."""
    from ngym_cli.agents import threads as of_libraries
    from ngym_cli.config import flags
    from ngym_cli.training import requests, smoke_test

    of_libraries.learn_with(threads)
    of_libraries.one()
    given = flags.settings(**typed)
    if not (given or config or resume or name or smoke):
        typer.echo(context.get_help())
        raise typer.Exit
    if smoke:
        code = smoke_test.smoke(given, config, json, trust)
    else:
        code = requests.run(given, config, runs, name, overwrite, json, resume, trust)
    raise typer.Exit(code)
