"""Nothing private of the core crosses a module: what others need has a public name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import neurogym

PACKAGE = Path(neurogym.__file__).parent
PARTS = ["core.py", "cycle", "parameters", "rules.py", "stream.py", "trials", "vector", "wrappers"]
PARTS += ["envs/multi", "utils/data.py"]
FILES = sorted(
    path for part in PARTS for path in ([PACKAGE / part] if part.endswith(".py") else (PACKAGE / part).rglob("*.py"))
)
#: Names that tasks define, by which NeuroGym's authors know them, and Gymnasium's own.
SHARED = {"_new_trial", "_new_trials", "_step", "_np_random", "_np_random_seed", "_saved_kwargs", "_asdict", "_replace"}


def defined(tree):
    """Private names that a module gives to something."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_uses_no_private_name_of_another(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    private = defined(tree) | SHARED
    foreign = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
        if node.attr not in private
    }
    foreign |= {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("neurogym")
        for alias in node.names
        if alias.name.startswith("_")
    }
    assert not foreign
