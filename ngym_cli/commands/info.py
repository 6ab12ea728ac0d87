"""``ngym info``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ngym_cli.config.fields import Request
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

    name: str
    settings: Annotated[Values, replace(CHANGED_CONDITIONS, panel="Settings of the task")] = {}
    seed: int = Field(0, ge=0)
    figure: Path | None = None
    overwrite: bool = False
    as_json: bool = False


def execute(request: InfoRequest) -> None:
    """Print the page of a name."""
    from ngym_cli import terminal
    from ngym_cli.catalog import pages, terminal_pages

    page = pages.describe(request.name, request.settings, request.seed, request.figure, request.overwrite)
    terminal.print_json(pages.as_json(page)) if request.as_json else terminal_pages.print_page(page)
