"""Options that several commands have: those of a run, from one list for `ngym run`, `eval` and `sweep`, and others."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from ngym_cli.commands import completion
from ngym_cli.config.flags import FLAGS, Flag
from ngym_cli.config.values import parse_whole


def option(help: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """Return an option of a command.

    Args:
        help: what it is.
        *names: as it is typed, where that is not the parameter's name.
        panel: group of options in the help.
        **more: other arguments of ``typer.Option``.
    """
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


RunsFolder = Annotated[Path, option("Folder of all runs.")]
TrustRecord = Annotated[bool, option("Let the run's record import the user's own task code.", "--trust")]


def with_flags(
    flags: Iterable[Flag], many: bool = False, panel: str | None = None, at: int = 0
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command these options; it receives them as keywords of their names.

    Args:
        flags: which.
        many: whether each takes a list of values, as a sweep does.
        panel: group of options in the help in place of their own.
        at: place among the parameters of the command at which they come.
    """
    chosen = list(flags)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.kind is not p.VAR_KEYWORD]
        added = [
            inspect.Parameter(
                flag.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(flag, many, panel)
            )
            for flag in chosen
        ]
        own = [p.replace(kind=p.KEYWORD_ONLY) for p in own]
        every = [*own[:at], *added, *own[at:]]

        def run(**given: Any) -> None:
            command(**given)

        run.__doc__ = command.__doc__
        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        return run

    return decorate


def _annotation(flag: Flag, many: bool, panel: str | None) -> Any:
    """Return the type and the option of a parameter of a command."""
    several = flag.kind == "table" or (many and flag.kind == "wrappers")
    kind: Any = list[str] if several else str
    more: dict[str, Any] = {}
    if not many:
        more = {"whole": {"parser": parse_whole, "metavar": "INTEGER"}}.get(flag.kind, {})
        kind = {"whole": int, "number": float}.get(flag.kind, kind)
    text = flag.help[0].upper() + flag.help[1:] + "."
    if many and flag.kind == "wrappers":
        text = "A stack, as in ngym run; given again: another one; none."
    return Annotated[
        kind | None,
        option(
            text,
            flag.option,
            panel=panel or flag.panel,
            autocompletion=getattr(completion, flag.completes) if flag.completes else None,
            **more,
        ),
    ]


def all_flags() -> list[Flag]:
    """Return every option of a run."""
    return list(FLAGS.values())
