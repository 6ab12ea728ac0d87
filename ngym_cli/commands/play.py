"""``ngym play``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ngym_cli.config.fields import Flag, Request
from ngym_cli.config.model import CHANGED_CONDITIONS
from ngym_cli.config.values import Values

#: Most trials of a page.
MOST_TRIALS = 2_000


class PlayRequest(Request):
    """Write a page on which a person does a task.

    The page needs no other files and no network: a browser shows the trials, the person answers with keys, and the page
    saves a table that ngym data and ngym eval --compare read.

    Examples:
        ngym play RDM-v0
        ngym play RDM-v0 --timing stimulus=1000 --task-arg cohs=0/5/10/20/40 --trials 200
        ngym data RDM-v0_anna.csv
    """

    task: Annotated[str, Flag("The task.", positional=True, completes="tasks")]
    settings: Annotated[Values, replace(CHANGED_CONDITIONS, panel="Settings of the task")] = {}
    trials: Annotated[int, Flag("Number of trials."), Field(ge=1, le=MOST_TRIALS)] = 100
    seed: Annotated[int, Flag("Random seed of the trials."), Field(ge=0)] = 0
    response_window: Annotated[
        float,
        Flag("Time to answer in ms, at least; a network may have a single step.", default="3,000"),
        Field(ge=0),
    ] = 3_000.0
    out: Annotated[Path | None, Flag("Page to write.", default="TASK.html")] = None
    overwrite: Annotated[bool, Flag("Replace a file that is there.")] = False
    as_json: Annotated[bool, Flag("Print the path of the page as JSON.", names=("--json",))] = False


def execute(request: PlayRequest) -> None:
    """Write the page and print its path."""
    from ngym_cli import terminal
    from ngym_cli.figures import play

    path = play.write_page(
        request.task,
        request.settings,
        request.trials,
        request.seed,
        request.response_window,
        request.out,
        request.overwrite,
    )
    terminal.print_outcome({"id": str(path)}, f"{path}\nnext: open the page in a browser", request.as_json)
