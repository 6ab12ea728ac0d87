"""Each import of our own modules inside a function has one of three reasons."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("neurogym", "ngym_cli")

#: Module that limits threads, and says which package is missing, before it imports anything else.
ENTRY = "ngym_cli.__main__"
#: Libraries that only some commands need.
LIBRARIES = {"h5py", "jinja2", "matplotlib", "optuna", "pandas", "pyarrow", "safetensors", "sb3_contrib", "scipy"}
LIBRARIES |= {"sklearn", "stable_baselines3", "tensorboard", "torch"}

#: Programs that print what is loaded after each command that answers at once, and with the Python interface.
COMMANDS = """
import contextlib, io, json, sys
from ngym_cli.commands.app import COMMANDS, main
for line in LINES:
    sys.argv = ["ngym", *line.split()]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main()
    print(json.dumps([*sys.modules]))
"""
#: Commands of each program: the overview, the help of every command, listings.
LINES = (
    '["--help"]',
    '[f"{name} --help" for name in COMMANDS]',
    '["list tasks", "list runs", "info RDM-v0"]',
)
INTERFACE = """
import json, sys
import ngym_cli
ngym_cli.train, ngym_cli.fit, ngym_cli.sweep, ngym_cli.evaluate
print(json.dumps([*sys.modules]))
"""


def with_parents(name: str) -> list[str]:
    segments = name.split(".")
    return [".".join(segments[: k + 1]) for k in range(len(segments))]


def targets(node: ast.Import | ast.ImportFrom, modules: Iterable[str]) -> set[str]:
    """Return the modules that a statement loads."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.module is not None and not node.level, "imports are absolute"
        names = [f"{node.module}.{name}" if f"{node.module}.{name}" in modules else node.module for name in names]
    return {each for name in names for each in with_parents(name)}


def at_import(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that run when a module is imported."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from at_import(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for block in ("body", "orelse", "finalbody"):
                yield from at_import(getattr(node, block, []))
            for handler in getattr(node, "handlers", []):
                yield from at_import(handler.body)


def loaded_by(names: Iterable[str], graph: Mapping[str, set[str]]) -> set[str]:
    """Return all that importing modules loads, through any number of modules."""
    waiting, result = [*names], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in result:
            result.add(name)
            waiting += graph.get(name, ())
    return result


def test_an_import_inside_a_function_has_a_reason():
    """Another library would be loaded, a quick command would wait, or two modules would import each other."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if not {"template", "templates"} & set(path.parts)
    }
    trees = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in paths.items()}
    graph = {
        module: {*with_parents(module), *(name for node in at_import(tree.body) for name in targets(node, paths))}
        for module, tree in trees.items()
    }
    programs = [COMMANDS.replace("LINES", lines) for lines in LINES] + [INTERFACE]
    printed = [subprocess.check_output([sys.executable, "-c", code], text=True) for code in programs]
    quick = [set(json.loads(line)) & paths.keys() for line in "".join(printed).splitlines()]
    absent = {module: [paths.keys() - modules for modules in quick if module in modules] for module in paths}
    without_reason = []
    for module, tree in trees.items():
        inside = {
            node
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        of_ours = {node: {name for name in targets(node, paths) if name.split(".")[0] in PACKAGES} for node in inside}
        present = loaded_by([module], graph) if any(of_ours.values()) else set()
        for node, names in of_ours.items():
            loads = loaded_by(names, graph) - present
            library = {name.split(".")[0] for name in loads} & LIBRARIES
            delays = any(loads & modules for modules in absent[module])
            if names and module not in {ENTRY, *loaded_by(names, graph)} and not library and not delays:
                without_reason.append(f"{paths[module].relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
    assert not without_reason, "\n".join(sorted(without_reason))
