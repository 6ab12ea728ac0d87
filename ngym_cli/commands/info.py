"""``ngym info``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion


def command(
    name: Annotated[str, typer.Argument(help="A task or a wrapper.", autocompletion=completion.tasks_and_wrappers)],
    dt: Annotated[float | None, typer.Option(help="Time step in ms.")] = None,
    timing: Annotated[list[str] | None, typer.Option(help="PERIOD=DURATION.")] = None,
    task_arg: Annotated[list[str] | None, typer.Option(help="NAME=VALUE, an argument of the task.")] = None,
    wrappers: Annotated[
        str | None, typer.Option(help="Stack, innermost first.", autocompletion=completion.wrappers)
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Determines the trial that is drawn.")] = 0,
    figure: Annotated[Path | None, typer.Option(help="Also draw the trial into this file (png, svg, pdf).")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file named with --figure.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON document.")] = False,
) -> None:
    """Explain a task (paper, periods, channels, rewards, chance, ceiling, a drawn trial) or a wrapper."""
    from ngym_cli import terminal
    from ngym_cli.catalog import pages
    from ngym_cli.config import flags

    given = flags.settings(dt=dt, timing=timing, task_arg=task_arg, wrappers=wrappers)
    found = pages.describe(name, given, seed, figure, overwrite)
    terminal.print_json(found) if json else pages.show(found)
