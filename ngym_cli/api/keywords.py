"""Functions of Python whose keyword arguments are the options of a request: one declaration for shell, TOML and Python.

A function decorated with `takes` validates the model of the shell's command, through `request_of`.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ngym_cli.agents.algorithms import HYPERPARAMETERS
from ngym_cli.agents.networks import NETWORKS
from ngym_cli.api.references import reference_of
from ngym_cli.api.wording import ELSEWHERE, OF_THE_SHELL, called_from_python
from ngym_cli.config.fields import AnyRequest, Option, Request, arranged, checked, options_of
from ngym_cli.config.model import RunConfig
from ngym_cli.config.tasks import find_task
from ngym_cli.config.values import parse_wrappers
from ngym_cli.environments.stack import keyword_parameters
from ngym_cli.errors import FULL_TRACEBACK, UserError, did_you_mean
from ngym_cli.training.request import RunRequest

POSITIONAL_OR_KEYWORD, KEYWORD_ONLY, VAR_KEYWORD = (
    getattr(inspect.Parameter, name) for name in ("POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY", "VAR_KEYWORD")
)
Function = TypeVar("Function", bound=Callable[..., Any])

#: Kinds of parts that may be classes, by the option that takes one.
PARTS = {"task": "task", "simulate": "task", "alg": "algorithm", "network": "network", "callbacks": "callback"}


def keyword_options(request: type[Request], without: Collection[str] = ()) -> dict[str, Option]:
    """Return the options of a request by their names in Python.

    Args:
        request: the model.
        without: names of options, and of tables of options, that are left out.
    """
    left_out = {*OF_THE_SHELL, *without}
    return {each.name: each for each in options_of(request) if not left_out & {each.name, each.table}}


def request_of(request: type[AnyRequest], keywords: Mapping[str, Any], without: Collection[str] = ()) -> AnyRequest:
    """Return the request of keyword arguments.

    Args:
        request: the model.
        keywords: values by name; None stands for the default.
        without: names of options that are not accepted.

    Raises:
        UserError: on an unknown name, with the nearest, or a value that does not fit, in the words of Python.
    """
    options = keyword_options(request, without)
    given = {name: value for name, value in keywords.items() if value is not None}
    found = [(find_option(name, value, options, given.get("task")), value) for name, value in given.items()]
    with called_from_python(request):
        return checked(request, arranged((option, written(option, value)) for option, value in found), typed=True)


def settings_of(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a run, given as arguments of `ngym_cli.train`, as nested tables; errors as of `request_of`."""
    alone = [option.name for option in options_of(RunRequest) if not option.table]
    rest = {name: value for name, value in keywords.items() if name != "stages"}
    settings, stages = request_of(RunRequest, rest, alone).settings, keywords.get("stages")
    return dict(settings) if stages is None else {**settings, "stages": stages_of(stages)}


def stages_of(stages: Any) -> list[dict[str, Any]]:
    """Return stages of a curriculum, dictionaries of arguments of `ngym_cli.train`, as tables of a configuration."""
    options = {name: option for name, option in keyword_options(RunRequest).items() if option.table}
    return [
        {name: written(options[name], item) if name in options else simple(item) for name, item in stage.items()}
        for stage in (dictionary("stages", each) for each in listed(stages))
    ]


def listed(value: Any) -> list[Any]:
    """Return a list or a tuple as a list, another value as a list of it."""
    return list(value) if isinstance(value, list | tuple) else [value]


# -- names ------------------------------------------------------------------------------------------------------------


def find_option(
    name: str, value: object, options: Mapping[str, Option], task: object, also: Collection[str] = ()
) -> Option:
    """Return the option of a keyword argument; its name in the shell and its older names count, too.

    Args:
        name: name of the argument.
        value: its value, for messages.
        options: the options by name.
        task: the task, whose arguments and periods are named in messages; the default task if None.
        also: names of further arguments, for messages.

    Raises:
        UserError: on an unknown name, with the nearest and all, or with the dictionary that has such an entry.
    """
    spelled = {word.strip("-").replace("-", "_"): option for option in options.values() for word in option.spellings}
    if (option := options.get(name) or spelled.get(name)) is not None:
        return option
    for table, entries in _entries_of_tables(task) if options else ():
        if table in options and name in entries:
            raise UserError(f"'{name}' is an entry of {table}: {table}={{'{name}': {repr(value)[:60]}}}")
    valid, elsewhere = sorted({*options, *also}), ELSEWHERE["arguments"].get(name)
    if name in OF_THE_SHELL and elsewhere not in valid:
        raise UserError(f"unknown argument '{name}'; it is an option of the command line only")
    suggestion = f"; did you mean '{elsewhere}'?" if elsewhere in valid else did_you_mean(name, [*valid, *spelled])
    raise UserError(f"unknown argument '{name}'{suggestion} (expected one of: {', '.join(valid)})")


def _entries_of_tables(task: object) -> Iterator[tuple[str, Collection[str]]]:
    """Yield dictionaries among the arguments of a run, with the names of entries."""
    yield "hyperparameters", HYPERPARAMETERS
    yield "network_args", {name for network in NETWORKS.values() for name in network.options}
    chosen = RunConfig.model_fields["task"].default if task is None else task
    entry = find_task(chosen).entry if isinstance(chosen, str) else chosen
    yield "task_args", keyword_parameters(entry) or () if callable(entry) else ()
    for table in ("timing", "rewards"):
        entries = getattr(entry, f"default_{table}", None)
        yield table, entries if isinstance(entries, Mapping) else ()


