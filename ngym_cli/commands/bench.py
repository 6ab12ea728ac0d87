"""``ngym bench``."""

from __future__ import annotations

from ngym_cli.training.request import BenchRequest


def execute(request: BenchRequest) -> None:
    """Try numbers of environments and threads and print the fastest."""
    from ngym_cli import terminal
    from ngym_cli.training import timing

    outcome = timing.bench(request)
    terminal.print_json(outcome) if request.as_json else timing.print_timed(outcome)
