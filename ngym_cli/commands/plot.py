"""``ngym plot``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli import completion


def command(
    run: Annotated[
        str, typer.Argument(help="Run folder, name of a run, or 'latest'.", autocompletion=completion.run_folders)
    ] = "latest",
    figures: Annotated[
        list[str] | None,
        typer.Argument(help="learning, psychometric, chronometric, conditions, examples; default all that there are."),
    ] = None,
    format: Annotated[str, typer.Option("--format", help="png, svg or pdf.")] = "png",
    out: Annotated[Path | None, typer.Option(help="Folder for the figures; default the run's own.")] = None,
    runs: Annotated[Path, typer.Option(help="Folder of all runs.")] = Path("runs"),
    trust: Annotated[
        bool, typer.Option("--trust", help="Let the run's record import the user's own task code.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was drawn as a JSON array.")] = False,
) -> None:
    """Draw a run: learning curve, psychometric and chronometric curve, performance by condition, example trials."""
    from ngym_cli import drawing, terminal

    rows = drawing.draw(run, runs, figures or [], format, out, trust)
    if json:
        terminal.print_json(rows)
        return
    for row in rows:
        where = row["path"] or f"not drawn: {row['reason']}"
        terminal.console().print(f"{row['id']:<14}{where}", soft_wrap=True)
