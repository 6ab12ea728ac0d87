"""Commands of the shell made from requests: one option for each field."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic_core import PydanticUndefined

from ngym_cli.config.fields import AnyRequest, Flag, Option, options_of, read_options

#: Placeholders of values, as Typer writes those of arguments.
METAVARS = {"whole": "<int>", "number": "<number>", "switch": "", "path": "<path>"}
TEXT = "<str>"
#: Widest range of numbers that the help shows.
SHOWN_RANGE = 100

#: Fields of several commands.
RunName = Annotated[str, Flag("Run folder, name of a run, or 'latest'.", positional=True, completes="run_folders")]
RunsFolder = Annotated[Path, Flag("Folder of all runs.")]
TrustRecord = Annotated[bool, Flag("Trust code that the run names.")]
ALTERNATIVE_STACKS = "Wrapper stack; repeat for alternatives; 'none' for no wrappers."


def command(request: type[AnyRequest], execute: Callable[[AnyRequest], int | None]) -> Callable[..., None]:
    """Return the function of a command, from which Typer makes the command line.

    Args:
        request: model; its docstring is the help of the command, its fields are the options.
        execute: does what is requested and may return an exit code.
    """
    options = list(options_of(request))
    by_name = {option.key.replace(".", "__"): option for option in options}

    def run(context: typer.Context, **typed: object) -> None:
        read = read_options(request, {option.key: typed[name] for name, option in by_name.items()}, options)
        if read.is_empty():
            typer.echo(context.get_help())
        else:
            raise typer.Exit(execute(read) or 0)

    run.__doc__ = request.__doc__
    first = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [_parameter(name, option) for name, option in by_name.items()]
    panels = [option.panel for option in options if not (option.flag.positional or option.is_hidden)]
    run.__signature__ = inspect.Signature([first, *parameters, _help(panels[-1])])  # type: ignore[attr-defined]
    return run


def _print_help(context: typer.Context, wanted: bool) -> None:
    if wanted:
        typer.echo(context.get_help())
        raise typer.Exit


def _help(panel: str | None) -> inspect.Parameter:
    """Return the parameter of ``--help``, the last of a panel; Typer's own comes first, in a panel of its own."""
    info = typer.Option(
        *("--help", "-h"),
        help="Show this message and exit.",
        callback=_print_help,
        is_eager=True,
        metavar="",
        rich_help_panel=panel,
        expose_value=False,
    )
    return inspect.Parameter("help", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, info])


def _parameter(name: str, option: Option) -> inspect.Parameter:
    """Return the parameter of an option: type and default of the shell, and what Typer shows."""
    flag, several = option.flag, option.kind in ("words", "table") or (option.many and option.kind == "wrappers")
    kind: Any = list[str] if several else bool if option.kind == "switch" and not option.many else str
    complete = _completion(flag.completes)
    default, required = _default(option), option.info.is_required() and not option.table
    if flag.positional:
        kind = Path if option.kind == "path" else kind
        info = typer.Argument(help=flag.help, metavar=flag.metavar or option.spelling, autocompletion=complete)
    else:
        text = ALTERNATIVE_STACKS if option.many and option.kind == "wrappers" else flag.help
        info = typer.Option(
            *(flag.names or (option.spelling,)),
            help=text,
            rich_help_panel=option.panel,
            autocompletion=complete,
            metavar=flag.metavar or _metavar(option),
            show_default=flag.default or True,
            hidden=option.is_hidden,
        )
    accepted: Any = kind if required or default is not None else kind | None
    parameter_default = inspect.Parameter.empty if required else default
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=parameter_default, annotation=Annotated[accepted, info]
    )


def _completion(name: str) -> Callable[[str], list[str]] | None:
    """Return a function of `ngym_cli.commands.completion`, imported when it is called; None without a name."""

    def complete(incomplete: str) -> list[str]:
        from ngym_cli.commands import completion

        completions: list[str] = getattr(completion, name)(incomplete)
        return completions

    return complete if name else None


def _default(option: Option) -> object:
    """Return the default that the help shows, as typed; None for options that are not set unless given."""
    default = option.info.get_default(call_default_factory=True)
    if option.table or default is PydanticUndefined or default is None or isinstance(default, list | dict):
        return None
    if isinstance(default, tuple):
        return ",".join(map(str, default)) or None
    return default if isinstance(default, bool) else str(default)


def _metavar(option: Option) -> str:
    """Return the placeholder of a value, with the range of small numbers."""
    if option.many or option.kind not in METAVARS:
        return TEXT
    limits = {
        sign: getattr(entry, name)
        for sign, name in (("<=", "le"), (">=", "ge"))
        for entry in option.info.metadata
        if getattr(entry, name, None) is not None
    }
    if option.table or not limits or max(limits.values()) > SHOWN_RANGE:
        return METAVARS[option.kind]
    low, high = limits.get(">="), limits.get("<=")
    limits_text = f"x>={low:g}" if high is None else f"{low:g}<=x<={high:g}"
    return f"{METAVARS[option.kind]} [{limits_text}]"
