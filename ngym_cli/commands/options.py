"""Options of commands: from a function's parameters and docstring, and from the fields of the configuration."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import typer

from ngym_cli.commands import completion
from ngym_cli.config.docstrings import sections
from ngym_cli.config.flags import ROLES, Flag
from ngym_cli.config.values import parse_whole

Command = Callable[..., None]

#: Types of options in plain words. Switches show no type.
TYPES = {bool: "", int: "INTEGER", float: "NUMBER", Path: "PATH"}

#: Section of a docstring that explains parameters without a panel of their own in the help.
USUAL = "Options"


def option(*names: str, panel: str | None = None, **more: Any) -> Any:
    """Return the properties of an option that neither its type nor the command's docstring says.

    Args:
        *names: spellings of the option, if different from the parameter's name.
        panel: group of options in the help.
        **more: other arguments of ``typer.Option``.
    """
    return typer.Option(..., *names, rich_help_panel=panel, **more)


def _whole(text: str | int) -> int:
    """Read a whole number; errors are in the words of `parse_whole` alone, where Typer would put some before."""
    try:
        return parse_whole(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


#: Properties of an option for a whole number, which may be written as 1e5 or 100_000.
WHOLE: Mapping[str, Any] = {"parser": _whole, "metavar": "INTEGER"}
Whole = Annotated[int, option(**WHOLE)]
RunsFolder = Annotated[Path, option(help="Folder of all runs.")]
TrustRecord = Annotated[bool, option(help="Trust code that the run names.")]
RunName = Annotated[
    str, typer.Argument(help="Run folder, name of a run, or 'latest'.", autocompletion=completion.run_folders)
]


def explained(command: Command) -> Command:
    """Return a command whose help is the docstring of a function.

    The text before the first section is the help of the command; a section ``Panel:`` explains the parameters that the
    help shows in this panel, each as ``name: text.``; the section ``Options:`` explains those without a panel. A switch
    is off unless given, and has no opposite.

    Args:
        command: the function, or the result of ``with_flags`` or ``with_roles``.

    Raises:
        TypeError: if the docstring explains what is not a parameter.
    """
    text, panels = sections(command.__doc__)
    helps = {name: (panel, said) for panel, entries in panels.items() for name, said in entries.items()}
    signature = inspect.signature(command, eval_str=True)
    if unknown := helps.keys() - signature.parameters.keys():
        raise TypeError(f"{command.__module__}: the docstring explains {unknown}, which is not a parameter")
    parameters = [_with_help(each, *helps.get(each.name, (USUAL, ""))) for each in signature.parameters.values()]
    return _made(command, parameters, text)


def single_threaded(command: Command) -> Command:
    """Return a command in which numerical libraries, loaded by the command, use a single thread."""

    @functools.wraps(command)
    def run(**given: object) -> None:
        from ngym_cli.agents import threads

        threads.one()
        command(**given)

    return run


def _with_help(parameter: inspect.Parameter, panel: str, text: str) -> inspect.Parameter:
    """Return a parameter of a command with its panel and its text in the help."""
    kind, info = _unwrapped(parameter.annotation)
    info = copy.copy(info or option())
    info.help = text or info.help
    info.rich_help_panel = info.rich_help_panel or (panel if panel != USUAL else None)
    if not isinstance(info, typer.models.ArgumentInfo):
        info.param_decls = info.param_decls or (f"--{parameter.name.strip('_').replace('_', '-')}",)
        plain = next((each for each in (kind, *get_args(kind)) if each in TYPES), str)
        info.metavar = TYPES.get(plain, "TEXT") if info.metavar is None else info.metavar
    return parameter.replace(annotation=Annotated[kind, info])


def _unwrapped(annotation: Any) -> tuple[Any, Any]:
    """Return the type and the properties of ``Annotated[type, properties]``, alone or as ``... | None``."""
    for part in get_args(annotation) if NoneType in get_args(annotation) else (annotation,):
        if get_origin(part) is Annotated:
            kind, info = get_args(part)
            return (kind if part is annotation else kind | None), info
    return annotation, None


def _made(command: Command, parameters: Iterable[inspect.Parameter], text: str | None) -> Command:
    """Return a function with a signature and a docstring that calls a command."""

    def run(**given: object) -> None:
        command(**given)

    run.__doc__ = text
    run.__module__ = command.__module__
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in parameters]
    )
    return run


def with_flags(
    flags: Iterable[Flag], many: bool = False, panel: str | None = None, at: int = 0
) -> Callable[[Command], Command]:
    """Return a decorator that adds options to a command.

    Args:
        flags: the options.
        many: whether each option takes a list of values, as in a sweep.
        panel: group of all these options in the help (default: the group of each).
        at: position of the options among the parameters of the command.
    """
    return _with_parameters({flag.name: _annotation(flag, many, panel) for flag in flags}, at)


def _with_parameters(added: Mapping[str, object], at: int) -> Callable[[Command], Command]:
    """Return a decorator that adds parameters to a command.

    Args:
        added: annotations by name; the default is None.
        at: position among the parameters of the command.
    """

    def decorate(command: Command) -> Command:
        own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.kind is not p.VAR_KEYWORD]
        kind = inspect.Parameter.KEYWORD_ONLY
        more = [inspect.Parameter(name, kind, default=None, annotation=each) for name, each in added.items()]
        return _made(command, [*own[:at], *more, *own[at:]], command.__doc__)

    return decorate


def _annotation(flag: Flag, many: bool, panel: str | None) -> Any:
    """Return the annotation of a command parameter: type and option."""
    several = flag.kind in ("table", "words") or (many and flag.kind == "wrappers")
    kind: Any = list[str] if several else str
    more = dict(WHOLE) if flag.kind == "whole" and not many else {}
    if not many:
        kind = {"whole": int, "number": float, "switch": bool}.get(flag.kind, kind)
    text = flag.help[0].upper() + flag.help[1:] + "."
    if many and flag.kind == "wrappers":
        text = "Wrapper stack; repeat for alternatives; 'none' for no wrappers."
    complete = getattr(completion, flag.completes) if flag.completes else None
    added = option(flag.option, help=text, panel=panel or flag.panel, autocompletion=complete, **more)
    return Annotated[kind | None, added]


def with_roles(at: int) -> Callable[[Command], Command]:
    """Return a decorator that adds the options for roles of columns to a command.

    Args:
        at: position of the options among the parameters of the command.
    """
    options = {role: Annotated[str | None, option(help=text, panel="Columns")] for role, text in ROLES.items()}
    return _with_parameters(options, at)
