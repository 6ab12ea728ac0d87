"""``ngym watch``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import RunsFolder, TrustRecord, option


def command(
    run: Annotated[
        str, typer.Argument(help="Run folder, name of a run, or 'latest'.", autocompletion=completion.run_folders)
    ] = "latest",
    trials: Annotated[int, option("How many trials.", min=1, max=12)] = 3,
    where: Annotated[
        str | None, option("Only such trials: coh=51.2,outcome=error (columns of the trial table).")
    ] = None,
    out: Annotated[
        Path | None,
        option("File to write: png, svg or pdf, mp4 or gif. Default figures/watch.png in the run's folder."),
    ] = None,
    steps: Annotated[bool, option("Print the trials step by step and write no file.", "--steps")] = False,
    pause: Annotated[bool, option("With --steps: wait for Enter after each step.", "--pause")] = False,
    speed: Annotated[float, option("How much faster than in the trial a film runs.", min=0.01)] = 1.0,
    stochastic: Annotated[bool, option("Draw actions, do not take the most probable.", "--stochastic")] = False,
    seed: Annotated[int, option("Of the trials.", min=0)] = 0,
    runs: RunsFolder = Path("runs"),
    trust: TrustRecord = False,
    json: Annotated[bool, option("Print where the file is as one JSON document.", "--json")] = False,
) -> None:
    """Watch single trials: inputs, units, policy, value, choice and reward, as a figure, a film or step by step."""
    from ngym_cli.agents import threads

    threads.one()
    from ngym_cli import terminal
    from ngym_cli.figures import text_steps, watch

    source, found = watch.watched(run, runs, trust, trials, where, seed, stochastic)
    if steps:
        for number, trial in enumerate(found, start=1):
            for line in text_steps.lines(trial, source, number):
                typer.echo(line)
                if pause and line[:1].isdigit():
                    input()
        return
    path = watch.save(source, found, out, speed)
    if json:
        terminal.print_json({"id": str(path)})
    else:
        terminal.console().print(str(path), soft_wrap=True, markup=False)
