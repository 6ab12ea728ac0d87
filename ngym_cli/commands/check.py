"""``ngym check``."""

from __future__ import annotations

from typing import Annotated

import typer

from ngym_cli.commands import completion


def command(
    tasks: Annotated[list[str] | None, typer.Argument(autocompletion=completion.tasks)] = None,
    all: bool = False,
    neurogym: bool = False,
    json: bool = False,
) -> None:
    """Check that your own tasks, networks and other parts work.

    Exit code 1 if a check fails.

    Options:
        tasks: Ids, old names, path/to/file.py:Class or package.module:Class; with --neurogym files.
        all: Check every task of the registry.
        neurogym: Read scripts written for NeuroGym; say line by line what is old, and what it is here.
        json: Print a JSON array, an object for each task.
    """
    from ngym_cli import terminal
    from ngym_cli.catalog import checking, printing

    if neurogym:
        found = checking.read_all(tasks or [])
        terminal.print_json(found) if json else printing.print_old_uses(found)
        raise typer.Exit(1 if any(row["status"] == "fails" for row in found) else 0)
    rows = []
    for row in checking.check(tasks or [], all):
        rows.append(row)
        if not json:
            printing.print_checked(row, in_full=len(tasks or []) == 1)
    failed = sum(row["status"] == "failed" for row in rows)
    if json:
        terminal.print_json(rows)
    else:
        terminal.console().print(f"{len(rows) - failed} of {len(rows)} ok")
    raise typer.Exit(1 if failed else 0)
