"""``ngym new``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    kind: Annotated[str, typer.Argument()],
    file: Annotated[Path | None, typer.Argument()] = None,
    by_trial: bool = False,
    json: bool = False,
) -> None:
    """Write a commented example of your own part.

    Options:
        kind: task, wrapper, network, algorithm, figure, model or paper; a file alone is a task.
        file: Python file to write, as my_cell.py for the class MyCell; folder of a paper.
        by_trial: Write a task in the style of NeuroGym: one trial at a time, rewards in _step.
        json: Print what was written as JSON.
    """
    from ngym_cli import terminal
    from ngym_cli.catalog import writing
    from ngym_cli.errors import UserError, check_known

    if file is None:
        if kind in writing.NEXT:
            raise UserError(f"expected ngym new {kind} {'my_study' if kind == 'paper' else f'my_{kind}.py'}")
        kind, file = "task", Path(kind)
    check_known("kind of part", kind, writing.NEXT)
    made = writing.new(file, kind, by_trial)
    written = f"{file}/" if kind == "paper" else str(file)
    text = f"{written} written\nnext: " + "\n      ".join(writing.next_steps(kind, made))
    terminal.print_outcome({"id": made, "path": str(file)}, text, json)
