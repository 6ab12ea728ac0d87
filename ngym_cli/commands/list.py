"""``ngym list``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion


def command(
    what: Annotated[
        str,
        typer.Argument(
            help="tasks, wrappers, algs, networks, tags, runs, or differences (from NeuroGym's tasks).",
            autocompletion=completion.listings,
        ),
    ] = "tasks",
    search: Annotated[
        list[str] | None, typer.Argument(help="Only tasks, wrappers or differences in which these words occur.")
    ] = None,
    tag: Annotated[str | None, typer.Option(help="Only tasks with this tag.", autocompletion=completion.tags)] = None,
    paper: Annotated[str | None, typer.Option(help="Only tasks whose paper contains this text.")] = None,
    obs: Annotated[
        str | None,
        typer.Option(help="Only tasks with such observations: image, vector, a number or name of channels."),
    ] = None,
    action: Annotated[
        str | None,
        typer.Option(help="Only tasks with such actions: discrete, continuous, a number or name of actions."),
    ] = None,
    ceilings: Annotated[bool, typer.Option("--ceilings", help="Show the best possible performance of tasks.")] = False,
    runs: Annotated[Path, typer.Option(help="Folder of the runs.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print a JSON array of objects with an 'id'.")] = False,
) -> None:
    """List tasks, wrappers, algorithms, networks, tags, runs, or where tasks differ from NeuroGym's."""
    from ngym_cli import terminal
    from ngym_cli.catalog import listing

    make = listing.listing(what)
    listing.refuse_filters(what, tag=tag, paper=paper, obs=obs, action=action, ceilings=ceilings, search=search)
    if what == "tasks":
        rows = make(tag=tag, search=search or (), paper=paper, ceilings=ceilings, obs=obs, action=action)
    elif what in listing.SEARCHED:
        rows = make(search=search or ())
    else:
        rows = make(runs) if what == "runs" else make()
    terminal.print_json(rows) if json else terminal.print_rows(what, rows)
