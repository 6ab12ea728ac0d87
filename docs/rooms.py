"""The rooms of the house and what they import, read from the code.

    python docs/rooms.py            # draws docs/rooms.svg anew
    python docs/rooms.py --check    # exit code 1 if the picture is out of date

A room is a module or folder at the top of a package. `tests/test_architecture.py` holds the order of the rooms.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = Path(__file__).with_name("rooms.svg")

#: Rooms of each package, lowest first. A room imports only from rooms below it, those in one row not from each other.
LAYERS: dict[str, list[tuple[str, ...]]] = {
    "ngym_cli": [
        ("errors",),
        ("files",),
        ("terminal",),
        ("config",),
        ("environments",),
        ("runs",),
        ("agents",),
        ("figures",),
        ("evaluation",),
        ("training",),
        ("sweeps",),
        ("catalog",),
        ("commands",),
    ],
}


def modules(package: str) -> dict[str, Path]:
    """Return every module of a package by its dotted name."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(module: str, path: Path, known: dict[str, Path]) -> Iterator[tuple[int, str]]:
    """Yield line and name of each module of the same package that a module imports, inside functions as well."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package.split(".")[: len(package.split(".")) - node.level + 1], *base.split(".")])
            base = base.rstrip(".")
            names = [f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base for alias in node.names]
        for name in names:
            if name in known and name != module:
                yield node.lineno, name


def room(module: str) -> str:
    """Return the room that a module lies in; the package itself is its own."""
    return module.split(".")[1] if "." in module else module


def arrows(package: str) -> dict[tuple[str, str], list[str]]:
    """Return which room imports which, and the places where it does."""
    known = modules(package)
    found: dict[tuple[str, str], list[str]] = {}
    for module, path in known.items():
        for line, target in imports(module, path, known):
            pair = room(module), room(target)
            if pair[0] != pair[1]:
                found.setdefault(pair, []).append(f"{path.relative_to(ROOT)}:{line}")
    return found


def circles(package: str) -> list[list[str]]:
    """Return the groups of modules that import each other (strongly connected; Tarjan 1972)."""
    known = modules(package)
    graph = {
        module: {name for _, name in imports(module, path, known) if known[name].name != "__init__.py"}
        for module, path in known.items()
    }
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for target in sorted(graph[module]):
            if target not in index:
                visit(target)
                low[module] = min(low[module], low[target])
            elif target in stack:
                low[module] = min(low[module], index[target])
        if low[module] == index[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(group) > 1:
                groups.append(group)

    for module in graph:
        if module not in index:
            visit(module)
    return groups


def purpose(package: str, name: str) -> str:
    """Return the first sentence of a room's docstring."""
    path = ROOT / package / name
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())
