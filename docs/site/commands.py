"""A page for each command, from the help that the command prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import typer

from docs.site.writing import Site, code, escaped, hidden_tree, page, prose, table
from ngym_cli.commands.app import COMMANDS, app
from ngym_cli.commands.shell import shown_names


def write(site: Site) -> None:
    """Write a page for each command and the list of them."""
    group: Any = typer.main.get_command(app)
    commands = {name: group.get_command(None, name) for name in COMMANDS}
    for name, command in commands.items():
        site.write(f"commands/{name}.md", text(name, command))
    rows = [(f"[ngym {name}]({name}.md)", _summary(command)) for name, command in commands.items()]
    site.write("commands/index.md", page("# Commands", table(("command", "what it does"), rows), hidden_tree(COMMANDS)))


def text(name: str, command: Any) -> str:
    """Return the page of a command: what it does, how it is called, its options, examples."""
    inside: dict[str, Any] = getattr(command, "commands", {})
    examples = [line for line in (command.epilog or "").splitlines() if line.startswith("ngym ")]
    parts = [f"# ngym {name}", _summary(command), "## Examples", code("\n".join(examples))]
    for word, part in (inside if inside else {"": command}).items():
        called = f"ngym {name} {word}".strip()
        parts += [f"## {called}", prose(part.help or "")] if word else []
        parts += [code(_usage(called, part)), *_options(part.params, 3 if word else 2)]
    return page(*parts)


def _summary(command: Any) -> str:
    return prose(command.help.partition("\n")[0])


def _usage(called: str, command: Any) -> str:
    words = [(p.metavar or p.name).upper() for p in command.params if p.param_type_name == "argument"]
    return f"{called} [OPTIONS] {' '.join(f'[{word}]' for word in words)}".strip()


def _options(parameters: Iterable[Any], level: int) -> Iterator[str]:
    """Yield a table for each panel of the help."""
    panels: dict[str, list[Any]] = {}
    for parameter in parameters:
        argument = parameter.param_type_name == "argument"
        usual = "Arguments" if argument else "Options"
        panels.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(parameter)
    for title, members in panels.items():
        yield f"{'#' * level} {escaped(title)}"
        rows = [_option(member) for member in members]
        columns = 3 if any(default for *_, default in rows) else 2
        yield table(("name", "meaning", "default")[:columns], [row[:columns] for row in rows], "settings")


def _option(parameter: Any) -> tuple[str, str, str]:
    argument = parameter.param_type_name == "argument"
    written = [(parameter.metavar or parameter.name).upper()]
    flags = written if argument else [*shown_names(parameter), *parameter.secondary_opts]
    default = parameter.default
    shown = "" if callable(default) or default in (None, False, "", [], ()) else f"`{default}`"
    return " ".join(f"`{flag}`" for flag in flags), prose(parameter.help or ""), shown
