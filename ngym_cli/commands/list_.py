"""``ngym list``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli import completion


def command(
    what: Annotated[
        str,
        typer.Argument(help="tasks, wrappers, algs, networks, tags or runs.", autocompletion=completion.listings),
    ] = "tasks",
    search: Annotated[list[str] | None, typer.Argument(help="Only tasks in which these words occur.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only tasks with this tag.", autocompletion=completion.tags)] = None,
    paper: Annotated[str | None, typer.Option(help="Only tasks whose paper contains this text.")] = None,
    ceilings: Annotated[bool, typer.Option("--ceilings", help="Show the best possible performance of tasks.")] = False,
    runs: Annotated[Path, typer.Option(help="Folder of the runs.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print a JSON array of objects with an 'id'.")] = False,
) -> None:
    """List tasks, wrappers, algorithms, networks, tags or runs."""
    from ngym_cli import catalog, terminal

    make = catalog.listing(what)
    catalog.refuse_filters(what, tag=tag, paper=paper, ceilings=ceilings, search=search)
    if what == "tasks":
        rows = make(tag=tag, search=search or (), paper=paper, ceilings=ceilings)
    else:
        rows = make(runs) if what == "runs" else make()
    terminal.print_json(rows) if json else terminal.print_rows(what, rows)
