"""``ngym play``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ngym_cli.config.fields import Request
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

    task: str
    settings: Annotated[Values, replace(CHANGED_CONDITIONS, panel="Settings of the task")] = {}
    trials: int = Field(100, ge=1, le=MOST_TRIALS)
    seed: int = Field(0, ge=0)
    response_window: float = Field(3_000.0, ge=0)
    out: Path | None = None
    overwrite: bool = False
    as_json: bool = False


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
