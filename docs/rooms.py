"""The rooms of the house and what they import, read from the code.

    python docs/rooms.py            # draws docs/rooms.svg anew
    python docs/rooms.py --check    # exit code 1 if the picture is out of date

A room is a module or folder at the top of a package. `tests/test_architecture.py` holds the order of the rooms.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = Path(__file__).with_name("rooms.svg")

#: Rooms of each package, lowest first. A room imports only from rooms below it, those in one row not from each other.
#: What is named with its module, as in ``compat.table``, has a place of its own.
LAYERS: dict[str, list[tuple[str, ...]]] = {
    "neurogym": [
        ("kernels", "messages", "scores", "spaces"),
        ("compat", "sampling", "metadata", "ceilings.processes"),
        ("parameters", "trials", "recording", "analysis", "ceilings.effects"),
        ("rules", "plotting"),
        ("state", "wrappers"),
        ("cycle", "vector"),
        ("core",),
        ("stream", "envs"),
        ("ceilings", "info", "utils", "config"),
        ("compat.table",),
        ("compat.finder", "compat.full_input", "compat.lists", "compat.script"),
    ],
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
        ("papers",),
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
    """Return the room that a module lies in: the longest name in ``LAYERS``; the package itself is its own."""
    package, *parts = module.split(".")
    named = {name for row in LAYERS.get(package, ()) for name in row}
    for k in range(len(parts), 1, -1):
        if ".".join(parts[:k]) in named:
            return ".".join(parts[:k])
    return parts[0] if parts else package


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
    path = ROOT.joinpath(package, *name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def lines_between(package: str) -> set[tuple[str, str]]:
    """Return which room uses which, without what follows from the rest (a uses b, b uses c: a to c is left out)."""
    known = {name for row in LAYERS[package] for name in row}
    uses: dict[str, set[str]] = {name: set() for name in known}
    for user, used in arrows(package):
        if user in known and used in known:
            uses[user].add(used)
    below: dict[str, set[str]] = {}
    for name in (name for row in LAYERS[package] for name in row):
        below[name] = set().union(*({used} | below.get(used, set()) for used in uses[name]))
    return {
        (user, used)
        for user, all_used in uses.items()
        for used in all_used
        if not any(used in below[other] for other in all_used - {used})
    }


WIDTH, HEIGHT, GAP, ABOVE, MARGIN = 200, 76, 14, 40, 24


def draw() -> str:
    """Return the picture as SVG: a column for each package, the highest room on top."""
    parts: list[str] = []
    left, tallest = MARGIN, 0
    for package, layers in LAYERS.items():
        widest = max(len(row) for row in layers)
        column = widest * WIDTH + (widest - 1) * GAP
        parts.append(f'<text x="{left}" y="20" class="package">{package}</text>')
        places: dict[str, tuple[float, float]] = {}
        shown = [[name for name in row if "." not in name] for row in layers]  # parts of a room are not drawn
        for k, row in enumerate(reversed([row for row in shown if row])):
            start = left + (column - len(row) * WIDTH - (len(row) - 1) * GAP) / 2
            for j, name in enumerate(row):
                places[name] = start + j * (WIDTH + GAP), 34 + k * (HEIGHT + ABOVE)
        for user, used in sorted(lines_between(package)):
            if user in places and used in places:
                parts.append(_line(places[user], places[used], alone=widest == 1))
        parts += [_box(package, name, *place) for name, place in places.items()]
        left += column + 3 * MARGIN
        tallest = max(tallest, 34 + len(layers) * (HEIGHT + ABOVE))
    style = (
        "text{font-family:sans-serif;font-size:11px;fill:#222}.package{font-size:15px;font-weight:bold}"
        ".room{font-size:13px;font-weight:bold}rect{fill:#f4f6f8;stroke:#5b7083}"
        "path{fill:none;stroke:#8da2b3;marker-end:url(#tip)}"
    )
    tip = (
        '<marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<polygon points="0,1 7,4 0,7" fill="#5b7083"/></marker>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left} {tallest}" width="{left}" height="{tallest}">'
        f'<title>Rooms and what they import</title><style>{style}</style><defs>{tip}</defs>'
        '<rect x="0" y="0" width="100%" height="100%" style="fill:white;stroke:none"/>'
        + "\n".join(["", *parts, "</svg>"]) + "\n"
    )  # fmt: skip


def _line(user: tuple[float, float], used: tuple[float, float], alone: bool) -> str:
    """From the bottom of a room to the top of another; beside a single column where others lie between."""
    (x1, y1), (x2, y2) = user, used
    if not alone or abs(y2 - y1 - HEIGHT - ABOVE) < 1:
        return f'<path d="M{x1 + WIDTH / 2:g},{y1 + HEIGHT} L{x2 + WIDTH / 2:g},{y2 - 1:g}"/>'
    side, reach = x1 + WIDTH, 12 + (y2 - y1) / 14
    a, b = y1 + HEIGHT * 0.7, y2 + HEIGHT * 0.3
    return f'<path d="M{side:g},{a:g} C{side + reach:g},{a:g} {x2 + WIDTH + reach:g},{b:g} {x2 + WIDTH + 1:g},{b:g}"/>'


def _box(package: str, name: str, x: float, y: float) -> str:
    words = purpose(package, name).replace(":class:", "").replace("`", "").replace("&", "&amp;").replace("<", "&lt;")
    text = textwrap.wrap(re.split(r"(?<=[a-z]{3})[.;] ?", words)[0], 34)
    text = text if len(text) <= 3 else [*text[:2], f"{text[2]} ..."]
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>'
        f'<text x="{x + 10:g}" y="{y + 18:g}" class="room">{name}</text>'
        + "".join(f'<text x="{x + 10:g}" y="{y + 35 + 14 * k:g}">{line}</text>' for k, line in enumerate(text))
    )


def main(arguments: list[str]) -> int:
    """Draw the picture, or say whether it is out of date."""
    if "--check" in arguments:
        return int(not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != draw())
    PICTURE.write_text(draw(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
