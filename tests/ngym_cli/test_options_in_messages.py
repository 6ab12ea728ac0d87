"""Messages name options through one function, which writes them for whoever asks; every option they name exists."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from ngym_cli.commands.app import COMMANDS
from ngym_cli.config.fields import Request, options_of

ROOT = Path(__file__).parents[2]
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z]|\{\})")
#: A complete command line, which callers of Python type in a shell, too.
COMMAND_LINE = re.compile(r"ngym ([a-z]+)(?: [^;]*?)?--[^;]*")
#: Options with values and nothing else: data, or names handed to a function.
ONLY_OPTIONS = re.compile(r"\s*(--([a-z][a-z-]*|\{\})(/--[a-z-]+)?( [^\s-]\S*)?\s*)+")
#: Calls that declare options.
DECLARATIONS = ("Flag", "Option", "Argument", "Field")
#: Files whose texts only the shell prints, and files with options of other programs.
OF_THE_SHELL = {"app.py", "run.py", "runs.py", "shell.py", "printing.py", "data_printing.py", "reference.py"}
OF_THE_SHELL |= {"suggestions.py", "terminal_pages.py", "__main__.py", "scan.py", "slurm.py", "provenance.py"}


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


def texts() -> Iterator[tuple[Path, str, str]]:
    """Yield each text that names options, formatted parts as {}: file, text, and call that declares or writes them."""
    for path in [path for package in ("ngym_cli", "neurogym") for path in sorted((ROOT / package).rglob("*.py"))]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        around: dict[ast.AST, str] = {}
        skipped = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (name := ast.unparse(node.func).split(".")[-1]) in (
                *DECLARATIONS,
                "option",
            ):
                around |= dict.fromkeys(ast.walk(node), name)
            if isinstance(node, ast.JoinedStr):
                skipped |= {*node.values}
        for node in ast.walk(tree):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            is_text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and node not in skipped)
            text = "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in parts if is_text)
            if OPTION.search(text):
                yield path, text, around.get(node, "")


def test_every_option_of_a_message_exists():
    names = set().union(*options_by_command().values())
    named = [(path.name, word) for path, text, call in texts() if call == "option" for word in OPTION.findall(text)]
    assert len(named) > 100 and {name for _, name in named} <= names | {"{}"}


def test_command_lines_in_messages_have_options_of_the_command():
    lines = [(path.name, line) for path, text, _ in texts() for line in COMMAND_LINE.finditer(text)]
    unknown = [
        (name, line[0])
        for name, line in lines
        if name not in OF_THE_SHELL
        and not {*OPTION.findall(line[0].split(" ngym ")[0])} <= options_by_command()[line[1]]
    ]
    assert len(lines) > 10 and not unknown


def test_messages_name_options_through_one_function():
    plain = [
        (path.name, text)
        for path, text, call in texts()
        if not call and path.name not in OF_THE_SHELL and not ONLY_OPTIONS.fullmatch(text)
    ]
    assert not [each for each in plain if OPTION.search(COMMAND_LINE.sub("", each[1]))]
