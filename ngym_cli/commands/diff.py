"""``ngym diff``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import RunName, RunsFolder, option


def command(
    one: RunName,
    other: Annotated[str, typer.Argument(help="The other run.", autocompletion=completion.run_folders)],
    runs: RunsFolder = Path("runs"),
    json: Annotated[bool, option("Print the differences as JSON.", "--json")] = False,
) -> None:
    """Compare the settings, versions and results of two runs.

    Lists differences of configuration, seeds, versions and results. Exit code 1 if the runs differ, 0 if not.
    """
    from ngym_cli import terminal
    from ngym_cli.runs import managing

    rows = managing.between(one, other, runs)
    terminal.print_json(rows) if json else managing.show(rows)
    raise typer.Exit(1 if rows else 0)
