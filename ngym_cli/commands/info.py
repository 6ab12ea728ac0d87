"""``ngym info``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ngym_cli.config.fields import Flag, Request
from ngym_cli.config.model import CHANGED_CONDITIONS
from ngym_cli.config.values import Values


class InfoRequest(Request):
    """Explain a task, wrapper, algorithm, network, figure or paper.

    Says what it does, what can be set to which values, and where it comes from.

    Examples:
        ngym info RDM-v0 --dt 20
        ngym info recurrent_ppo
        ngym info ceiling
    """

    name: Annotated[
        str,
        Flag(
            "A task, wrapper, algorithm, network, figure, launcher, analysis or paper.",
            positional=True,
            completes="everything",
        ),
    ]
    settings: Annotated[Values, replace(CHANGED_CONDITIONS, panel="Settings of the task")] = {}
    seed: Annotated[int, Flag("Random seed of the trial shown."), Field(ge=0)] = 0
    figure: Annotated[Path | None, Flag("Also draw the trial to this file (png, svg, pdf).")] = None
    overwrite: Annotated[bool, Flag("Replace the file named with --figure.")] = False
    as_json: Annotated[bool, Flag("Print everything as JSON.", names=("--json",))] = False


def execute(request: InfoRequest) -> None:
    """Print the page of a name."""
    from ngym_cli import terminal
    from ngym_cli.catalog import pages, terminal_pages

    page = pages.describe(request.name, request.settings, request.seed, request.figure, request.overwrite)
    terminal.print_json(pages.as_json(page)) if request.as_json else terminal_pages.print_page(page)
