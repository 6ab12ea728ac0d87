"""Errors in the words of Python: names of arguments in place of options of the shell, and a short traceback."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable
from typing import Any, TypeVar

from ngym_cli.config.fields import Option, Request, options_of
from ngym_cli.config.keywords import OF_THE_SHELL, RENAMED
from ngym_cli.errors import FULL_TRACEBACK, UserError, check_known, did_you_mean

#: Words of other libraries for attributes of results.
MEANT = {
    "eval": "evaluate",
    "history": "learning_curve",
    "log": "learning_curve",
    "predict": "act",
    "result": "summary",
    "results": "summary",
    "save": "path",
    "score": "performance",
    "test": "evaluate",
}


class NearestAttribute:
    """Object whose unknown attributes are refused with the nearest existing one."""

    def __getattr__(self, name: str) -> Any:
        """Refuse an attribute that does not exist.

        Raises:
            AttributeError: with the nearest.
        """
        if hasattr(type(self), name):
            return object.__getattribute__(self, name)  # a property that failed raises its own error again
        names = [each for each in sorted({*dir(type(self)), *vars(self)}) if not each.startswith("_")]
        hint = ""
        if not name.startswith("_"):
            meant = MEANT.get(name)
            hint = f"; did you mean '{meant}'?" if meant in names else did_you_mean(name, names)
        raise AttributeError(f"{type(self).__name__} has no attribute '{name}'{hint}", name=name, obj=self)


Function = TypeVar("Function", bound=Callable[..., Any])

#: An option in a message; a value that follows as a number or in quotes belongs to it.
_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])((?: (?=[\d'\"]))?)")


def in_python(message: str) -> str:
    """Return a message with options of the shell as arguments of Python.

    >>> from ngym_cli.evaluation.request import EvalRequest
    >>> in_python("run a exists; choose another --name or pass --overwrite")
    'run a exists; choose another name= or pass overwrite=True'
    """
    options = _options()

    def argument(match: re.Match[str]) -> str:
        word, value = match.group(1), match.group(2)
        option = options.get(word)
        if option is None or option.name in OF_THE_SHELL:
            return match.group(0)
        name = RENAMED.get(option.name, option.name)
        return f"{name}={word == option.spelling.strip('-')}{value}" if option.kind == "switch" else f"{name}="

    return _FLAG.sub(argument, message)


def _options() -> dict[str, Option]:
    """Return the options of all requests that are in use, by their words in the shell."""
    options: dict[str, Option] = {}
    for request in Request.__subclasses__():
        for option in options_of(request):
            for spelling in (option.flag.names or (option.spelling,))[0].split("/"):
                options.setdefault(spelling.strip("-"), option)
    return options


def _check_arguments(name: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse arguments that a function does not take, and missing ones.

    Raises:
        UserError: on an unknown name, with the nearest.
    """
    parameters = signature.parameters
    if not any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        names = {each.name for each in parameters.values() if each.kind is not each.VAR_POSITIONAL} - {"self"}
        for keyword in kwargs:
            check_known("argument", keyword, names)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise UserError(f"{name}: {error}") from None


def in_python_words(function: Function) -> Function:
    """Decorate a function so that errors of the user are in the words of Python and have a short traceback.

    The environment variable ``NGYM_TRACEBACK=1`` keeps the full traceback.
    """
    signature = inspect.signature(inspect.unwrap(function))

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            _check_arguments(function.__name__, signature, args, kwargs)
            return function(*args, **kwargs)
        except UserError as error:
            error.args = (in_python(str(error)), *error.args[1:])
            if os.environ.get(FULL_TRACEBACK):
                raise
            error.__suppress_context__ = True
            raise error.with_traceback(None)  # noqa: B904

    return call  # type: ignore[return-value]
