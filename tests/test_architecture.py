"""Imports run one way: layers of each package, no import circles, nothing private to another module."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Layers of each package, lowest first. A part imports only from lower layers, never from its own.
#: A module named with its folder, such as ``compat.finder``, has a layer of its own.
LAYERS: dict[str, list[tuple[str, ...]]] = {
    "neurogym": [
        ("array_types", "foreign", "kernels", "lazy", "messages", "scores", "spaces", "compat.changes"),
        ("compat", "sampling", "metadata", "ceilings.processes"),
        ("parameters",),
        ("trials", "recording", "config", "analysis", "ceilings.effects"),
        ("rules", "plotting", "dynamics", "behaviour"),
        ("state", "wrappers"),
        ("engine",),
        ("core",),
        ("compat.one_trial",),
        ("compat.trial_env",),
        ("vector",),
        ("stream", "envs"),
        ("ceilings", "info", "utils"),
        ("compat.finder", "compat.lists"),
    ],
    "ngym_cli": [
        ("errors", "processes"),
        ("files",),
        ("terminal",),
        ("config",),
        ("environments",),
        ("runs",),
        ("agents",),
        ("figures",),
        ("fitting",),
        ("evaluation",),
        ("training",),
        ("sweeps",),
        ("papers",),
        ("api",),
        ("catalog",),
        ("commands",),
        ("api.commands",),
    ],
}


def modules(package: str) -> dict[str, Path]:
    """Return every module of a package by its dotted name."""
    results = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        segments = path.relative_to(ROOT).with_suffix("").parts
        results[".".join(segments[:-1] if segments[-1] == "__init__" else segments)] = path
    return results


@functools.cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """Return all nodes of a file."""
    return list(ast.walk(syntax(path)))


@pytest.fixture(autouse=True, scope="module")
def few_trees():
    """The trees of all files end with this module."""
    yield
    syntax.cache_clear()
    nodes.cache_clear()


def imports(module: str, path: Path, expected: dict[str, Path]) -> Iterator[tuple[int, str]]:
    """Yield line and name of each import from the same package, including imports inside functions."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in nodes(path):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package.split(".")[: len(package.split(".")) - node.level + 1], *base.split(".")])
            base = base.rstrip(".")
            names = [f"{base}.{alias.name}" if f"{base}.{alias.name}" in expected else base for alias in node.names]
        for name in names:
            if name in expected and name != module:
                yield node.lineno, name


def part_of(module: str) -> str:
    """Return the part of the package that a module belongs to: the longest matching name in ``LAYERS``."""
    package, *segments = module.split(".")
    named = {name for row in LAYERS.get(package, ()) for name in row}
    for k in range(len(segments), 1, -1):
        if ".".join(segments[:k]) in named:
            return ".".join(segments[:k])
    return segments[0] if segments else package


def imports_between_parts(package: str) -> dict[tuple[str, str], list[str]]:
    """Return pairs (importing part, imported part) with the lines of the imports."""
    expected = modules(package)
    results: dict[tuple[str, str], list[str]] = {}
    for module, path in expected.items():
        for line, target in imports(module, path, expected):
            pair = part_of(module), part_of(target)
            if pair[0] != pair[1]:
                results.setdefault(pair, []).append(f"{path.relative_to(ROOT)}:{line}")
    return results


def import_circles(package: str) -> list[list[str]]:
    """Return the groups of modules that import each other (strongly connected; Tarjan 1972)."""
    expected = modules(package)
    graph = {
        module: {name for _, name in imports(module, path, expected) if expected[name].name != "__init__.py"}
        for module, path in expected.items()
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


def entries(package: str) -> list[str]:
    return [
        path.name
        for path in (ROOT / package).iterdir()
        if not path.name.startswith(("_", ".")) and (path.suffix == ".py" or path.is_dir())
    ]


@pytest.mark.parametrize("package", LAYERS)
def test_imports_go_to_lower_layers_only(package):
    level = {name: k for k, row in enumerate(LAYERS[package]) for name in row}
    wrong = [
        f"{path}: {user} imports {used}"
        for (user, used), places in imports_between_parts(package).items()
        for path in places
        if user in level and used in level and level[used] >= level[user]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", LAYERS)
def test_every_part_has_a_layer(package):
    expected = {name.partition(".")[0] for row in LAYERS[package] for name in row}
    assert {name.removesuffix(".py") for name in entries(package)} == expected


@pytest.mark.parametrize("package", LAYERS)
def test_no_modules_import_each_other(package):
    assert not import_circles(package)


def _own_names(path: Path) -> set[str]:
    """Names that a module defines itself: functions, classes, variables, arguments, attributes of its objects."""
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names |= {node.attr} if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") else set()
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


@pytest.mark.parametrize("package", LAYERS)
def test_no_module_uses_what_is_private_to_another(package):
    private = {path: _own_names(path) for path in modules(package).values()}
    ours = set().union(*private.values())
    wrong = []
    for path in private:
        foreign = ours - private[path]
        for node in nodes(path):
            names = [node.attr] if isinstance(node, ast.Attribute) else []
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package):
                names = [alias.name for alias in node.names]
            wrong += [f"{path}:{node.lineno}: {name}" for name in names if name in foreign]
    assert not wrong, "\n".join(wrong)


def calls(path: Path, method: str) -> list[str]:
    """What a method is called on, as it is written."""
    return [
        ast.unparse(node.func.value)
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method
    ]


def test_the_runner_steps_environments_in_one_place():
    results = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "ngym_cli").rglob("*.py")
        if any(owner.endswith(("env", "envs")) for owner in calls(path, "step"))
    }
    assert results == {"ngym_cli/agents/acting.py"}


def test_what_is_private_in_stable_baselines_is_used_in_one_place():
    from stable_baselines3.common.base_class import BaseAlgorithm

    private = {name for name in dir(BaseAlgorithm) if name.startswith("_") and not name.startswith("__")}
    private |= {"_last_obs", "_last_original_obs", "_last_episode_starts", "_episode_num", "_n_updates", "_n_calls"}
    private |= {"_current_progress_remaining", "_stats_window_size"}
    private -= set(dir(object))
    results = {
        f"{path.relative_to(ROOT)}: {node.attr}"
        for path in (ROOT / "ngym_cli").rglob("*.py")
        if path.name != "sb3.py"
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and node.attr in private
    }
    assert not results, "\n".join(sorted(results))


def test_tests_use_no_private_attributes():
    """Tests go through what is public; names of NeuroGym that scripts use are tested by scripts."""
    tests = Path(__file__).parent
    used = []
    for path in tests.rglob("*.py"):
        if path.parent.name == "scripts":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr):
                owner = ast.unparse(node.value)
                if owner not in ("self", "cls", "super()", "os"):  # os._exit is public
                    used.append(f"{path.relative_to(tests)}:{node.lineno}: {owner}.{node.attr}")
            if isinstance(node, ast.ImportFrom):
                private = [alias.name for alias in node.names if re.match("_[^_]", alias.name)]
                used += [f"{path.relative_to(tests)}:{node.lineno}: import {name}" for name in private]
    assert not used, "\n".join(used)
