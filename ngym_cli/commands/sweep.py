"""``ngym sweep``."""

from __future__ import annotations

from ngym_cli import processes
from ngym_cli.sweeps.recipe import SweepRequest


def execute(request: SweepRequest) -> int:
    """Run, plan, resume or show a sweep and return the exit code."""
    processes.limit_libraries()
    from ngym_cli.sweeps import control

    return control.execute(request)
