"""Messages in the words of Python: names of arguments in place of options of the shell."""

from __future__ import annotations

import re
from typing import Any

from ngym_cli.config.fields import Option, Request, options_of
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
        is_switch = option.kind == "switch"
        return f"{option.name}={word == option.spelling.strip('-')}{value}" if is_switch else f"{option.name}="

    return _FLAG.sub(argument, message)


def _options() -> dict[str, Option]:
    """Return the options of all requests that are in use, by their words in the shell."""
    options: dict[str, Option] = {}
    for request in Request.__subclasses__():
        for option in options_of(request):
            for spelling in option.flag.names or (option.spelling,):
                for word in spelling.split("/"):
                    options.setdefault(word.strip("-"), option)
    return options
