"""``ngym eval``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli import completion


def command(
    run: Annotated[
        str, typer.Argument(help="Run folder, name of a run, or 'latest'.", autocompletion=completion.run_folders)
    ] = "latest",
    trials: Annotated[int, typer.Option(min=1, help="Fresh trials.")] = 2_000,
    deterministic: Annotated[
        bool, typer.Option("--deterministic/--stochastic", help="Most probable action, or drawn from the policy.")
    ] = True,
    seed: Annotated[int, typer.Option(min=0, help="Determines the trials.")] = 0,
    name: Annotated[str | None, typer.Option(help="Name of the evaluation; default from its settings.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an evaluation of this name.")] = False,
    runs: Annotated[Path, typer.Option(help="Folder of all runs.")] = Path("runs"),
    trust: Annotated[
        bool, typer.Option("--trust", help="Let the run's record import the user's own task code.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON document.")] = False,
) -> None:
    """Evaluate a trained agent on fresh trials, weights frozen, state reset as in training."""
    from ngym_cli import running, terminal

    summary, folder = running.evaluate(run, runs, trials, deterministic, seed, name, overwrite, trust)
    if json:
        terminal.print_json(summary)
    else:
        terminal.print_evaluation(summary)
        terminal.console().print(f"\ntrials and summary: {folder}", soft_wrap=True)
