"""``ngym runs``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import RunName, RunsFolder, explained, option

app = typer.Typer(
    help="Tag, annotate and remove runs.",
    add_completion=False,
    invoke_without_command=True,
    rich_markup_mode="rich",
)


@app.callback()
def _alone(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


ROOT = Path("runs")
Named = Annotated[
    list[str],
    typer.Argument(help="Run folders, names of runs, or 'latest'.", autocompletion=completion.run_folders),
]


@app.command("rm", epilog="Examples:\n\nngym runs rm latest\n\nngym runs rm first second --yes")
@explained
def remove(
    run: Named,
    yes: Annotated[bool, option("--yes", "-y")] = False,
    runs: RunsFolder = ROOT,
    json: bool = False,
) -> None:
    """Remove run folders after confirmation.

    Options:
        yes: Do not ask.
        json: Print JSON.
    """
    from ngym_cli import runs as room
    from ngym_cli import terminal
    from ngym_cli.errors import UserError
    from ngym_cli.runs import managing

    found = list(dict.fromkeys(room.find(reference, runs, checked=False, fits=True) for reference in run))
    if not yes:
        if not sys.stdin.isatty():
            raise UserError(f"{len(found)} runs would be removed, the first {found[0].path}; say --yes to do it")
        typer.confirm(f"remove {', '.join(str(each.path) for each in found)}?", abort=True, err=True)
    managing.remove(found)
    if json:
        terminal.print_json([{"id": str(each.path)} for each in found])
    else:
        for each in found:
            terminal.console().print(f"removed {each.path}", soft_wrap=True, markup=False)


@app.command("tag", epilog="Examples:\n\nngym runs tag latest baseline\n\nngym runs tag latest baseline --remove")
@explained
def tag(
    run: RunName,
    tags: Annotated[list[str], typer.Argument()],
    remove: bool = False,
    runs: RunsFolder = ROOT,
    json: bool = False,
) -> None:
    """Add tags to a run, for ngym list runs --tag.

    Options:
        tags: Words such as baseline or figure3.
        remove: Remove these tags instead.
        json: Print JSON.
    """
    from ngym_cli import runs as room
    from ngym_cli import terminal
    from ngym_cli.runs import managing

    found = room.find(run, runs, fits=True)
    after = managing.tag(found, tags, remove)
    said = f"{found.path}: {', '.join(after) or 'no tags'}"
    terminal.print_outcome({"id": str(found.path), "tags": after}, said, json)


@app.command("note", epilog="Examples:\n\nngym runs note latest 'without pass_action'\n\nngym runs note latest ''")
@explained
def note(
    run: RunName,
    text: Annotated[str, typer.Argument()],
    runs: RunsFolder = ROOT,
    json: bool = False,
) -> None:
    """Attach a note to a run, for ngym list runs WORDS.

    Options:
        text: Text of the note; an empty text removes the note.
        json: Print JSON.
    """
    from ngym_cli import runs as room
    from ngym_cli import terminal
    from ngym_cli.runs import managing

    found = room.find(run, runs, fits=True)
    managing.note(found, text)
    kept = text.strip()
    terminal.print_outcome({"id": str(found.path), "note": kept or None}, f"{found.path}: {kept or 'no note'}", json)
