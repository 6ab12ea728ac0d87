"""``ngym new``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands.options import option


def command(
    file: Annotated[
        Path, typer.Argument(help="Python file to write, as my_task.py, which will hold the class MyTask; or 'paper'.")
    ],
    name: Annotated[Path | None, typer.Argument(help="Folder of a new paper, as in ngym new paper my_study.")] = None,
    json: Annotated[bool, option("Print what was written as JSON.", "--json")] = False,
) -> None:
    """Write a commented example of your own part."""
    from ngym_cli import terminal
    from ngym_cli.errors import UserError

    if str(file) == "paper" and name is not None:
        from ngym_cli.papers import collection

        collection.new(name)
        made, where = str(name), name
        text = f"{name}/ written\nnext: ngym reproduce ./{name}"
    elif name is not None or str(file) == "paper":
        raise UserError("expected ngym new my_task.py, or ngym new paper my_study")
    else:
        from ngym_cli.catalog import own_tasks

        made, where = own_tasks.new(file), file
        text = f"{file} written\nnext: ngym check {made}\n      ngym info {made}\n      ngym run --task {made}"
    terminal.print_json({"id": made, "path": str(where)}) if json else terminal.console().print(text, soft_wrap=True)
