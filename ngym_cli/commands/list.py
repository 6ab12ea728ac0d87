"""``ngym list``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import RunsFolder, option


def command(
    what: Annotated[str, typer.Argument(autocompletion=completion.listings)] = "tasks",
    search: Annotated[list[str] | None, typer.Argument()] = None,
    tag: Annotated[str | None, option(autocompletion=completion.tags)] = None,
    paper: str | None = None,
    obs: str | None = None,
    action: str | None = None,
    learned_by: Annotated[str | None, option(autocompletion=completion.learners)] = None,
    ceilings: bool = False,
    task: Annotated[str | None, option(autocompletion=completion.tasks)] = None,
    alg: Annotated[str | None, option(autocompletion=completion.algorithms)] = None,
    status: str | None = None,
    sort: str | None = None,
    runs: RunsFolder = Path("runs"),
    json: bool = False,
) -> None:
    """List and search tasks, wrappers, algorithms, figures and runs.

    Options:
        what: tasks, wrappers, algs, networks, models, figures, analyses, launchers, recipes, papers, tags, runs,
            sweeps, or differences (from NeuroGym's tasks).
        search: Only rows with these words; old names of tasks count.
        tag: Only tasks, or runs, with this tag.
        paper: Only tasks whose paper contains this text.
        obs: Only tasks with these observations: image, vector, a size or the name of a channel.
        action: Only tasks with these actions: discrete, continuous, a number or the name of an action.
        learned_by: Only tasks that this learner was measured to learn, as in default, ctrnn or supervised.
        ceilings: Show the ceiling (best possible performance) of tasks.
        task: Only runs of this task.
        alg: Only runs of this algorithm.
        status: Only runs that are running, finished, interrupted, failed or crashed.
        sort: Sort runs by a column; -performance puts the largest first.
        json: Print JSON.
    """
    from ngym_cli import terminal
    from ngym_cli.catalog import listing, printing

    filters = {
        "tag": tag, "paper": paper, "obs": obs, "action": action, "ceilings": ceilings,
        "learned_by": learned_by,
        "task": task, "alg": alg, "status": status, "sort": sort,
    }  # fmt: skip
    name, rows = listing.rows(what, search or (), filters, runs, brief=not json)
    terminal.print_json(rows) if json else printing.print_rows(name, rows)
