"""What made a number: the commit, and a digest of the code and settings that decide it.

A row is out of date when its digest is not the present one. Comments, docstrings and layout do not count, nor does code
that cannot change a result: analyses, figures, the terminal, other tasks.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import json
import subprocess
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

#: What decides no result, and tasks, of which only those count that an item names.
TOOLKIT_APART = ("analysis", "compat", "config", "plotting", "utils/plotting.py", "info.py")
TASKS = ("native", "contrib", "image", "collections")
RUNNER = ("agents", "config", "environments", "evaluation", "training/main_loop.py", "training/curriculum.py",
          "training/stopping.py")  # fmt: skip


def stamp(digest: str) -> dict[str, str]:
    """Return what a new row says of its making."""
    return {"commit": commit(), "digest": digest, "on": datetime.now(UTC).date().isoformat()}


def commit() -> str:
    """Return the commit of the checkout, with a plus when files were changed since."""
    name = _git("rev-parse", "--short=10", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "neurogym", "ngym_cli")
    return f"{name or 'unknown'}{'+' if changed else ''}"


def _git(*arguments: str) -> str:
    found = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else ""


def digest(tasks: Iterable[str], settings: Any) -> str:
    """Return twelve characters that change with whatever decides a result.

    Args:
        tasks: ids of the tasks; collections stand for all of theirs.
        settings: everything else that was set, as plain data.
    """
    found = hashlib.sha256(_shared().encode())
    for path in sorted({path for id_ in tasks for path in _files_of(id_)}):
        found.update(plain(path).encode())
    found.update(json.dumps(settings, sort_keys=True, default=str).encode())
    return found.hexdigest()[:12]


@functools.cache
def _shared() -> str:
    return "".join(f"{path.relative_to(ROOT)}\n{plain(path)}\n" for path in _shared_files())


def _shared_files() -> Iterator[Path]:
    for path in sorted((ROOT / "neurogym").rglob("*")):
        inside = path.relative_to(ROOT / "neurogym").as_posix()
        apart = (*TOOLKIT_APART, *(f"envs/{folder}" for folder in TASKS))
        if path.suffix in (".py", ".c", ".h") and not inside.startswith(apart):
            yield path
    for name in RUNNER:
        place = ROOT / "ngym_cli" / name
        inside = sorted(place.rglob("*")) if place.is_dir() else [place]
        yield from (path for path in inside if path.suffix in (".py", ".c", ".h"))


@functools.cache
def _files_of(id_: str) -> tuple[Path, ...]:
    """Return the files of a task's class and of the classes that it is made from."""
    from neurogym.envs import registration
    from neurogym.envs.collections import COLLECTIONS
    from ngym_cli.config import parts

    if parts.is_reference(id_):  # a class in a file
        entries, found = [parts.find_own("task", id_)], {Path(id_.rpartition(":")[0])}
    else:
        names = registration.get_collection(id_) if id_ in COLLECTIONS else [id_]
        entries, found = [registration.entry(registration.resolve(name)) for name in names], set()
    for entry in entries:
        for part in inspect.getmro(entry) if inspect.isclass(entry) else (entry,):
            if part.__module__.startswith("neurogym.envs."):
                found.add(Path(inspect.getfile(part)))
    return tuple(sorted(found))


@functools.cache
def plain(path: Path) -> str:
    """Return a source without what the program does not see."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return text
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)