# -- values -----------------------------------------------------------------------------------------------------------


def written(option: Option, value: Any) -> Any:
    """Return a value in the form of a request: parts as references, arrays as lists.

    Raises:
        UserError: if the value has no written form.
    """
    if option.many:
        return _alternatives(option, value)
    if option.kind == "wrappers":
        return stack(value)
    if (kind := PARTS.get(option.entry)) is not None:
        references = [reference_of(kind, each) for each in listed(value)]
        return references if option.kind == "words" or isinstance(value, list | tuple) else references[0]
    if option.table == "perturbations.":
        return _perturbations(value)
    if option.kind == "table":
        return simple(dictionary(option.name, value))
    if option.name == "only" and option.kind == "word" and isinstance(value, Mapping):
        return ",".join(f"{column}={simple(entry)}" for column, entry in value.items())
    try:
        return simple(value)
    except UserError as error:
        if option.table:
            raise UserError(f"{option.name}: {error}") from None
        return value  # refused with the type that is expected


def _alternatives(option: Option, value: Any) -> dict[str, list[object]] | list[object]:
    """Return the values of a parameter of a sweep; of a table, those of each entry."""
    if option.kind == "table":
        lists = {entry: simple(items) for entry, items in dictionary(option.name, value).items()}
        return {str(entry): items if isinstance(items, list) else [items] for entry, items in lists.items()}
    is_single = isinstance(value, str | type | Mapping) or not isinstance(value, Iterable)
    single = replace(option, many=False)
    return [written(single, each) for each in ([value] if is_single else value)]


def stack(wrappers: Any) -> list[dict[str, Any]]:
    """Return wrappers in the form of a configuration.

    Args:
        wrappers: text as on the command line, or a list, innermost first, of names, classes and pairs of these with a
            dictionary of arguments.
    """
    stacked: list[dict[str, Any]] = []
    for entry in listed(wrappers):
        if isinstance(entry, str):
            stacked += parse_wrappers(entry)
            continue
        user_object, args = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, {})
        name = reference_of("wrapper", user_object)
        stacked.append({"name": name, **simple(dictionary(f"arguments of wrapper {name}", args))})
    return stacked


def _perturbations(perturbed: Any) -> list[str]:
    """Return perturbations as texts."""
    if isinstance(perturbed, Mapping):
        entries = {key: simple(value) for key, value in perturbed.items()}
        lists = {key: ",".join(map(str, item)) if isinstance(item, list) else item for key, item in entries.items()}
        return [" ".join(f"{key}={item}" for key, item in lists.items())]
    if isinstance(perturbed, list | tuple):
        return [text for each in perturbed for text in _perturbations(each)]
    return [str(perturbed)]


def dictionary(argument_name: str, value: object) -> Mapping[str, Any]:
    """Return a value that has to be a dictionary.

    Args:
        argument_name: name of the argument, for the message.
        value: the value.

    Raises:
        UserError: if the value is not a dictionary.
    """
    if not isinstance(value, Mapping):
        raise UserError(f"{argument_name}: expected a dictionary, not {value!r}")
    return value


def simple(value: Any) -> Any:
    """Return arrays, tuples, ranges and numbers of NumPy as lists and numbers of Python.

    Raises:
        UserError: on a value that a configuration cannot hold, such as a function.
    """
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): simple(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range | set):
        return [simple(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise UserError(f"expected numbers, words, lists and dictionaries, not {value!r}")


# -- functions --------------------------------------------------------------------------------------------------------


def takes(
    request: type[Request] | None = None,
    without: Collection[str] = (),
    task_of: Callable[[Mapping[str, Any]], object] = lambda arguments: arguments.get("task"),
) -> Callable[[Function], Function]:
    """Return a decorator of a function that takes the options of a request as ``**keywords``.

    Its help lists the options; unknown names are refused with the nearest. Errors of the user are in the words of
    Python and have a short traceback, unless the environment variable ``NGYM_TRACEBACK=1`` keeps it.

    Args:
        request: the model, or None.
        without: names of options that the function does not take.
        task_of: returns the task of the arguments of a call, for messages.
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        parameters = {name: each.kind for name, each in signature.parameters.items() if name != "self"}
        named = {name for name, kind in parameters.items() if kind in (POSITIONAL_OR_KEYWORD, KEYWORD_ONLY)}
        accepted = {} if request is None else keyword_options(request, {*without} - {*parameters})
        options = {name: option for name, option in accepted.items() if name not in parameters}
        takes_any = request is None and VAR_KEYWORD in parameters.values()

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            try:
                with called_from_python(request):
                    for name in [] if takes_any else [name for name in keywords if name not in named | options.keys()]:
                        arguments = {**dict(zip(signature.parameters, args, strict=False)), **keywords}
                        option = find_option(name, keywords[name], accepted, task_of(arguments), named)
                        keywords[option.name] = keywords.pop(name)
                    try:
                        signature.bind(*args, **keywords)
                    except TypeError as error:
                        raise UserError(f"{function.__name__}: {error}") from None
                    return function(*args, **keywords)
            except UserError as error:
                if os.environ.get(FULL_TRACEBACK):
                    raise
                error.__suppress_context__ = True
                raise error.with_traceback(None)  # noqa: B904

        if request is not None:
            lines = "".join(f"\n    {name}: {option.flag.meaning}" for name, option in options.items())
            call.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\nOptions:{lines}\n"
        call.request, call.options = request, options  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate
