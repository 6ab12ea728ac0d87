"""Messages name options through one function, which writes them for whoever asks; every option they name exists."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ngym_cli.commands.app import COMMANDS
from ngym_cli.config.fields import Request, options_of

ROOT = Path(__file__).parents[2]
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z]|\{\})")
#: A complete command line, which callers of Python type in a shell, too.
COMMAND_LINE = re.compile(r"ngym ([a-z]+)(?: [^;]*?)?--[^;]*")
#: Options with values and nothing else: data, or names handed to a function.
ONLY_OPTIONS = re.compile(r"\s*(--[a-z{][a-z{}-]*(/--[a-z-]+)?( [^\s-]\S*)?\s*)+")
#: Files whose texts only the shell prints, and files with options of other programs.
OF_THE_SHELL = {"app.py", "run.py", "runs.py", "shell.py", "printing.py", "data_printing.py", "reference.py"}
OF_THE_SHELL |= {"suggestions.py", "terminal_pages.py", "__main__.py", "scan.py", "slurm.py", "provenance.py"}


class Text(NamedTuple):
    """Text in the source that names options; formatted parts are {}."""

    file: str
    text: str
    by_option: bool
    at_import: bool


@functools.cache
def options_by_command() -> dict[str, set[str]]:
    commands = {}
    for name in COMMANDS:
        module = vars(import_module(f"ngym_cli.commands.{name}"))
        requests = [each for each in module.values() if isinstance(each, type) and issubclass(each, Request)]
        options = [option for request in requests for option in options_of(request)]
        words = "/".join(word for each in options for word in each.flag.names or (each.spelling,)).split("/")
        commands[name] = {word.removeprefix("--") for word in words} | {"help", "help-all"}
    return commands


@functools.cache
def texts() -> list[Text]:
    paths = [path for package in ("ngym_cli", "neurogym") for path in sorted((ROOT / package).rglob("*.py"))]
    return [text for path in paths for text in texts_of(path)]


def texts_of(path: Path) -> Iterator[Text]:
    """Yield every text that names options, docstrings aside."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    skipped = {node.value for node in nodes if isinstance(node, ast.Expr)}
    skipped |= {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "option"]
    by_option = {inner for call in calls for inner in ast.walk(call)}
    inside = {inner for node in nodes if isinstance(node, ast.FunctionDef) for inner in ast.walk(node)}
    for node in nodes:
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        is_text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and node not in skipped)
        text = "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in parts if is_text)
        if OPTION.search(text):
            yield Text(path.name, text, node in by_option, node not in inside)


def test_every_option_of_a_message_exists():
    named = {word for each in texts() if each.by_option for word in OPTION.findall(each.text)}
    assert len(named) > 80 and named <= set().union(*options_by_command().values()) | {"{}"}


def test_no_message_names_an_option_before_it_is_known_who_asks():
    assert not [each for each in texts() if each.by_option and each.at_import]


def test_command_lines_in_messages_have_options_of_the_command():
    lines = [line for each in texts() if each.file not in OF_THE_SHELL for line in COMMAND_LINE.finditer(each.text)]
    unknown = [
        line[0]
        for line in lines
        if not {*OPTION.findall(line[0].split(" ngym ")[0])} - {"{}"} <= options_by_command()[line[1]]
    ]
    assert len(lines) > 10 and not unknown


def test_messages_name_options_through_one_function():
    plain = [each for each in texts() if not (each.by_option or each.at_import or each.file in OF_THE_SHELL)]
    plain = [each for each in plain if not ONLY_OPTIONS.fullmatch(each.text)]
    assert not [each for each in plain if OPTION.search(COMMAND_LINE.sub("", each.text))]
