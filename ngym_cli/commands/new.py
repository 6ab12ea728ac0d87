"""``ngym new``."""

from __future__ import annotations

from pathlib import Path

from ngym_cli.config.fields import Request
from ngym_cli.errors import UserError, check_known


class NewRequest(Request):
    """Write a commented example of your own part.

    Examples:
        ngym new my_task.py
        ngym new wrapper my_wrapper.py
    """

    kind: str
    file: Path | None = None
    by_trial: bool = False
    as_json: bool = False


def execute(request: NewRequest) -> None:
    """Write an example and print what to do next."""
    from ngym_cli import terminal
    from ngym_cli.catalog import writing

    kind, file = request.kind, request.file
    if file is None:
        if kind in writing.NEXT:
            raise UserError(f"expected ngym new {kind} {'my_study' if kind == 'paper' else f'my_{kind}.py'}")
        kind, file = "task", Path(kind)
    check_known("kind of part", kind, writing.NEXT)
    reference = writing.new(file, kind, request.by_trial)
    written = f"{file}/" if kind == "paper" else str(file)
    text = f"{written} written\nnext: " + "\n      ".join(writing.next_steps(kind, reference))
    terminal.print_outcome({"id": reference, "path": str(file)}, text, request.as_json)
