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
            "Threads for learning; the result does not depend on them. Default: one per core.",
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
        Path | None, option("TOML file, such as a run's config.toml; flags override it.", panel=RUN)
    ] = None,
    name: Annotated[str | None, option("Name of the run folder.", panel=RUN)] = None,
    runs: Annotated[Path, option("Folder of all runs.", panel=RUN)] = Path("runs"),
    overwrite: Annotated[bool, option("Replace a run of this name.", "--overwrite", panel=RUN)] = False,
    trust: Annotated[
        bool, option("Trust code that --config or --resume names and this command line does not.", "--trust", panel=RUN)
    ] = False,
    smoke: Annotated[
        bool, option("Build, check and train for a few hundred steps; keep nothing.", "--smoke", panel=RUN)
    ] = False,
    tag: Annotated[list[str] | None, option("Tag of the run, as for ngym runs; repeat for several.", panel=RUN)] = None,
    dry_run: Annotated[
        bool, option("Print what would be trained, where and for how long; make nothing.", "--dry-run", panel=RUN)
    ] = False,
    print_config: Annotated[
        bool, option("Print the complete configuration as TOML; make nothing.", "--print-config", panel=RUN)
    ] = False,
    json: Annotated[bool, option("Print the result as JSON.", "--json", panel=RUN)] = False,
    **typed: Any,
) -> None:
    """Train an agent and keep everything in a run folder.

    The folder holds the configuration, every trial, learning curves, checkpoints, the model and an evaluation.
    """
    from ngym_cli.agents import threads as of_libraries
    from ngym_cli.config import flags
    from ngym_cli.errors import UserError
    from ngym_cli.training import requests

    of_libraries.learn_with(threads)
    of_libraries.one()
    given = flags.settings(**typed)
    planned = dry_run or print_config
    if not (given or config or resume or name or smoke or planned):
        typer.echo(context.get_help())
        raise typer.Exit
    if planned:
        if resume or smoke:
            raise UserError("--dry-run and --print-config go with neither --resume nor --smoke")
        raise typer.Exit(requests.plan(given, config, runs, name, trust, print_config, json))
    if smoke:
        if resume or name or tag:
            other = "resume" if resume else "name" if name else "tag"
            raise UserError(f"--smoke keeps nothing; --{other} does not go with it")
        code = requests.smoke(given, config, json, trust)
    else:
        code = requests.run(given, config, runs, name, overwrite, json, resume, trust, tag or ())
    raise typer.Exit(code)
