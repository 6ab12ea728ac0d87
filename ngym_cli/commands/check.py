"""``ngym check``."""

from __future__ import annotations

from typing import Annotated

import typer

from ngym_cli.commands import completion


def command(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            help="Ids, old names, path/to/file.py:Class or package.module:Class.", autocompletion=completion.tasks
        ),
    ] = None,
    all: Annotated[bool, typer.Option("--all", help="Check every task of the registry.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON array, an object for each task.")] = False,
) -> None:
    """Hold tasks against the contract that every task keeps to, and say what is wrong; exit code 1 if anything is."""
    from ngym_cli import terminal
    from ngym_cli.catalog import own_tasks

    rows = []
    for row in own_tasks.check(own_tasks.chosen(tasks or [], all)):
        rows.append(row)
        if not json:
            terminal.print_checked(row, in_full=len(tasks or []) == 1)
    failed = sum(row["status"] == "failed" for row in rows)
    if json:
        terminal.print_json(rows)
    else:
        terminal.console().print(f"{len(rows) - failed} of {len(rows)} tasks ok")
    raise typer.Exit(1 if failed else 0)
