"""The house: rooms in their order, no circles, few entries at the top, names that can be told apart."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("rooms", ROOT / "docs" / "rooms.py")
rooms = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rooms)

#: Entries that a reader of the package's top level has to keep in mind.
MOST_ENTRIES = {"neurogym": 24, "ngym_cli": 14}

#: Endings that make two names hard to tell apart.
ENDINGS = ("s", "ing", "ed", "ion", "ation", "er", "or")


def entries(package: str) -> list[str]:
    return [
        path.name
        for path in (ROOT / package).iterdir()
        if not path.name.startswith(("_", ".")) and (path.suffix == ".py" or path.is_dir())
    ]


@pytest.mark.parametrize("package", rooms.LAYERS)
def test_arrows_between_rooms_run_one_way(package):
    level = {name: k for k, row in enumerate(rooms.LAYERS[package]) for name in row}
    wrong = [
        f"{place}: {user} imports {used}"
        for (user, used), places in rooms.arrows(package).items()
        for place in places
        if user in level and used in level and level[used] >= level[user]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", rooms.LAYERS)
def test_every_room_has_its_place(package):
    known = {name.partition(".")[0] for row in rooms.LAYERS[package] for name in row}
    assert {name.removesuffix(".py") for name in entries(package)} == known


@pytest.mark.parametrize("package", rooms.LAYERS)
def test_no_modules_import_each_other(package):
    assert not rooms.circles(package)


@pytest.mark.parametrize("package", MOST_ENTRIES)
def test_few_entries_at_the_top(package):
    assert len(entries(package)) <= MOST_ENTRIES[package]


@pytest.mark.parametrize("package", rooms.LAYERS)
def test_every_room_says_what_belongs_in_it(package):
    for name in (name for row in rooms.LAYERS[package] for name in row):
        if (ROOT / package / name).is_dir():
            text = (ROOT / package / name / "__init__.py").read_text(encoding="utf-8")
            assert "Belongs here" in text and "May use" in text, name
        else:
            assert rooms.purpose(package, name), name


@pytest.mark.parametrize("package", rooms.LAYERS)
def test_no_two_modules_differ_by_an_ending_only(package):
    places: dict[str, str] = {}
    for module in rooms.modules(package):
        if "." in module and not module.startswith(("ngym_cli.commands.", "ngym_cli.catalog.templates.")):
            places.setdefault(module.rpartition(".")[2], module)
    alike = [(places[name], places[name + ending]) for name in places for ending in ENDINGS if name + ending in places]
    assert not alike


def test_the_picture_of_the_rooms_is_that_of_the_code():
    assert rooms.main(["--check"]) == 0, "python docs/rooms.py draws it anew"


def _own_names(tree: ast.Module) -> set[str]:
    """Names that a module defines itself: functions, classes, variables, arguments, attributes of its objects."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found |= {node.attr} if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") else set()
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


@pytest.mark.parametrize("package", rooms.LAYERS)
def test_no_module_uses_what_is_private_to_another(package):
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in rooms.modules(package).values()}
    private = {path: _own_names(tree) for path, tree in trees.items()}
    ours = set().union(*private.values())
    wrong = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            names = [node.attr] if isinstance(node, ast.Attribute) else []
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package):
                names = [alias.name for alias in node.names]
            wrong += [f"{path}:{node.lineno}: {name}" for name in names if name in ours - private[path]]
    assert not wrong, "\n".join(wrong)


def calls(tree: ast.AST, method: str) -> list[str]:
    """What a method is called on, as it is written."""
    return [
        ast.unparse(node.func.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method
    ]


def test_the_runner_steps_environments_in_one_place():
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "ngym_cli").rglob("*.py")
        if any(owner.endswith(("env", "envs")) for owner in calls(ast.parse(path.read_text()), "step"))
    }
    assert found == {"ngym_cli/agents/acting.py"}


def test_what_is_private_in_stable_baselines_is_used_in_one_place():
    from stable_baselines3.common.base_class import BaseAlgorithm

    private = {name for name in dir(BaseAlgorithm) if name.startswith("_") and not name.startswith("__")}
    private |= {"_last_obs", "_last_original_obs", "_last_episode_starts", "_episode_num", "_n_updates", "_n_calls",
                "_current_progress_remaining", "_stats_window_size"}  # fmt: skip
    private -= set(dir(object))
    found = {
        f"{path.relative_to(ROOT)}: {node.attr}"
        for path in (ROOT / "ngym_cli").rglob("*.py")
        if path.name != "sb3.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in private
    }
    assert not found, "\n".join(sorted(found))
