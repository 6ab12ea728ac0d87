"""What made a number: the commit, and a digest of what the code does for it.

A digest has three parts: settings, sessions of tasks, and short trainings (`experiments.records.behaviour`). A row is
out of date when one of them is not the present one. A refactoring changes none. Analyses of a record count by their
source, without comments, docstrings, layout and the names of local variables.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import json
import subprocess
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from experiments.records import behaviour
from neurogym import kernels
from ngym_cli.files.writing import write_text
from ngym_cli.papers.model import SCRIPT

ROOT = Path(__file__).parents[2]

#: Answers about behaviour by source, so that an unchanged checkout does not train twice. Files are never out of date.
ANSWERS = ROOT / "build" / "behaviour"

#: Kinds of files that decide behaviour, and packages that could.
SOURCES = (".py", ".c", ".h", ".toml", ".json")
LIBRARIES = ("numpy", "torch", "gymnasium", "stable-baselines3")

#: Files that are written from records.
WRITTEN = ("measured.json", "solutions.json")


def stamp(digest: str) -> dict[str, str]:
    """Return what a new row says of its making."""
    return {"commit": commit(), "digest": digest, "kernels": kernels.variant(), "on": today()}


def today() -> str:
    """Return the date."""
    return datetime.now(UTC).date().isoformat()


def commit() -> str:
    """Return the commit of the checkout, with a plus when files were changed since."""
    name = _git("rev-parse", "--short=10", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "neurogym", "ngym_cli")
    return f"{name or 'unknown'}{'+' if changed else ''}"


def _git(*arguments: str) -> str:
    process = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return process.stdout.strip() if process.returncode == 0 else ""


def digest(tasks: Iterable[str], settings: Any, runs: Iterable[Mapping[str, Any]] = ()) -> str:
    """Return three words that change with the settings, with what the tasks show, and with how the runs learn.

    Args:
        tasks: ids of the tasks; collections stand for all of theirs.
        settings: everything else that was set, as plain data.
        runs: settings of the runs that decide a result.
    """
    return "-".join((behaviour.hashed(settings), task_digest(*tasks), _run_digest(list(runs))))


@functools.cache
def task_digest(*tasks: str) -> str:
    """Return the part of a digest that says what tasks show and reward; takes hundredths of a second for each."""
    return cached_answer(behaviour.of_tasks, sorted(set(tasks))) if tasks else "0"


def task_part(digest: str) -> str:
    """Return the part of a digest that `task_digest` gives; empty in a digest of an earlier form."""
    return ([*digest.split("-"), "", ""])[1]


def _run_digest(runs: list[Mapping[str, Any]]) -> str:
    """Return the part of a digest that says how runs learn; takes half a second for each."""
    return cached_answer(behaviour.of_trainings, runs) if runs else "0"


def cached_answer(ask: Callable[[Any], str], question: Any) -> str:
    """Return an answer about behaviour, from a file if the same code has given it before."""
    path = ANSWERS / _sources() / f"{ask.__name__}-{behaviour.hashed(question)}"
    if path.exists():
        return path.read_text(encoding="utf-8")
    answer = ask(question)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, answer)
    return answer


@functools.cache
def _sources() -> str:
    """Return a name that changes with every file that could decide behaviour."""
    digest = hashlib.sha256(Path(behaviour.__file__).read_bytes())
    digest.update(json.dumps([importlib.metadata.version(name) for name in LIBRARIES]).encode())
    digest.update(kernels.variant().encode())
    packages = (path for name in ("neurogym", "ngym_cli") for path in (ROOT / name).rglob("*"))
    scripts = (path for path in (ROOT / "experiments" / "papers").glob("*/*.py") if path.name != SCRIPT)
    decide = [path for path in packages if path.suffix in SOURCES and path.name not in WRITTEN]
    for path in sorted([*decide, *scripts]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@functools.cache
def plain(path: Path) -> str:
    """Return a source without comments, docstrings, layout and the names of local variables."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return text
    tree = ast.parse(text)
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(_NumberedLocals().visit(tree))


class _NumberedLocals(ast.NodeTransformer):
    """Replace the parameters and local variables of functions by numbers in the order of their appearance."""

    def __init__(self) -> None:
        self.numbers: dict[str, str] = {}

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> ast.AST:
        outer = self.numbers
        shared = {name for each in ast.walk(node) if isinstance(each, ast.Global | ast.Nonlocal) for name in each.names}
        bound = [each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)]
        bound += [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
        names = [name for name in dict.fromkeys(bound) if name not in shared]
        self.numbers = outer | {name: f"local {len(outer) + k}" for k, name in enumerate(names)}
        self.generic_visit(node)
        self.numbers = outer
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_function

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Replace the name of a variable."""
        return ast.Name(self.numbers.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Replace the name of a parameter."""
        self.generic_visit(node)
        node.arg = self.numbers.get(node.arg, node.arg)
        return node
