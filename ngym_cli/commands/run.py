"""``ngym run``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import option, with_flags
from ngym_cli.config.flags import FLAGS


@with_flags(FLAGS.values(), at=1)
def command(
    context: typer.Context,
    threads: Annotated[int | None, option(min=1)] = None,
    resume: Annotated[str | None, option(autocompletion=completion.run_folders)] = None,
    config: Path | None = None,
    name: str | None = None,
    runs: Path = Path("runs"),
    overwrite: bool = False,
    trust: bool = False,
    smoke: bool = False,
    tag: list[str] | None = None,
    dry_run: bool = False,
    print_config: bool = False,
    json: bool = False,
    **typed: object,
) -> None:
    """Train an agent and keep everything in a run folder.

    The folder holds the configuration, every trial, learning curves, checkpoints, the model and an evaluation.

    Run:
        threads: Threads for learning; the result does not depend on them. Default: one per core.
        resume: Continue an interrupted run: its folder, its name, or 'latest'.
        config: TOML file, such as a run's config.toml; flags override it.
        name: Name of the run folder.
        runs: Folder of all runs.
        overwrite: Replace a run of this name.
        trust: Trust code that --config or --resume names and this command line does not.
        smoke: Build, check and train for a few hundred steps; keep nothing.
        tag: Tag of the run, as for ngym runs; repeat for several.
        dry_run: Print what would be trained, where and for how long; make nothing.
        print_config: Print the complete configuration as TOML; make nothing.
        json: Print the result as JSON.
    """
    from ngym_cli.agents import threads as of_libraries
    from ngym_cli.config import flags
    from ngym_cli.errors import UserError
    from ngym_cli.training.requests import RunCommand

    of_libraries.learn_with(threads)
    of_libraries.one()
    given = flags.settings(**typed)
    planned = dry_run or print_config
    if not (given or config or resume or name or smoke or planned):
        typer.echo(context.get_help())
        raise typer.Exit
    asked = RunCommand(given, config, runs, name, overwrite, trust, json, tag or ())
    if planned:
        if resume or smoke:
            raise UserError("--dry-run and --print-config go with neither --resume nor --smoke")
        raise typer.Exit(asked.plan(print_config))
    if smoke:
        if resume or name or tag:
            other = "resume" if resume else "name" if name else "tag"
            raise UserError(f"--smoke keeps nothing; --{other} does not go with it")
        raise typer.Exit(asked.smoke())
    raise typer.Exit(asked.train() if resume is None else asked.resume(resume))
