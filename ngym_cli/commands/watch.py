"""``ngym watch``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from ngym_cli.commands.shell import RunName, RunsFolder, TrustRecord
from ngym_cli.config.fields import Flag, Request


class WatchRequest(Request):
    """Watch single trials as a figure, a film or text.

    Shows inputs, units, policy, value, choice and reward.

    Examples:
        ngym watch latest --only coh=6.4,outcome=error
        ngym watch latest --out trial.mp4 --trials 1
    """

    run: RunName = "latest"
    trials: Annotated[int, Flag("Number of trials."), Field(ge=1, le=12)] = 3
    only: Annotated[
        str | None, Flag("Only trials with these columns, as in coh=51.2,outcome=error.", names=("--only", "--where"))
    ] = None
    out: Annotated[
        Path | None, Flag("File to write: png, svg, pdf, mp4 or gif.", default="figures/watch.png of the run")
    ] = None
    overwrite: Annotated[bool, Flag("Replace a file that is there.")] = False
    steps: Annotated[bool, Flag("Print the trials step by step and write no file.")] = False
    pause: Annotated[bool, Flag("Wait for Enter after each step of --steps.")] = False
    speed: Annotated[float, Flag("Speed of a film relative to the trial."), Field(ge=0.01)] = 1.0
    stochastic: Annotated[bool, Flag("Draw actions from the policy.")] = False
    seed: Annotated[int, Flag("Random seed of the trials."), Field(ge=0)] = 0
    runs_root: RunsFolder = Path("runs")
    trust: TrustRecord = False
    as_json: Annotated[bool, Flag("Print the path of the file as JSON.", names=("--json",))] = False


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
