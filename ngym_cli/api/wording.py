"""Errors in the words of Python: names of arguments in place of options of the shell, and a short traceback."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from typing import Any, TypeVar

from ngym_cli.errors import FULL_TRACEBACK, UserError

Function = TypeVar("Function", bound=Callable[..., Any])

#: Arguments of Python whose names are not those of the options.
ARGUMENTS = {
    "task-arg": "task_args", "network-arg": "network_args", "reward": "rewards", "callback": "callbacks",
    "set": "hyperparameters", "runs": "runs_root", "sweeps": "sweeps_root", "search-seed": "seed",
}  # fmt: skip
#: Options that are true or false.
SWITCHES = (
    *("all", "balanced", "by-trial", "ceilings", "detach", "deterministic", "neurogym", "overwrite", "pause"),
    *("recommended", "steps", "stochastic", "trust"),
)
#: Options that only the shell has.
OF_THE_SHELL = ("dry-run", "json", "print-config", "smoke", "list", "eval")

#: An option in a message; a value that follows as a number or in quotes belongs to it.
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])(?: (?=[\d'\"]))?")


def in_python(message: str) -> str:
    """Return a message with options of the shell as arguments of Python.

    >>> in_python("run a exists; choose another --name or say --overwrite")
    'run a exists; choose another name= or say overwrite=True'
    """

    def argument(match: re.Match[str]) -> str:
        word = match.group(1)
        if word in OF_THE_SHELL:
            return match.group(0)
        if word == "stochastic":
            return "deterministic=False"
        name = ARGUMENTS.get(word, word.replace("-", "_"))
        return f"{name}=True" if word in SWITCHES else f"{name}="

    return _OPTION.sub(argument, message)


def in_python_words(function: Function) -> Function:
    """Decorate a function so that errors of the user are in the words of Python and have a short traceback.

    The environment variable ``NGYM_TRACEBACK=1`` keeps the full traceback.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except UserError as error:
            error.args = (in_python(str(error)), *error.args[1:])
            if os.environ.get(FULL_TRACEBACK):
                raise
            error.__suppress_context__ = True
            raise error.with_traceback(None)  # noqa: B904

    return call  # type: ignore[return-value]
