"""``ngym docs``."""

from __future__ import annotations

from typing import Annotated

from ngym_cli.commands.app import COMMANDS
from ngym_cli.config.fields import Flag, Request


class DocsRequest(Request):
    """Open the documentation of a name in a browser.

    Without a screen, the address of the page is printed.
    """

    name: Annotated[
        str | None,
        Flag(
            "Anything that ngym info explains, or a command (default: first page).",
            positional=True,
            completes="everything",
        ),
    ] = None
    as_json: Annotated[bool, Flag("Print the address as JSON and open nothing.", names=("--json",))] = False


def execute(request: DocsRequest) -> None:
    """Open or print the address of a page."""
    from ngym_cli import terminal
    from ngym_cli.catalog import addresses

    address = addresses.open_address(request.name, COMMANDS)
    if not request.as_json:
        addresses.open_in_browser(address)
    terminal.print_outcome({"id": request.name, "address": address}, address, request.as_json)
