"""``ngym new``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    file: Annotated[Path, typer.Argument(help="Python file to write, as my_task.py; it will hold the class MyTask.")],
    json: Annotated[bool, typer.Option("--json", help="Print the task's name as one JSON document.")] = False,
) -> None:
    """Write a commented task that works as it stands, as the beginning of your own."""
    from ngym_cli import terminal
    from ngym_cli.catalog import own_tasks

    name = own_tasks.new(file)
    if json:
        terminal.print_json({"id": name, "path": str(file)})
    else:
        text = f"{file} written\nnext: ngym check {name}\n      ngym info {name}\n      ngym run --task {name}"
        terminal.console().print(text, soft_wrap=True)
