"""``ngym list``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ngym_cli.commands.shell import RunsFolder
from ngym_cli.config.fields import Flag, Request


class ListRequest(Request):
    """List and search tasks, wrappers, algorithms, figures and runs.

    Examples:
        ngym list tasks rdm
        ngym list tasks --learned-by ctrnn
        ngym list runs --status finished --sort -performance
        ngym list models
    """

    what: Annotated[
        str,
        Flag(
            "tasks, wrappers, algs, networks, models, figures, analyses, launchers, recipes, papers, data, tags, runs, "
            "sweeps, or differences (from NeuroGym's tasks).",
            positional=True,
            completes="listings",
        ),
    ] = "tasks"
    search: Annotated[list[str], Flag("Only rows with these words; old names of tasks count.", positional=True)] = []
    tag: Annotated[str | None, Flag("Only tasks, or runs, with this tag.", completes="tags")] = None
    paper: Annotated[str | None, Flag("Only tasks whose paper contains this text.")] = None
    obs: Annotated[
        str | None, Flag("Only tasks with these observations: image, vector, a size or the name of a channel.")
    ] = None
    action: Annotated[
        str | None, Flag("Only tasks with these actions: discrete, continuous, a number or the name of an action.")
    ] = None
    learned_by: Annotated[
        str | None,
        Flag(
            "Only tasks that this learner was measured to learn, as in default, ctrnn or supervised.",
            completes="learners",
        ),
    ] = None
    ceilings: Annotated[bool, Flag("Show the ceiling (best possible performance) of tasks.")] = False
    task: Annotated[str | None, Flag("Only runs of this task.", completes="tasks")] = None
    alg: Annotated[str | None, Flag("Only runs of this algorithm.", completes="algorithms")] = None
    status: Annotated[str | None, Flag("Only runs that are running, finished, interrupted, failed or crashed.")] = None
    sort: Annotated[str | None, Flag("Sort runs by a column; -performance puts the largest first.")] = None
    runs_root: RunsFolder = Path("runs")
    as_json: Annotated[bool, Flag("Print JSON.", names=("--json",))] = False


def execute(request: ListRequest) -> None:
    """Print the rows of a list."""
    from ngym_cli import terminal
    from ngym_cli.catalog import listing, terminal_pages

    filters = request.model_dump(exclude={"what", "search", "runs_root", "as_json"})
    name, rows = listing.rows(request.what, request.search, filters, request.runs_root, brief=not request.as_json)
    terminal.print_json(rows) if request.as_json else terminal_pages.print_rows(name, rows)
