"""``ngym diff``."""

from __future__ import annotations

from pathlib import Path

from ngym_cli.config.fields import Request


class DiffRequest(Request):
    """Compare the settings, versions and results of two runs.

    Lists differences of configuration, seeds, versions and results. Exit code 1 if the runs differ, 0 if not.

    Examples:
        ngym diff latest first
        ngym diff first second --json
    """

    one: str
    other: str
    runs_root: Path = Path("runs")
    as_json: bool = False


def execute(request: DiffRequest) -> int:
    """Print the differences of two runs and return 1 if there are any."""
    from ngym_cli import terminal
    from ngym_cli.runs import managing

    rows = managing.between(request.one, request.other, request.runs_root)
    terminal.print_json(rows) if request.as_json else managing.show(rows)
    return 1 if rows else 0
