"""Address of a documentation page: in a site that was built in the checkout, or on the published site."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Collection
from importlib import metadata
from pathlib import Path

from ngym_cli.catalog import reference
from ngym_cli.catalog.listing import plural
from ngym_cli.config.tasks import find_task, task_names
from ngym_cli.errors import UserError, unknown

#: Folder into which ``make docs`` builds the site.
BUILT = Path(__file__).resolve().parents[2] / "build" / "docs" / "html"


def page(name: str, commands: Collection[str] = ()) -> str:
    """Return the page of a name within the site: ``tasks/GoNogo-v0.html``.

    A name of two kinds is, as for ``ngym info``, the first of them.

    Args:
        name: a name known to ``ngym info``, or a command.
        commands: names of the commands.

    Raises:
        UserError: if nothing is called so, with the nearest name.
    """
    for kind, (names, _) in reference.REFERENCE_ENTRIES.items():
        if name in names():
            return f"{plural(kind)}/{name}.html"
    if name in commands:
        return f"commands/{name}.html"
    if ":" in name or name.endswith(".py"):
        raise UserError(f"'{name}' is a part of your own, which the site does not have; ngym info explains it")
    try:
        task = find_task(name)
    except UserError:
        raise unknown("name", name, [*task_names(), *reference.all_names(), *commands]) from None
    return "tasks/index.html" if task.several else f"tasks/{task.id}.html"


def published() -> str | None:
    """Return the address of the published site from the distribution's metadata; None if undefined."""
    try:
        entries = metadata.metadata("ngym").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return None
    addresses = dict(entry.split(", ", 1) for entry in entries).get("Documentation")
    return None if addresses is None else f"{addresses.rstrip('/')}/"


def of(kind: str, id_: str) -> str | None:
    """Return the address of the page of a name; None for a user's own part, or without a site.

    Args:
        kind: as ``ngym info --json`` has it.
        id_: as ``ngym info --json`` has it.
    """
    return None if ":" in id_ or "/" in id_ else address(f"{plural(kind)}/{id_}.html")


def address(path: str) -> str | None:
    """Return the address of a page of the site; None without a site.

    Args:
        path: within the site, from ``page``.
    """
    built = BUILT / path
    if built.is_file():
        return built.as_uri()
    online = published()
    return None if online is None else online + path


def address_of(name: str | None, commands: Collection[str] = ()) -> str | None:
    """Return the address of the page of a name, or of the first page without a name; None without a site.

    Raises:
        UserError: if the name is unknown.
    """
    return address(page(name, commands) if name else "index.html")


def open_in_browser(where: str) -> None:
    """Open an address in a browser with a window; without a screen nothing happens."""
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if screen or sys.platform in ("win32", "darwin"):  # elsewhere a browser of the terminal would take its place
        webbrowser.open(where)
