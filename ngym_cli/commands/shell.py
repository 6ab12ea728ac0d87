"""Commands of the shell made from requests: one option for each field."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from copy import copy
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic_core import PydanticUndefined
from typer.core import TyperOption

from ngym_cli.config.fields import AnyRequest, Option, Request, options_of, read_options

#: Placeholders of values, as Typer writes those of arguments.
METAVARS = {"whole": "<int>", "number": "<number>", "switch": "", "path": "<path>"}
TEXT = "<str>"
#: Panel of the options that most people need.
COMMON = "Most used options"
#: Widest range of numbers that the help shows.
SHOWN_RANGE = 100

ALTERNATIVE_STACKS = "Wrapper stack; repeat for alternatives; 'none' for no wrappers."


def command(request: type[AnyRequest], execute: Callable[[AnyRequest], int | None]) -> Callable[..., None]:
    """Return the function of a command, from which Typer makes the command line.

    Args:
        request: model; its docstring is the help of the command with examples, its fields are the options.
        execute: does what is requested and may return an exit code.
    """
    options = list(options_of(request))
    by_name = {option.key.replace(".", "__"): option for option in options}
    common = {name for name, option in by_name.items() if {option.name, option.key} & {*request.common}}

    def run(context: typer.Context, **typed: object) -> None:
        read = read_options(request, {option.key: typed[name] for name, option in by_name.items()}, options)
        if read.is_empty():
            typer.echo(_help_text(context, common))
        else:
            raise typer.Exit(execute(read) or 0)

    run.__doc__ = (request.__doc__ or "").partition("Examples:")[0]
    first = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [_parameter(name, option) for name, option in by_name.items()]
    panels = [option.panel for option in options if not (option.flag.positional or option.is_hidden)]
    helps = [_help("help", ("--help", "-h"), "Show this message and exit.", panels[-1], common)]
    helps += [_help("help_all", ("--help-all",), "Explain all options and exit.", panels[-1])] if common else []
    run.__signature__ = inspect.Signature([first, *parameters, *helps])  # type: ignore[attr-defined]
    return run


def epilog_of(request: type[Request]) -> str:
    """Return the examples of a command, which stand at the end of the docstring of its request."""
    lines = (request.__doc__ or "").partition("Examples:")[2].splitlines()
    return "\n\n".join(("Examples:", *(line.strip() for line in lines if line.strip())))


def _help_text(context: typer.Context, common: Collection[str] = ()) -> str:
    """Return the help of a command: the most used options and the names of the others, or all options explained."""
    context.command = command = copy(context.command)
    command.params = [copy(each) for each in command.params]
    options, rest = [each for each in command.params if isinstance(each, TyperOption)], dict[str | None, list[str]]()
    for each in options:
        each.opts = shown_names(each)
    for each in options if common else []:
        is_common = each.name in common or each.name in ("help", "help_all")
        if not (is_common or each.hidden):
            rest.setdefault(each.rich_help_panel, []).append(each.opts[0])
        each.hidden, each.rich_help_panel = not is_common, COMMON
    further = [f"{panel or 'Options'}: {', '.join(names)}" for panel, names in rest.items()]
    command.epilog = "\n\n".join(
        [command.epilog or "", *(["Further options (--help-all explains them):"] if rest else []), *further]
    )
    return context.get_help()


def shown_names(parameter: TyperOption) -> list[str]:
    """Return the names of an option in the help, without its older names."""
    return [name for k, name in enumerate(parameter.opts) if k == 0 or not name.startswith("--")]


def _help(
    name: str, spellings: tuple[str, ...], text: str, panel: str | None, common: Collection[str] = ()
) -> inspect.Parameter:
    """Return the parameter of a help option, the last of a panel; Typer's own comes first, in a panel of its own."""

    def show(context: typer.Context, wanted: bool) -> None:
        if wanted:
            typer.echo(_help_text(context, common))
            raise typer.Exit

    how: Any = {"callback": show, "is_eager": True, "metavar": "", "expose_value": False}
    info = typer.Option(*spellings, help=text, rich_help_panel=panel, **how)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, info])


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
