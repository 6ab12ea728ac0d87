"""``ngym list``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import RunsFolder, option


def command(
    what: Annotated[
        str,
        typer.Argument(
            help="tasks, wrappers, algs, networks, models, figures, analyses, launchers, recipes, papers, tags, runs, "
            "sweeps, or differences (from NeuroGym's tasks).",
            autocompletion=completion.listings,
        ),
    ] = "tasks",
    search: Annotated[
        list[str] | None, typer.Argument(help="Only rows with these words; old names of tasks count.")
    ] = None,
    tag: Annotated[str | None, option("Only tasks, or runs, with this tag.", autocompletion=completion.tags)] = None,
    paper: Annotated[str | None, option("Only tasks whose paper contains this text.")] = None,
    obs: Annotated[
        str | None, option("Only tasks with these observations: image, vector, a size or the name of a channel.")
    ] = None,
    action: Annotated[
        str | None, option("Only tasks with these actions: discrete, continuous, a number or the name of an action.")
    ] = None,
    learned_by: Annotated[
        str | None,
        option(
            "Only tasks that this learner was measured to learn, as in default, ctrnn or supervised.",
            autocompletion=completion.learners,
        ),
    ] = None,
    ceilings: Annotated[bool, option("Show the ceiling (best possible performance) of tasks.", "--ceilings")] = False,
    task: Annotated[str | None, option("Only runs of this task.", autocompletion=completion.tasks)] = None,
    alg: Annotated[str | None, option("Only runs of this algorithm.", autocompletion=completion.algorithms)] = None,
    status: Annotated[
        str | None, option("Only runs that are running, finished, interrupted, failed or crashed.")
    ] = None,
    sort: Annotated[str | None, option("Sort runs by a column; -performance puts the largest first.")] = None,
    runs: RunsFolder = Path("runs"),
    json: Annotated[bool, option("Print JSON.", "--json")] = False,
) -> None:
    """List and search tasks, wrappers, algorithms, figures and runs."""
    from ngym_cli import terminal
    from ngym_cli.catalog import listing, printing

    filters = {
        "tag": tag, "paper": paper, "obs": obs, "action": action, "ceilings": ceilings,
        "learned_by": learned_by,
        "task": task, "alg": alg, "status": status, "sort": sort,
    }  # fmt: skip
    name, rows = listing.rows(what, search or (), filters, runs)
    terminal.print_json(rows) if json else printing.print_rows(name, rows)
