"""``ngym watch``."""

from __future__ import annotations

import sys
from pathlib import Path

import typer
from pydantic import Field

from ngym_cli.config.fields import Request


class WatchRequest(Request):
    """Watch single trials as a figure, a film or text.

    Shows inputs, units, policy, value, choice and reward.

    Examples:
        ngym watch latest --only coh=6.4,outcome=error
        ngym watch latest --out trial.mp4 --trials 1
    """

    run: str = "latest"
    trials: int = Field(3, ge=1, le=12)
    only: str | None = None
    out: Path | None = None
    overwrite: bool = False
    steps: bool = False
    pause: bool = False
    speed: float = Field(1.0, ge=0.01)
    stochastic: bool = False
    seed: int = Field(0, ge=0)
    runs_root: Path = Path("runs")
    trust: bool = False
    as_json: bool = False


def execute(request: WatchRequest) -> None:
    """Draw or print trials of a run."""
    from ngym_cli import processes, runs, terminal

    processes.limit_libraries()
    from ngym_cli.figures import watch
    from ngym_cli.figures.source import Source
    from ngym_cli.figures.trial import conditions_wanted, record

    source = Source(runs.find(request.run, request.runs_root), request.trust)
    err = terminal.console(stderr=True)

    def tell(line: str) -> None:
        if err.is_terminal:
            err.print(line, style="dim")

    tell(f"recording {request.trials} trials")
    trials = record(source, request.trials, request.seed, conditions_wanted(request.only), request.stochastic)
    if not request.steps:
        path = watch.save(source, trials, request.out, request.speed, request.overwrite, tell)
        terminal.print_outcome({"id": str(path)}, path, request.as_json)
        return
    pause = request.pause
    for number, trial in enumerate(trials, start=1):
        for line in watch.step_by_step(trial, number):
            typer.echo(line)
            if pause and line[:1].isdigit():
                pause = bool(sys.stdin.readline())  # not at the end of a file
