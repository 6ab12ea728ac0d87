"""Options and attributes in messages to callers of Python."""

from __future__ import annotations

import contextlib
import functools
import shlex
from collections.abc import Iterator
from typing import Any

from neurogym.messages.options import SPELLING
from ngym_cli.config.fields import Option, Request, options_of
from ngym_cli.config.values import parse_scalar
from ngym_cli.errors import did_you_mean

#: Fields of requests that are only of use in the shell.
OF_THE_SHELL = ("as_json", "dry_run", "print_config", "smoke", "checkpoint")

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


@contextlib.contextmanager
def called_from_python(request: type[Request] | None) -> Iterator[None]:
    """Name options in messages as arguments of the function with the options of a request, within a block."""
    before = SPELLING.set(functools.partial(in_python, request=request))
    try:
        yield
    finally:
        SPELLING.reset(before)


def in_python(words: str, request: type[Request] | None = None) -> str:
    """Return options of the shell, each with its value if it has one, as arguments of a function.

    Args:
        words: as typed in the shell; an option that only the shell has stays as typed.
        request: options of the function; options that it does not have are looked up in all requests in use.

    Example:
        >>> from ngym_cli.evaluation.request import EvalRequest
        >>> in_python("--name", EvalRequest), in_python("--trials 500 --overwrite", EvalRequest)
        ('name=', 'trials=500, overwrite=True')
    """
    try:
        typed = shlex.split(words)[::-1]
    except ValueError:  # a value with an apostrophe
        typed = words.split(" ", 1)[::-1]
    options, written = _options(request), ""
    while typed:
        word = typed.pop()
        option = options.get(word)
        if option is None or option.name in OF_THE_SHELL:
            written += f"{word} "
            continue
        values = [typed.pop()] if typed and option.kind != "switch" and not typed[-1].startswith("--") else []
        while typed[-1:] == [word] and len(typed) > 1:
            values.append((typed.pop(), typed.pop())[1])
        written += f"{option.name}={_value(option, word, values)}{', ' if typed and typed[-1] in options else ' '}"
    return written.rstrip()


def _value(option: Option, word: str, texts: list[str]) -> str:
    """Return the value of an argument; empty without a text; of a switch, the value that its word stands for."""
    if option.kind == "switch":
        return str(word == option.spelling)
    if not texts:
        return ""
    if option.kind == "table" or len(texts) > 1:
        return repr(option.read(texts))
    number = parse_scalar(texts[0])
    return repr(number if type(number) in (int, float) else texts[0])


def _options(request: type[Request] | None) -> dict[str, Option]:
    """Return the options of all requests in use by their words in the shell, those of one request before all others."""
    options: dict[str, Option] = {}
    for each in (*([request] if request else []), *_requests(Request)):
        for option in options_of(each):
            for word in "/".join(option.flag.names or (option.spelling,)).split("/"):
                options.setdefault(word, option)
    return options


def _requests(base: type[Request]) -> Iterator[type[Request]]:
    for request in base.__subclasses__():
        yield request
        yield from _requests(request)
