"""``ngym info``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import option, with_flags
from ngym_cli.config.flags import FLAGS


@with_flags([flag for flag in FLAGS.values() if flag.changes], panel="Settings of the task", at=1)
def command(
    name: Annotated[str, typer.Argument(autocompletion=completion.everything)],
    seed: Annotated[int, option(min=0)] = 0,
    figure: Path | None = None,
    overwrite: bool = False,
    json: bool = False,
    **changed: object,
) -> None:
    """Explain a task, wrapper, algorithm, network, figure or paper.

    Says what it does, what can be set to which values, and where it comes from.

    Options:
        name: A task, wrapper, algorithm, network, figure, launcher, analysis or paper.
        seed: Random seed of the trial shown.
        figure: Also draw the trial to this file (png, svg, pdf).
        overwrite: Replace the file named with --figure.
        json: Print everything as JSON.
    """
    from ngym_cli import terminal
    from ngym_cli.catalog import pages, printing
    from ngym_cli.config import flags

    given = flags.settings(**changed)
    found = pages.describe(name, given, seed, figure, overwrite)
    terminal.print_json(pages.as_json(found)) if json else printing.print_page(found)
