"""``ngym diff``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import RunsFolder, option


def command(
    one: Annotated[
        str, typer.Argument(help="Run folder, name of a run, or 'latest'.", autocompletion=completion.run_folders)
    ],
    other: Annotated[str, typer.Argument(help="The other run.", autocompletion=completion.run_folders)],
    runs: RunsFolder = Path("runs"),
    json: Annotated[bool, option("Print a JSON array of differences.", "--json")] = False,
) -> None:
    """Say where two runs differ: configuration, seeds, versions, results. Exit code 1 if they do, 0 if not."""
    from ngym_cli import terminal
    from ngym_cli.runs import diff

    rows = diff.between(one, other, runs)
    terminal.print_json(rows) if json else diff.show(rows)
    raise typer.Exit(1 if rows else 0)
