"""What a docstring says of each argument."""

from __future__ import annotations

import inspect

from docstring_parser import DocstringStyle, parse


def summary(entry: object) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join((inspect.getdoc(entry) or "").partition("\n\n")[0].split())


def arguments(entry: object) -> dict[str, str]:
    """Return the description of each argument, from the section ``Args:`` of a class or function.

    Example:
        >>> arguments(arguments)
        {'entry': 'what has the docstring.'}

    Args:
        entry: what has the docstring.
    """
    parsed = parse(inspect.getdoc(entry) or "", style=DocstringStyle.GOOGLE)
    return {
        name.strip(" *"): " ".join((argument.description or "").split())
        for argument in parsed.params
        if argument.args[0] == "param"
        for name in argument.arg_name.split(",")
    }
