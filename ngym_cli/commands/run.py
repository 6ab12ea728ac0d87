"""``ngym run``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import all_flags, option, with_flags

RUN = "Run"


@with_flags(all_flags(), at=1)
def command(
    context: typer.Context,
    threads: Annotated[
        int | None,
        option(
            "Threads that share the learning; the result is the same for any number. Default: one on each core.",
            panel=RUN,
            min=1,
        ),
    ] = None,
    resume: Annotated[
        str | None,
        option(
            "Continue an interrupted run: its folder, its name, or 'latest'.",
            panel=RUN,
            autocompletion=completion.run_folders,
        ),
    ] = None,
    config: Annotated[
        Path | None, option("TOML file, as a run's config.toml; flags are laid over it.", panel=RUN)
    ] = None,
    name: Annotated[str | None, option("Name of the run folder.", panel=RUN)] = None,
    runs: Annotated[Path, option("Folder of all runs.", panel=RUN)] = Path("runs"),
    overwrite: Annotated[bool, option("Replace a run of this name.", "--overwrite", panel=RUN)] = False,
    trust: Annotated[
        bool, option("Let --config or --resume import task code that this line does not name.", "--trust", panel=RUN)
    ] = False,
    smoke: Annotated[
        bool, option("Build, check and train for a few hundred steps; keeps nothing.", "--smoke", panel=RUN)
    ] = False,
    json: Annotated[bool, option("Print the result as one JSON document.", "--json", panel=RUN)] = False,
    **typed: Any,
) -> None:
    """Train an agent; leaves a run folder with its record, trials, model and evaluation."""
    from ngym_cli.agents import threads as of_libraries
    from ngym_cli.config import flags
    from ngym_cli.errors import UserError
    from ngym_cli.training import requests, smoke_test

    of_libraries.learn_with(threads)
    of_libraries.one()
    given = flags.settings(**typed)
    if not (given or config or resume or name or smoke):
        typer.echo(context.get_help())
        raise typer.Exit
    if smoke:
        if resume or name:
            raise UserError(f"--smoke keeps nothing; --{'resume' if resume else 'name'} does not go with it")
        code = smoke_test.smoke(given, config, json, trust)
    else:
        code = requests.run(given, config, runs, name, overwrite, json, resume, trust)
    raise typer.Exit(code)
