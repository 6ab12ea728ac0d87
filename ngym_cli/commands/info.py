"""``ngym info``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import all_flags, option, with_flags


@with_flags([flag for flag in all_flags() if flag.changes], panel="Settings of the task", at=1)
def command(
    name: Annotated[
        str,
        typer.Argument(
            help="A task, wrapper, algorithm, network, figure, launcher, analysis or paper.",
            autocompletion=completion.everything,
        ),
    ],
    seed: Annotated[int, option("Random seed of the trial shown.", min=0)] = 0,
    figure: Annotated[Path | None, option("Also draw the trial to this file (png, svg, pdf).")] = None,
    overwrite: Annotated[bool, option("Replace the file named with --figure.", "--overwrite")] = False,
    json: Annotated[bool, option("Print everything as JSON.", "--json")] = False,
    **changed: Any,
) -> None:
    """Explain a task, wrapper, algorithm, network, figure or paper.

    Says what it does, what can be set to which values, and where it comes from.
    """
    from ngym_cli import terminal
    from ngym_cli.catalog import pages, printing
    from ngym_cli.config import flags

    given = flags.settings(**changed)
    found = pages.describe(name, given, seed, figure, overwrite)
    terminal.print_json(pages.as_json(found)) if json else printing.print_page(found)
