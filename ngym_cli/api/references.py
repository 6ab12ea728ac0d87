"""References of parts that are given as Python objects, so that a run can be repeated without the program."""

from __future__ import annotations

import ast
import builtins
import hashlib
import inspect
import linecache
import symtable
import sys
import textwrap
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from neurogym import wrappers
from neurogym.envs import registration
from ngym_cli.agents.algorithms import ALGORITHMS
from ngym_cli.agents.networks import NETWORKS
from ngym_cli.errors import UserError
from ngym_cli.files.writing import write_text

#: Folder, below the current one, to which the source of classes of a notebook is written.
NOTEBOOK_FOLDER = Path("ngym_parts")


def reference_of(kind: str, user_object: str | type | FunctionType) -> str:
    """Return the reference of a part: a built-in name, ``path/to/file.py:Name`` or ``package.module:Name``.

    A class of a notebook, of an interactive session or below ``if __name__ == "__main__":`` is written to a file in
    ``ngym_parts/`` first, with the imports and definitions that it uses; a changed class gets another file.

    Args:
        kind: a key of ``ngym_cli.config.extensions.EXTENSION_KINDS``.
        user_object: a name, or a class (a function for figures).

    Raises:
        UserError: if the object has no name or source by which another process could find it.
    """
    if isinstance(user_object, str):
        return user_object
    spec = None if isinstance(user_object, type) else getattr(user_object, "spec", None)
    if kind == "task" and spec is not None:
        raise UserError(f"task: expected a name or a class, not an environment; its name is '{spec.id}'")
    name = getattr(user_object, "__qualname__", None)
    if name is None and kind in ("network", "callback") and callable(getattr(user_object, "forward", None)):
        text = f"expected the class {type(user_object).__name__}, which is made with the inputs of the task"
        raise UserError(f"{kind}: {text}; its arguments are network_args")
    if not callable(user_object) or name is None:
        raise UserError(f"{kind}: expected a name or a class, not {user_object!r}")
    if "<locals>" in name or "." in name or name == "<lambda>":
        raise UserError(f"{kind} {name}: define the class at the top level of a file or a cell, not within a function")
    built_in = _built_in(kind, user_object)
    if built_in is not None:
        return built_in
    module = sys.modules.get(user_object.__module__)
    file = getattr(module, "__file__", None)
    if user_object.__module__ == "__main__" and (file is None or not _is_defined_on_import(Path(str(file)), name)):
        return f"{_saved(kind, user_object).as_posix()}:{name}"
    if user_object.__module__ == "__main__" or user_object.__module__.startswith("ngym_own_"):
        path, current_folder = Path(str(file)).resolve(), Path.cwd().resolve()
        return f"{path.relative_to(current_folder) if path.is_relative_to(current_folder) else path}:{name}"
    return f"{user_object.__module__}:{name}"


def _is_defined_on_import(file: Path, name: str) -> bool:
    """Return whether a script defines a name where it is imported: not below ``if __name__ == "__main__":``."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return True
    tree.body = [node for node in tree.body if not (isinstance(node, ast.If) and "__main__" in ast.unparse(node.test))]
    definitions = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef))
    return any(node.name == name for node in definitions)


def _built_in(kind: str, user_object: type | FunctionType) -> str | None:
    """Return the name of a built-in part."""
    module = user_object.__module__.partition(".")[0]
    if kind == "task" and module == "neurogym":
        return next((id_ for id_ in registration.every_task() if registration.entry(id_) is user_object), None)
    if kind == "wrapper" and module == "neurogym":
        return wrappers.key_of(user_object.__name__)
    if kind in ("network", "algorithm") and module in ("ngym_cli", "stable_baselines3", "sb3_contrib"):
        table: Any = NETWORKS if kind == "network" else ALGORITHMS
        return next((spec.name for spec in table.values() if spec.load() is user_object), None)
    return None


def refuse_while_importing() -> None:
    """Refuse to train from a file that is imported because the file contains a part.

    Raises:
        UserError: says where the call belongs.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith("ngym_own_") and "__ngym_version__" not in vars(module):
            raise UserError(
                f"{Path(str(module.__file__)).name} is imported because it holds a part, and trains while imported; "
                "put what it does below `if __name__ == '__main__':`"
            )


