"""The command ``ngym check --neurogym``: old usages in scripts for NeuroGym, which are read and not executed."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from neurogym.compat import changes
from neurogym.compat.changes import ALIASES, CHANGED, FAILS, MEMBERS, RENAMED_ARGUMENTS, TOOLKIT_CHANGES, WARNS, WORKS
from neurogym.envs import registration
from neurogym.messages.names import nearest
from ngym_cli.errors import UserError
from ngym_cli.files.reading import read_text
from ngym_cli.terminal import Row

MAKERS = ("make", "plot_env", "Dataset", "make_vec")
BASES = ("TrialEnv", "PeriodEnv", "EpochEnv")
#: First words of notebook cells that are Python; others with two percent signs begin another language or a file.
PYTHON_CELLS = ("%%time", "%%capture", "%%prun")
DIFFERENCE_BY_SIGN = {change.sign: change for change in TOOLKIT_CHANGES if change.sign}


class Use(NamedTuple):
    """Outdated name or usage in a script."""

    line: int  #: from 1
    uses: str  #: as the script has it
    status: str  #: ``works``, ``warns``, ``changed`` (runs, and means something else) or ``fails``
    becomes: str  #: the present name, or what to write


def read(source: str) -> list[Use]:
    """Old uses in a script, in the order of lines.

    Raises:
        SyntaxError: If the text is no Python.
    """
    reader = _Reader()
    reader.visit(ast.parse(source))
    return sorted(set(reader.uses))


class _Reader(ast.NodeVisitor):
    def __init__(self) -> None:
        self.uses: list[Use] = []
        self.modules: dict[str, str] = {}  # name in the script to module of the package
        self.names: dict[str, Any] = {}  # name in the script to what of the package it is
        self.values: dict[str, list[ast.expr]] = {}  # name in the script to what it is set to, one after the other
        self.script_modules: set[str] = set()  # names of modules in the script
        self.registered_ids: set[str] = set()  # ids that the script registers
        self.reported: set[str] = set()  # ids whose differences have been reported
        self.imported = False

    def note(self, node: ast.AST, uses: str, status: str, becomes: str) -> None:
        self.uses.append(Use(getattr(node, "lineno", 0), uses, status, becomes))

    def sign(self, node: ast.AST, sign: str) -> None:
        """Note the row of the table of differences with a sign."""
        if self.imported and sign in DIFFERENCE_BY_SIGN:
            self.note(node, sign, DIFFERENCE_BY_SIGN[sign].status, DIFFERENCE_BY_SIGN[sign].what)

    # -- imports ------------------------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.script_modules.add(alias.asname or alias.name.split(".")[0])
            if alias.name.split(".")[0] == "gym":
                self.note(node, "import gym", FAILS, "import gymnasium as gym")
            elif alias.name.split(".")[0] == "neurogym":
                self.imported = True
                self.module(node, alias.name)
                self.modules[alias.asname or "neurogym"] = alias.name if alias.asname else "neurogym"

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if base.split(".")[0] == "gym":
            self.note(node, f"from {base}", FAILS, f"from gymnasium{base[3:]}")
        if base.split(".")[0] != "neurogym" or not self.module(node, base):
            return
        self.imported = True
        for alias in node.names:
            name = alias.name
            if name == "*" or not self.name(node, base, name):
                continue
            self.sign(node, f".{name}")
            value = getattr(importlib.import_module(base), name)
            if inspect.ismodule(value):
                self.modules[alias.asname or name] = value.__name__
            else:
                self.names[alias.asname or name] = value

    def module(self, node: ast.AST, path: str) -> bool:
        """Record the present location of a module; return whether the module exists."""
        if path in changes.MODULES:
            self.note(node, path, WORKS, changes.MODULES[path])
        elif not _is_module(path):
            present = pkgutil.walk_packages(importlib.import_module("neurogym").__path__, "neurogym.")
            modules = [*changes.MODULES, *(module.name for module in present)]
            self.note(node, path, FAILS, _hint("no such module", path, modules))
            return False
        return True

    def name(self, node: ast.AST, path: str, name: str) -> bool:
        """Note the present place of a name in a module; return whether the name exists."""
        names = changes.names_in_old(path) if path in changes.MODULES else changes.names_in(path)
        if name in names:
            self.note(node, f"{path}.{name}", WORKS, names[name].replace(":", "."))
            return True
        if f"{path}.{name}" in changes.MODULES:
            return self.module(node, f"{path}.{name}")
        module = importlib.import_module(path)
        if hasattr(module, name) or _is_module(f"{path}.{name}"):
            return True
        valid = [*names, *dir(module), *vars(module).get("__all__", ())]
        self.note(node, f"{path}.{name}", FAILS, _hint("no such name", name, valid))
        return False

    # -- what is done with them ---------------------------------------------------------------------------------------

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self.path_of(node.value)
        if path is not None:
            if not node.attr.startswith("__"):
                self.name(node, path, node.attr)
            self.sign(node, f".{node.attr}")
        elif self.imported and node.attr in MEMBERS:
            self.note(node, f".{node.attr}", WORKS, MEMBERS[node.attr])
        elif not (isinstance(node.value, ast.Name) and node.value.id in self.script_modules):  # may be an environment
            self.sign(node, f".{node.attr}")
        self.generic_visit(node)

    def path_of(self, node: ast.AST) -> str | None:
        """Path of the module named by an expression such as ``ngym.utils``, or None."""
        if isinstance(node, ast.Name):
            return self.modules.get(node.id)
        if isinstance(node, ast.Attribute):
            path = self.path_of(node.value)
            return f"{path}.{node.attr}" if path is not None and _is_module(f"{path}.{node.attr}") else None
        return None

    def visit_Call(self, node: ast.Call) -> None:
        called = _last_name(node.func)
        self.called(node)
        keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        for old, new in RENAMED_ARGUMENTS.get(called, {}).items():
            if old in keywords:
                self.note(node, f"{called}({old}=)", WARNS, f"{called}({new}=)")
        for sign in (f"{called}()", *(f"{called}({name}=)" for name in keywords)):
            self.sign(node, sign)
        if called == "register":
            ids = self.written(node.args[0] if node.args else keywords.get("id"))
            self.registered_ids |= {str(each.value) for each in ids if isinstance(each, ast.Constant)}
        for first in self.written(node.args[0]) if node.args and called in MAKERS else ():
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                arguments = self.keys(keywords.get("env_kwargs")) if called == "Dataset" else keywords
                self.task(node, first.value, arguments if called in ("make", "Dataset") else {})
        self.generic_visit(node)

    def called(self, node: ast.Call) -> None:
        """Note unknown and surplus arguments of a call."""
        path = self.path_of(node.func.value) if isinstance(node.func, ast.Attribute) else None
        if path is not None:
            function = getattr(importlib.import_module(path), _last_name(node.func), None)
        else:
            function = self.names.get(node.func.id) if isinstance(node.func, ast.Name) else None
        stars = any(isinstance(each, ast.Starred) for each in node.args) or any(not each.arg for each in node.keywords)
        if function is None or not callable(function) or stars:
            return
        name = _last_name(node.func)
        unknown_names = {each.arg for each in node.keywords} - set(RENAMED_ARGUMENTS.get(name, {}))
        try:
            inspect.signature(function).bind(*node.args, **dict.fromkeys(map(str, unknown_names)))
        except (TypeError, ValueError) as error:
            names = list(inspect.signature(function).parameters)
            wrong = next((each for each in sorted(map(str, unknown_names)) if each not in names), "")
            self.note(node, f"{name}(...)", FAILS, _hint(str(error), wrong, names) if wrong else str(error))

    def task(self, node: ast.AST, id_: str, arguments: Mapping[str, Any]) -> None:
        """Note the meaning of an id, and arguments, periods and rewards unknown to the task."""
        ids = [*ALIASES, *registration.every_task()]
        if not (id_ in ids or f"{id_}-v0" in ids):
            if id_ not in self.registered_ids and nearest(id_, ids):
                self.note(node, f'"{id_}"', FAILS, _hint("no such task", id_, ids))
            return
        present = registration.resolve(id_)
        if present.rpartition("-v")[0] != id_.rpartition("-v")[0] and present != f"{id_}-v0":
            self.note(node, f'"{id_}"', WORKS, f'"{present}"')
        for difference in () if id_ in self.reported else registration.metadata(id_).get("differences", ()):
            self.note(node, f'"{id_}"', CHANGED, difference)
        self.reported.add(id_)
        task = registration.make(id_).unwrapped
        names = _arguments(registration.entry(present))
        for name in arguments:
            if names is not None and name not in names:
                self.note(node, f"{id_}: {name}=", FAILS, _hint("no such argument", name, names))
        for argument, valid in (("timing", task.timing), ("rewards", task.rewards)):  # type: ignore[attr-defined]
            for name in self.keys(arguments.get(argument)) if valid else ():
                if name not in valid:
                    self.note(node, f"{id_}: {argument}={{{name!r}: ...}}", WARNS, _hint("not used", name, valid))

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            owner = "info" if "info" in _last_name(node.value) else ast.unparse(node.value)
            self.sign(node, f'{owner}["{node.slice.value.partition(".")[0]}"]')
        self.generic_visit(node)

    def written(self, node: ast.expr | None) -> list[ast.expr]:
        """Values of an expression, as far as written out in the script."""
        if isinstance(node, ast.Name):
            return self.values.get(node.id, [])
        return [] if node is None else [node]

    def keys(self, node: ast.expr | None) -> dict[str, ast.expr]:
        """Keys that are words, of dictionaries that are written out, and what is given under each."""
        entries = {}
        for each in self.written(node):
            for key, value in zip(each.keys, each.values, strict=True) if isinstance(each, ast.Dict) else ():
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    entries[key.value] = value
        return entries

    def visit_For(self, node: ast.For) -> None:
        for values in self.written(node.iter):
            if isinstance(node.target, ast.Name) and isinstance(values, (ast.Tuple, ast.List)):
                self.values[node.target.id] = list(values.elts)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.targets[0], ast.Name):
            self.values.setdefault(node.targets[0].id, []).append(node.value)
        called = node.value.func if isinstance(node.value, ast.Call) else None
        if isinstance(called, ast.Attribute) and self.imported:
            target = node.targets[0]
            count = len(target.elts) if isinstance(target, ast.Tuple) else 1
            self.sign(node, f"{called.attr}: {count} value{'s' * (count > 1)}")
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        bases = [_last_name(base) for base in node.bases]
        for method in node.body if set(bases) & set(BASES) else ():
            if isinstance(method, ast.FunctionDef) and method.name == "_step":
                for returned in ast.walk(method):
                    if isinstance(returned, ast.Return) and isinstance(returned.value, ast.Tuple):
                        self.sign(returned, f"_step: {len(returned.value.elts)} values")
        self.generic_visit(node)


def read_all(paths: Sequence[str]) -> list[Row]:
    """Return outdated names used in scripts: ``file``, ``line``, ``uses``, ``status`` and ``becomes``.

    Raises:
        UserError: if there is no script, a file cannot be read, or a file is not Python.
    """
    if not paths:
        raise UserError("which script? for example: ngym check my_script.py --neurogym")
    return [row for path in paths for row in _read(Path(path))]


def _read(path: Path) -> list[Row]:
    if not path.is_file():
        raise UserError(f"no such script: {path}")
    text = read_text(path)
    try:
        uses = read(_code_of_notebook(path, text) if path.suffix == ".ipynb" else text)
    except SyntaxError as error:
        raise UserError(f"{path}, line {error.lineno}: this is not Python: {error.msg}") from None
    return [{"file": str(path), **use._asdict()} for use in uses]


def _code_of_notebook(path: Path, text: str) -> str:
    """Return the code of all code cells in order, without notebook commands and cells in other languages."""
    try:
        cells = json.loads(text)["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{path} is not a valid notebook: it has no cells") from None
    python = (cell for cell in code if not cell.startswith("%%") or cell.startswith(PYTHON_CELLS))
    return re.sub(r"^([ \t]*)[%!].*$", r"\1pass", "\n".join(python), flags=re.MULTILINE)


def _arguments(entry: Callable[..., object]) -> list[str] | None:
    """Arguments of a task; None for a task with ``**kwargs``."""
    parameters = inspect.signature(entry).parameters
    passes = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return None if passes else list(parameters)


def _last_name(node: ast.expr) -> str:
    """``c`` of ``a.b.c`` and of ``c``; empty for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_module(path: str) -> bool:
    try:
        return importlib.util.find_spec(path) is not None
    except (ImportError, ValueError):
        return False


def _hint(kind: str, name: str, valid: Iterable[object]) -> str:
    close = nearest(name, [str(option) for option in valid])
    return f"{kind}; did you mean {close!r}?" if close else kind
