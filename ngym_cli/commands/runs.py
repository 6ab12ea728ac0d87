"""``ngym runs``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from ngym_cli.commands.shell import command, epilog_of
from ngym_cli.config.fields import Request
from ngym_cli.errors import UserError

app = typer.Typer(
    help="Tag, annotate and remove runs.",
    add_completion=False,
    invoke_without_command=True,
    rich_markup_mode="rich",
    epilog="Examples:\n\nngym runs tag latest baseline\n\nngym runs rm first --yes",
)


@app.callback()
def _alone(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


class RemoveRequest(Request):
    """Remove run folders after confirmation.

    Examples:
        ngym runs rm latest
        ngym runs rm first second --yes
    """

    run: list[str]
    yes: bool = False
    runs_root: Path = Path("runs")
    as_json: bool = False


class TagRequest(Request):
    """Add tags to a run, for ngym list runs --tag.

    Examples:
        ngym runs tag latest baseline
        ngym runs tag latest baseline --remove
    """

    run: str
    tags: list[str]
    remove: bool = False
    runs_root: Path = Path("runs")
    as_json: bool = False


class NoteRequest(Request):
    """Attach a note to a run, for ngym list runs WORDS.

    Examples:
        ngym runs note latest 'without pass_action'
        ngym runs note latest ''
    """

    run: str
    text: str
    runs_root: Path = Path("runs")
    as_json: bool = False


def remove(request: RemoveRequest) -> None:
    """Remove run folders."""
    from ngym_cli import runs, terminal
    from ngym_cli.runs import managing

    references = request.run
    folders = list(dict.fromkeys(runs.find(each, request.runs_root, checked=False, fits=True) for each in references))
    if not request.yes:
        if not sys.stdin.isatty():
            raise UserError(f"pass --yes to remove {len(folders)} runs, the first {folders[0].path}")
        typer.confirm(f"remove {', '.join(str(each.path) for each in folders)}?", abort=True, err=True)
    managing.remove(folders)
    if request.as_json:
        terminal.print_json([{"id": str(each.path)} for each in folders])
    else:
        for each in folders:
            terminal.console().print(f"removed {each.path}", soft_wrap=True, markup=False)


def tag(request: TagRequest) -> None:
    """Add or remove tags of a run."""
    from ngym_cli import runs, terminal
    from ngym_cli.runs import managing

    run = runs.find(request.run, request.runs_root, fits=True)
    tags = managing.tag(run, request.tags, request.remove)
    text = f"{run.path}: {', '.join(tags) or 'no tags'}"
    terminal.print_outcome({"id": str(run.path), "tags": tags}, text, request.as_json)


def note(request: NoteRequest) -> None:
    """Attach a note to a run."""
    from ngym_cli import runs, terminal
    from ngym_cli.runs import managing

    run, text = runs.find(request.run, request.runs_root, fits=True), request.text.strip()
    managing.note(run, request.text)
    terminal.print_outcome(
        {"id": str(run.path), "note": text or None}, f"{run.path}: {text or 'no note'}", request.as_json
    )


SUBCOMMANDS: dict[str, tuple[type[Request], Callable[[Any], None]]] = {
    "rm": (RemoveRequest, remove),
    "tag": (TagRequest, tag),
    "note": (NoteRequest, note),
}
for name, (request, execute) in SUBCOMMANDS.items():
    app.command(name, epilog=epilog_of(request))(command(request, execute))
