"""Finding the task that a user names: an id, an old name, a class in a file, a class in a module."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ngym_cli.errors import UserError, did_you_mean, one_line, unknown


@dataclass(frozen=True)
class Task:
    """A task by the name that the user gave it.

    Attributes:
        name: as given.
        id: the registered id that the name stands for; for a user's own task the name.
        entry: the class, or the function that makes the task.
        own: whether it is the user's own, from a file or module.
        several: whether it stands for several tasks in one session, a trial of one after a trial of another.
    """

    name: str
    id: str
    entry: Callable[..., Any]
    own: bool
    several: bool = False

    @property
    def metadata(self) -> dict[str, Any]:
        """What the task says about itself."""
        return dict(getattr(self.entry, "metadata", {}) or {})

    def make(self, **kwargs: Any) -> Any:
        """Make one environment.

        Raises:
            UserError: if the task refuses its arguments, or a user's own task fails.
        """
        from neurogym.envs import registration

        if "schedule" in kwargs and "schedule" not in (keyword_parameters(self.entry) or kwargs):
            raise UserError(f"a schedule needs several tasks, as in {self.name}+GoNogo-v0, not one")
        check_arguments(self.entry, kwargs, f"task {self.name}")
        with user_errors(f"task {self.name}", self.own):
            return self.entry(**kwargs) if self.own or self.several else registration.make(self.name, **kwargs)


def find_task(name: str) -> Task:
    """Return the task that a name stands for.

    Raises:
        UserError: if there is none, with the nearest name, or if the user's code cannot be imported.
    """
    if ":" in name:
        return Task(name, name, _own_class(name), own=True)
    if name.endswith(".py"):
        raise _without_class(Path(name))
    import gymnasium as gym

    from neurogym.envs import registration
    from neurogym.envs.collections import COLLECTIONS

    if "+" in name or name in COLLECTIONS:
        from neurogym.envs.multi import make_multi

        for part in name.split("+"):
            if part not in COLLECTIONS:
                find_task(part)
        return Task(name, name, functools.partial(make_multi, name), own=False, several=True)

    try:
        id_ = registration.resolve(name)
    except (gym.error.Error, ValueError):
        raise unknown("task", name, task_names()) from None
    return Task(name, id_, registration.entry(id_), own=False)


def is_taught(name: object) -> bool:
    """Say whether a task of the package is learned from the right actions unless the user says otherwise.

    Args:
        name: what the user calls it; no code of the user's is imported, and what does not exist is not.
    """
    import gymnasium as gym

    from neurogym.envs import registration

    if not isinstance(name, str) or ":" in name:
        return False
    try:
        return bool(registration.metadata(name).get("taught"))
    except (gym.error.Error, ValueError, ImportError):
        return False


def task_names() -> list[str]:
    """Return every id and old name; no task is imported."""
    from neurogym.envs import registration
    from neurogym.envs.aliases import ALIASES

    return sorted({*registration.every_task(), *ALIASES})


def _without_class(path: Path) -> UserError:
    """Return the error for a file that is named without the class in it; the file is read, not run."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return UserError(f"task '{path}': expected path/to/file.py:Class")
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    if not classes:
        return UserError(f"task '{path}': expected path/to/file.py:Class, but there is no class in it")
    others = f" (it also holds {', '.join(classes[:-1])})" if len(classes) > 1 else ""
    return UserError(f"task '{path}' is a file; say which class in it, as {path}:{classes[-1]}{others}")


def _own_class(name: str) -> Callable[..., Any]:
    where, _, attribute = name.rpartition(":")
    if not where or not attribute:
        raise UserError(f"task '{name}': expected path/to/file.py:Class or package.module:Class")
    module = _import_file(Path(where)) if where.endswith(".py") else _import_module(where)
    entry = getattr(module, attribute, None)
    if entry is None:
        classes = [key for key, value in vars(module).items() if inspect.isclass(value) and not key.startswith("_")]
        raise unknown(f"class in {where}", attribute, classes)
    if not callable(entry):
        raise UserError(f"task '{name}': {attribute} is not a class")
    return entry


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        siblings = [str(other) for other in path.parent.glob("*.py")] if path.parent.is_dir() else []
        raise UserError(f"no such task file: {path}" + did_you_mean(str(path), siblings))
    name = f"ngym_task_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"cannot import {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with user_errors(f"task file {path}"):
        spec.loader.exec_module(module)
    return module


def _import_module(name: str) -> ModuleType:
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    with user_errors(f"module {name}"):
        return importlib.import_module(name)


class user_errors:  # noqa: N801 - reads as a statement
    """Turn whatever goes wrong inside into a one-line UserError that names the place in the user's code.

    Args:
        what: subject of the message.
        everything: whether every exception is the user's; else only ValueError, TypeError and KeyError are.
    """

    def __init__(self, what: str, everything: bool = True):
        self.what = what
        self.kinds: Any = Exception if everything else (ValueError, TypeError, KeyError)

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise a UserError in place of the exception.

        Raises:
            UserError: if something went wrong.
        """
        if error is None or isinstance(error, UserError):
            return
        if not isinstance(error, Exception | KeyboardInterrupt):
            raise UserError(f"{self.what} ended the program while being used: {one_line(error)}") from error
        if isinstance(error, self.kinds):
            message = str(error) if isinstance(error, ValueError) and not self._all else one_line(error)
            raise UserError(f"{self.what}: {' '.join(message.split())}{self._place(error)}") from error

    @property
    def _all(self) -> bool:
        return self.kinds is Exception

    def _place(self, error: BaseException) -> str:
        return place_of(error) if self._all else ""


def place_of(error: BaseException) -> str:
    """Return where in a user's own code an exception arose, in brackets; nothing if it did not arise there."""
    if isinstance(error, SyntaxError):
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "site-packages" not in frame.filename and not _ours(frame.filename)]
    own = [frame for frame in own if not frame.filename.startswith("<")]
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""


def _ours(filename: str) -> bool:
    root = Path(__file__).resolve().parents[2]
    return any(Path(filename).is_relative_to(root / package) for package in ("ngym_cli", "neurogym"))


def check_arguments(entry: Callable[..., Any], given: Iterable[str], what: str, without: tuple[str, ...] = ()) -> None:
    """Refuse arguments that a class or function does not take.

    Args:
        entry: the class or function.
        given: names of arguments.
        what: what it is, for the message.
        without: arguments that are not for the user to give.

    Raises:
        UserError: names the argument and the nearest valid one.
    """
    parameters = keyword_parameters(entry)
    if parameters is None:
        return
    valid = [name for name in parameters if name not in without]
    for name in given:
        if name not in valid:
            raise unknown(f"argument of {what}", name, valid)


@functools.cache
def keyword_parameters(entry: Callable[..., Any]) -> dict[str, Any] | None:
    """Return the keyword arguments of a class or function and their defaults; None if it takes any keyword."""
    parameters = inspect.signature(entry).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return {p.name: p.default for p in parameters if p.kind is not p.VAR_POSITIONAL and p.name != "self"}
