"""``ngym check``."""

from __future__ import annotations

from ngym_cli.config.fields import Request


class CheckRequest(Request):
    """Check that your own tasks, networks and other parts work.

    Exit code 1 if a check fails.

    Examples:
        ngym check my_task.py:MyTask
        ngym check RDM-v0 GoNogo-v0
        ngym check old_script.py --neurogym
    """

    tasks: list[str] = []
    all: bool = False
    neurogym: bool = False
    as_json: bool = False


def execute(request: CheckRequest) -> int:
    """Print the result of each check and return 1 if one failed."""
    from ngym_cli import terminal
    from ngym_cli.catalog import checking, old_scripts, terminal_pages

    if request.neurogym:
        uses = old_scripts.read_all(request.tasks)
        terminal.print_json(uses) if request.as_json else terminal_pages.print_old_uses(uses)
        return 1 if any(row["status"] == "fails" for row in uses) else 0
    rows = []
    for row in checking.check(request.tasks, request.all):
        rows.append(row)
        if not request.as_json:
            terminal_pages.print_checked(row, in_full=len(request.tasks) == 1)
    failed = sum(row["status"] == "failed" for row in rows)
    if request.as_json:
        terminal.print_json(rows)
    else:
        terminal.console().print(f"{len(rows) - failed} of {len(rows)} ok")
    return 1 if failed else 0
