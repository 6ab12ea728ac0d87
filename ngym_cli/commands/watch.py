"""``ngym watch``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import RunsFolder, TrustRecord


def command(
    run: Annotated[
        str, typer.Argument(help="Run folder, name of a run, or 'latest'.", autocompletion=completion.run_folders)
    ] = "latest",
    trials: Annotated[int, typer.Option(min=1, max=12, help="How many trials.")] = 3,
    where: Annotated[
        str | None, typer.Option(help="Only such trials: coh=51.2,outcome=error (columns of the trial table).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write: png, svg or pdf, mp4 or gif. Default figures/watch.png in the run's folder."),
    ] = None,
    steps: Annotated[bool, typer.Option("--steps", help="Print the trials step by step and write no file.")] = False,
    pause: Annotated[bool, typer.Option("--pause", help="With --steps: wait for Enter after each step.")] = False,
    speed: Annotated[float, typer.Option(min=0.01, help="How much faster than in the trial a film runs.")] = 1.0,
    stochastic: Annotated[
        bool, typer.Option("--stochastic", help="Draw actions, do not take the most probable.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the trials.")] = 0,
    runs: RunsFolder = Path("runs"),
    trust: TrustRecord = False,
    json: Annotated[bool, typer.Option("--json", help="Print where the file is as one JSON document.")] = False,
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
