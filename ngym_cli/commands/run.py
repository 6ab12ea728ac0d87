"""``ngym run``."""

from __future__ import annotations

from ngym_cli.training.request import RunRequest


def execute(request: RunRequest) -> int:
    """Train, resume, plan or try a run and return the exit code."""
    from ngym_cli.agents import threads

    threads.learn_with(request.threads)
    threads.limit_libraries()
    from ngym_cli.training import command

    return command.execute(request)
