"""``ngym diff``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import RunName, RunsFolder


def command(
    one: RunName,
    other: Annotated[str, typer.Argument(autocompletion=completion.run_folders)],
    runs: RunsFolder = Path("runs"),
    json: bool = False,
) -> None:
    """Compare the settings, versions and results of two runs.

    Lists differences of configuration, seeds, versions and results. Exit code 1 if the runs differ, 0 if not.

    Options:
        other: The other run.
        json: Print the differences as JSON.
    """
    from ngym_cli import terminal
    from ngym_cli.runs import managing

    rows = managing.between(one, other, runs)
    terminal.print_json(rows) if json else managing.show(rows)
    raise typer.Exit(1 if rows else 0)
