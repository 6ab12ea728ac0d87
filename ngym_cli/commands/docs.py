"""``ngym docs``."""

from __future__ import annotations

from ngym_cli.commands import app as command_line
from ngym_cli.config.fields import Request
from ngym_cli.errors import UserError


class DocsRequest(Request):
    """Open the documentation of a name in a browser.

    Without a screen, the address of the page is printed; without a site, its text.

    Examples:
        ngym docs GoNogo-v0
        ngym docs recurrent_ppo
    """

    name: str | None = None
    as_json: bool = False


def execute(request: DocsRequest) -> None:
    """Open or print the address of a page, or print its text where no site is built.

    Raises:
        UserError: if the name is unknown, or no site is built and the address or the first page was requested.
    """
    from ngym_cli import terminal
    from ngym_cli.catalog import addresses

    name, address = request.name, addresses.address_of(request.name, command_line.COMMANDS)
    if address is not None:
        if not request.as_json:
            addresses.open_in_browser(address)
        terminal.print_outcome({"id": name, "address": address}, address, request.as_json)
    elif name is None or request.as_json:
        hint = "'ngym docs NAME' prints the text of a page"
        raise UserError(f"no site is built here: run 'make docs' in a checkout; {hint}")
    else:
        _print_text(name)


def _print_text(name: str) -> None:
    """Print the page of a name that the site would have, or the help of a command."""
    from ngym_cli.catalog import addresses, pages, terminal_pages

    if addresses.page(name, command_line.COMMANDS).startswith("commands/"):
        command_line.app([name, "--help"], prog_name="ngym", standalone_mode=False)
    else:
        terminal_pages.print_page(pages.describe(name, {}))
