"""A configuration that was read may name code and files; they are used only when the user says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ngym_cli.config.model import RunConfig
from ngym_cli.errors import UserError

#: Wrappers that read or write files of their own.
FILE_WRAPPERS = ("monitor", "Monitor")


def references(config: RunConfig) -> list[str]:
    """Return what a configuration names beyond this package: code to import, and wrappers that touch files."""
    found = [text for k in range(len(config.stages)) for text in references(config.in_stage(k))]
    found += [config.task] if ":" in config.task else []
    found += [text for text in _texts(config.task_args) if _is_reference(text)]
    for entry in config.wrappers:
        found += [text for text in _texts(entry.args) if _is_reference(text)]
        if entry.name in FILE_WRAPPERS:
            found.append(f"wrapper {entry.name}")
    return found


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _is_reference(text: str) -> bool:
    """Say whether a text may name a module, a file or a class; ``uniform:200:600`` and ``block:100`` do not."""
    from neurogym.utils.ngym_random import DISTRIBUTIONS

    name, _, rest = text.partition(":")
    if name in (*DISTRIBUTIONS, "constant", "until"):
        return False
    if name in ("block", "sequential_block") and rest.isdecimal():  # a schedule
        return False
    return ":" in text or "/" in text or "\\" in text or text.endswith(".py")


def require(config: RunConfig, source: str, given: RunConfig | None = None) -> None:
    """Refuse a configuration that names code or files which the command line does not name too.

    Args:
        config: what was read, with the command line laid over it.
        source: where it was read.
        given: what the command line alone says.

    Raises:
        UserError: names the first of them and says how to allow it.
    """
    allowed = references(given) if given is not None else []
    for name in references(config):
        if name not in allowed:
            raise UserError(
                f"{source} names {name}, which is code or files of its own; it is used only when the command line "
                "names it, or with --trust"
            )