def _saved(kind: str, user_object: type | FunctionType) -> Path:
    """Write the source of a notebook's class, unless already written."""
    text = f'"""Source of `{user_object.__name__}`, written by ngym from a notebook or a script."""\n\n' + _Source(
        kind
    ).of(user_object)
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    path = NOTEBOOK_FOLDER / f"{user_object.__name__.lower()}_{digest}.py"
    if not path.is_file():
        path.parent.mkdir(exist_ok=True)
        write_text(path, text)
    return path


class _Source:
    """Collects the definitions that a class of a notebook needs."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.imports: dict[str, str] = {}
        self.definitions: dict[str, str] = {}

    def of(self, user_object: type | FunctionType) -> str:
        """Return the source of a file that defines a class or function."""
        self._add(user_object.__name__, user_object)
        imports = "\n".join(sorted(self.imports.values()))
        return "\n\n\n".join([imports, *self.definitions.values()]).strip() + "\n"

    def _add(self, name: str, value: object) -> None:
        if name in self.imports or name in self.definitions:
            return
        module = getattr(value, "__module__", None)
        if isinstance(value, ModuleType):
            self.imports[name] = f"import {value.__name__} as {name}"
        elif inspect.isclass(value) or inspect.isroutine(value):
            if module not in ("__main__", None):
                self.imports[name] = f"from {module} import {value.__name__} as {name}"
                return
            text = source_of(value)
            self.definitions[name] = ""  # keeps its place behind what it needs, and ends recursion
            names = vars(sys.modules["__main__"])
            for used in _free_names(text):
                if used in names:
                    self._add(used, names[used])
                elif not hasattr(builtins, used):
                    raise UserError(f"{self.kind} {name} uses {used}, which the notebook does not define")
            del self.definitions[name]
            self.definitions[name] = text
        elif isinstance(value, bool | int | float | str | tuple | list | dict | type(None)):
            self.definitions[name] = f"{name} = {value!r}"
        elif module is not None and getattr(sys.modules.get(module), name, None) is value:
            self.imports[name] = f"from {module} import {name}"
        else:
            raise UserError(
                f"{self.kind}: {name} ({type(value).__name__}) of the notebook cannot be written to a file; "
                "put the class and all that it uses in a file"
            )


def source_of(user_object: Any) -> str:
    """Return the source of a class or function of a notebook.

    Raises:
        UserError: if Python does not know the source, as where it was typed at a prompt.
    """
    functions = [user_object, *vars(user_object).values()] if inspect.isclass(user_object) else [user_object]
    for function in functions:
        code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
        if code is None:
            continue
        lines = linecache.getlines(code.co_filename)
        for node in ast.walk(ast.parse("".join(_python(lines)))):
            if not isinstance(node, ast.ClassDef | ast.FunctionDef) or node.name != user_object.__name__:
                continue
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            if first <= code.co_firstlineno <= (node.end_lineno or 0):
                return textwrap.dedent("".join(_python(lines)[first - 1 : node.end_lineno])).rstrip()
    name = user_object.__name__
    raise UserError(f"the source of {name} is not known; put it in a file and name it as file.py:{name}")


def _python(lines: list[str]) -> list[str]:
    """Return lines of a cell with magic commands left blank."""
    return ["\n" if line.lstrip().startswith(("%", "!")) else line for line in lines]


def _free_names(text: str) -> list[str]:
    """Return names that a definition reads from the surrounding module."""
    module = symtable.symtable(text, "definition", "exec")
    tables, names = [module], [each.get_name() for each in module.get_symbols() if each.is_referenced()]
    for table in tables:
        tables += table.get_children()
        names += [each.get_name() for each in table.get_symbols() if each.is_global() and table is not module]
    defined = {each.get_name() for each in module.get_symbols() if each.is_assigned()}
    return [name for name in dict.fromkeys(names) if name not in defined]
