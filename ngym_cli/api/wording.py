"""Options and attributes in messages to callers of Python."""

from __future__ import annotations

import contextlib
import functools
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neurogym.messages.options import SPELLING
from ngym_cli.config.fields import Option, Request, options_of
from ngym_cli.config.values import parse_scalar
from ngym_cli.errors import UserError, did_you_mean

#: Fields of requests that are only of use in the shell.
OF_THE_SHELL = ("as_json", "json", "dry_run", "print_config", "smoke", "checkpoint")

#: Words of other libraries for arguments and for attributes of results, with the names here.
ELSEWHERE = tomllib.loads(Path(__file__).with_name("elsewhere.toml").read_text(encoding="utf-8"))


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
            meant = ELSEWHERE["attributes"].get(name)
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
        pieces = shlex.split(words)
    except ValueError:  # a value with an apostrophe
        pieces = words.split(" ", 1)
    typed: dict[str, list[str]] = {}
    for piece in pieces:
        if piece.startswith("--") or not typed:
            word = piece
            typed.setdefault(word, []).append("")
        else:
            typed[word][-1] = f"{typed[word][-1]} {piece}".strip()
    options = _options(request)
    return ", ".join(_argument(options.get(word), word, [*filter(None, values)]) for word, values in typed.items())


def _argument(option: Option | None, word: str, values: list[str]) -> str:
    """Return an option as an argument, without values as the beginning of one; as typed if only the shell has it.

    An option of a request that is not loaded has the name of the shell with underscores.
    """
    name = option.name if option else word.removeprefix("--").replace("-", "_")
    if name in OF_THE_SHELL:
        return " ".join([word, *values])
    if option and option.kind == "switch":
        return f"{name}={word == option.spelling}"
    if not values:
        return f"{name}="
    if option and option.kind == "table":
        with contextlib.suppress(UserError):
            return f"{name}={option.read(values)!r}"
    number = parse_scalar(values[0])
    value = values if len(values) > 1 else number if type(number) in (int, float) else values[0]
    return f"{name}={value!r}"


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
