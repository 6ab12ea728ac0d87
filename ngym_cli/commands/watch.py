"""``ngym watch``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands.options import RunName, RunsFolder, TrustRecord, option, single_threaded


@single_threaded
def command(
    run: RunName = "latest",
    trials: Annotated[int, option(min=1, max=12)] = 3,
    where: str | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    steps: bool = False,
    pause: bool = False,
    speed: Annotated[float, option(min=0.01)] = 1.0,
    stochastic: bool = False,
    seed: Annotated[int, option(min=0)] = 0,
    runs: RunsFolder = Path("runs"),
    trust: TrustRecord = False,
    json: bool = False,
) -> None:
    """Watch single trials as a figure, a film or text.

    Shows inputs, units, policy, value, choice and reward.

    Options:
        trials: Number of trials.
        where: Only trials with these columns, as in coh=51.2,outcome=error.
        out: File to write: png, svg, pdf, mp4 or gif (default: figures/watch.png of the run).
        overwrite: Replace the file named with --out.
        steps: Print the trials step by step and write no file.
        pause: Wait for Enter after each step of --steps.
        speed: Speed of a film relative to the trial.
        stochastic: Draw actions from the policy.
        seed: Random seed of the trials.
        json: Print the path of the file as JSON.
    """
    from ngym_cli import runs as folders
    from ngym_cli import terminal
    from ngym_cli.figures import watch
    from ngym_cli.figures.source import Source
    from ngym_cli.figures.trial import conditions_wanted, record

    source = Source(folders.find(run, runs), trust)
    found = record(source, trials, seed, conditions_wanted(where), stochastic)
    if steps:
        for number, trial in enumerate(found, start=1):
            for line in watch.step_by_step(trial, number):
                typer.echo(line)
                if pause and line[:1].isdigit():
                    pause = bool(sys.stdin.readline())  # not at the end of a file
        return
    path = watch.save(source, found, out, speed, overwrite)
    terminal.print_outcome({"id": str(path)}, path, json)
