"""``ngym list``."""

from __future__ import annotations

from pathlib import Path

from ngym_cli.config.fields import Request


class ListRequest(Request):
    """List and search tasks, wrappers, algorithms, figures and runs.

    Examples:
        ngym list tasks rdm
        ngym list tasks --learned-by ctrnn
        ngym list runs --status finished --sort -performance
        ngym list models
    """

    what: str = "tasks"
    search: list[str] = []
    tag: str | None = None
    paper: str | None = None
    obs: str | None = None
    action: str | None = None
    learned_by: str | None = None
    ceilings: bool = False
    task: str | None = None
    alg: str | None = None
    status: str | None = None
    sort: str | None = None
    runs_root: Path = Path("runs")
    as_json: bool = False


def execute(request: ListRequest) -> None:
    """Print the rows of a list."""
    from ngym_cli import terminal
    from ngym_cli.catalog import listing, terminal_pages

    filters = request.model_dump(exclude={"what", "search", "runs_root", "as_json"})
    name, rows = listing.rows(request.what, request.search, filters, request.runs_root, brief=not request.as_json)
    terminal.print_json(rows) if request.as_json else terminal_pages.print_rows(name, rows)
