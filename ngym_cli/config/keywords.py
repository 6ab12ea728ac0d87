"""Functions of Python whose keyword arguments are the options of a request."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticUndefined

from ngym_cli.config.fields import AnyRequest, Option, Request, checked, options_of
from ngym_cli.config.options import refused
from ngym_cli.config.values import merge, nest
from ngym_cli.errors import UserError, did_you_mean

Function = TypeVar("Function", bound=Callable[..., Any])

#: Fields of requests that have another name in Python.
RENAMED = {"runs": "runs_root", "sweeps": "sweeps_root"}
#: Names of arguments in other libraries.
KEYWORD_SYNONYMS = {
    "env": "task",
    "env_id": "task",
    "total_timesteps": "timesteps",
    "steps": "timesteps",
    "policy": "network",
    "model": "network",
    "hidden_size": "units",
    "num_envs": "n_envs",
    "callback_list": "callbacks",
    "policy_kwargs": "network_args",
    "env_kwargs": "task_args",
    "tracker": "track",
    "n_eval_episodes": "eval_trials",
    "eval_freq": "eval_every",
    "save_freq": "checkpoint_every",
    "verbose": "progress",
    "cells": "units",
    "runs": "runs_root",
    "sweeps": "sweeps_root",
    "models": "model",
    "figure": "words",
    "n_jobs": "workers",
    "random_state": "seed",
    "lr": "hyperparameters",
    "checkpoint": "checkpoints",
}
#: Other names of arguments.
ALIASES = {"algorithm": "alg", "set": "hyperparameters"}
#: Fields of requests that are only of use in the shell.
OF_THE_SHELL = ("as_json", "dry_run", "print_config", "smoke", "checkpoint")


def keyword_options(request: type[Request], without: Collection[str] = ()) -> dict[str, Option]:
    """Return the options of a request by their names in Python.

    Args:
        request: the model.
        without: names of options that are left out.
    """
    options = {RENAMED.get(option.name, option.name): option for option in options_of(request)}
    return {name: option for name, option in options.items() if name not in (*OF_THE_SHELL, *without)}


#: Refuses, in words of its own, a keyword that is not an argument: name, value, all arguments by name.
Hint = Callable[[str, object, Mapping[str, object]], None]


def with_keywords(
    request: type[Request],
    without: Collection[str] = (),
    hint: Hint = lambda name, value, arguments: None,
    further: Mapping[str, Option] | None = None,
) -> Callable[[Function], Function]:
    """Return a decorator that adds the options of a request to the signature and the help of a function.

    A call with another keyword, or with a value that does not fit an argument, raises UserError in the words of Python.

    Args:
        request: the model; the function takes the options as ``**request``.
        without: names of options that the function does not take.
        hint: called with a keyword that is not an argument, before it is refused.
        further: options of another request that the function takes as well.
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        named = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        names = {each.name for each in named if each.kind not in (each.POSITIONAL_ONLY, each.VAR_POSITIONAL)}
        options = {**keyword_options(request, (*without, *(each.name for each in named))), **(further or {})}
        plain = {
            name: option
            for name, option in {**keyword_options(request), **options}.items()
            if not option.table and not option.flag.positional
        }
        added = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=_default(option), annotation=option.info.annotation
            )
            for name, option in options.items()
        ]
        lines = "".join(f"\n    {name}: {option.flag.meaning}" for name, option in options.items())

        @functools.wraps(function)
        def run(*args: Any, **keywords: Any) -> Any:
            arguments = signature.bind_partial(*args, **{k: v for k, v in keywords.items() if k in names}).arguments
            for name in keywords.keys() - names - options.keys():
                hint(name, keywords[name], {**keywords, **arguments})
                option = find_option(name, options, names=names)
                keywords[RENAMED.get(option.name, option.name)] = keywords.pop(name)
            for name, value in arguments.items():
                if name in plain and value is not None and not isinstance(value, tuple):
                    _check_value(plain[name], value)
            return function(*args, **keywords)

        run.request, run.options = request, options  # type: ignore[attr-defined]
        run.__signature__ = signature.replace(parameters=[*named, *added])  # type: ignore[attr-defined]
        run.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\nOptions:{lines}\n"
        return run  # type: ignore[return-value]

    return decorate


def _check_value(option: Option, value: object) -> None:
    """Refuse a value of an argument that is not of the option's type.

    Raises:
        UserError: says what is expected.
    """
    kinds: Any = Annotated[(option.info.annotation, *option.info.metadata)]
    try:
        TypeAdapter(kinds).validate_python(value)
    except ValidationError as error:
        raise refused(RENAMED.get(option.name, option.name), option.info, error.errors()[0]) from None


def _default(option: Option) -> object:
    """Return the default that a signature shows."""
    default = option.info.get_default(call_default_factory=True)
    return None if default is PydanticUndefined else default


def find_option(
    name: str, options: Mapping[str, Option], kind: str = "argument", names: Collection[str] = ()
) -> Option:
    """Return the option of a keyword argument; its name in the shell counts, too, as ``reward`` for ``rewards``.

    Args:
        name: name of the argument.
        options: the options by name.
        kind: word for an argument in messages.
        names: names of further arguments, for messages.

    Raises:
        UserError: on an unknown name, with the nearest, or else all.
    """
    spelled = {option.spelling.strip("-").replace("-", "_"): option for option in options.values()}
    result = options.get(name) or spelled.get(name) or options.get(ALIASES.get(name, ""))
    if result is None:
        meant, valid = KEYWORD_SYNONYMS.get(name, name), {*options, *names}
        if name in OF_THE_SHELL and meant not in valid:
            raise UserError(f"unknown {kind} '{name}'; it is an option of the command line only")
        suggestion = f"; did you mean '{meant}'?" if meant in valid else did_you_mean(meant, {*spelled, *valid})
        raise UserError(f"unknown {kind} '{name}'{suggestion} (expected one of: {', '.join(sorted(valid))})")
    return result


def read_keywords(
    request: type[AnyRequest],
    keywords: Mapping[str, Any],
    kind: str = "argument",
    without: Collection[str] = (),
    convert: Callable[[Option, Any], object] = lambda option, value: value,
) -> AnyRequest:
    """Return the request of keyword arguments.

    Args:
        request: the model.
        keywords: values by name in Python; None stands for the default.
        kind: word for an argument in messages.
        without: names that are not accepted.
        convert: converts a value to the form of a configuration.

    Raises:
        UserError: on an unknown name, with the nearest, or a value that does not fit, in the words of Python.
    """
    options = keyword_options(request, without)
    data: dict[str, object] = {}
    for name, value in keywords.items():
        if value is not None:
            option = find_option(name, options, kind)
            data = merge(data, nest({option.key: convert(option, value)}))
    return checked(request, data, spelling="python")
