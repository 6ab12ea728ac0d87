"""``ngym docs``."""

from __future__ import annotations

from typing import Annotated

import typer

from ngym_cli.commands import completion


def command(
    name: Annotated[str | None, typer.Argument(autocompletion=completion.everything)] = None,
    json: bool = False,
) -> None:
    """Open the documentation of a name in a browser.

    Without a screen, the address of the page is printed.

    Options:
        name: Anything that ngym info explains, or a command (default: first page).
        json: Print the address as JSON and open nothing.
    """
    from ngym_cli import terminal
    from ngym_cli.catalog import addresses
    from ngym_cli.commands.app import COMMANDS

    found = addresses.open_address(name, COMMANDS)
    if not json:
        addresses.open_in_browser(found)
    terminal.print_outcome({"id": name, "address": found}, found, json)
