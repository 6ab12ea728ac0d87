"""Options shared by several commands, made from the fields of the configuration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ngym_cli.commands import completion
from ngym_cli.config.flags import FLAGS, ROLES, Flag
from ngym_cli.config.values import parse_whole


def option(help: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """Return an option of a command.

    Args:
        help: help text.
        *names: spellings of the option, if different from the parameter's name.
        panel: group of options in the help.
        **more: other arguments of ``typer.Option``.
    """
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


RunsFolder = Annotated[Path, option("Folder of all runs.")]
TrustRecord = Annotated[bool, option("Trust code that the run names.", "--trust")]
RunName = Annotated[
    str, typer.Argument(help="Run folder, name of a run, or 'latest'.", autocompletion=completion.run_folders)
]


def whole(help: str, panel: str | None = None) -> Any:
    """Return an option for a whole number, which may be written as 1e5 or 100,000."""
    return option(help, panel=panel, parser=parse_whole, metavar="INTEGER")


def with_flags(
    flags: Iterable[Flag], many: bool = False, panel: str | None = None, at: int = 0
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds options to a command.

    Args:
        flags: the options.
        many: whether each option takes a list of values, as in a sweep.
        panel: group of all these options in the help (default: the group of each).
        at: position of the options among the parameters of the command.
    """
    added = {flag.name: _annotation(flag, many, panel) for flag in flags}
    return _with_parameters(added, at)


def _with_parameters(added: Mapping[str, Any], at: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds parameters to a command.

    Args:
        added: annotations by name; the default is None.
        at: position among the parameters of the command.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.kind is not p.VAR_KEYWORD]
        own = [p.replace(kind=p.KEYWORD_ONLY) for p in own]
        more = [
            inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=a) for n, a in added.items()
        ]

        def run(**given: Any) -> None:
            command(**given)

        run.__doc__ = command.__doc__
        run.__signature__ = inspect.Signature([*own[:at], *more, *own[at:]])  # type: ignore[attr-defined]
        return run

    return decorate


def _annotation(flag: Flag, many: bool, panel: str | None) -> Any:
    """Return the annotation of a command parameter: type and option."""
    several = flag.kind in ("table", "words") or (many and flag.kind == "wrappers")
    kind: Any = list[str] if several else str
    more: dict[str, Any] = {}
    if not many:
        more = {"whole": {"parser": parse_whole, "metavar": "INTEGER"}}.get(flag.kind, {})
        kind = {"whole": int, "number": float, "switch": bool}.get(flag.kind, kind)
    text = flag.help[0].upper() + flag.help[1:] + "."
    if many and flag.kind == "wrappers":
        text = "Wrapper stack; repeat for alternatives; 'none' for no wrappers."
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


def with_roles(at: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the options for roles of columns to a command.

    Args:
        at: position of the options among the parameters of the command.
    """
    return _with_parameters(
        {role: Annotated[str | None, option(text, panel="Columns")] for role, text in ROLES.items()}, at
    )
