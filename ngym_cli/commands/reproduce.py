"""``ngym reproduce``."""

from __future__ import annotations

from ngym_cli import processes
from ngym_cli.papers.request import ReproduceRequest


def execute(request: ReproduceRequest) -> int:
    """List papers or reproduce one, and return the exit code."""
    processes.limit_libraries()
    from ngym_cli.papers import reproduction

    return reproduction.show(request.as_json) if request.paper is None else reproduction.reproduce(request)
