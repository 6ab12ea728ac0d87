"""Run folders: making, naming, finding, listing and reading them. Every file in one is complete or absent."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ngym_cli import guard, locks
from ngym_cli.errors import Taken, UserError, did_you_mean

CONFIG = "config.toml"
MANIFEST = "manifest.json"
TRIALS = "trials"
MODEL = "model"
ROOT = Path("runs")

#: What a listing of runs shows of each manifest, and of which type it is.
LISTED: dict[str, Any] = {
    **dict.fromkeys(("status", "task", "alg", "network"), str),
    **dict.fromkeys(("seed", "steps", "trials"), int),
    "performance": (int, float),
    **dict.fromkeys(("started", "ended"), str),
}

#: Seconds without a change after which a run on another machine is taken to have ended.
QUIET = 120.0

#: States that the record of a run may be in; a run that says "running" but whose process is gone has crashed.
STATES = ("running", "finished", "interrupted", "failed", "crashed")


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` and rename it there when the block succeeds.

    Works for a file or a whole folder; nothing is left behind when the block fails. What was there is moved aside
    before it is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    holder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield holder / path.name
        if path.is_dir():
            os.replace(path, holder / "old")
        os.replace(holder / path.name, path)
    finally:
        shutil.rmtree(holder, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file as a whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file as a whole or not at all; numbers that JSON has not (nan, inf) become null."""
    write_text(path, json.dumps(plain(data), indent=2) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file of a run folder.

    Raises:
        UserError: if it is missing or damaged.
    """
    try:
        return guard.parse_json(guard.read_text(path), path)
    except FileNotFoundError:
        raise UserError(f"damaged run folder {path.parent}: {path.name} is missing") from None
    except OSError as error:
        raise UserError(f"damaged run folder {path.parent}: {path.name}: {error.strerror}") from None


def plain(value: Any) -> Any:
    """Return a value made of what JSON has: NumPy scalars and arrays unpacked, nan and inf as None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def now() -> str:
    """Return the time in ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Run:
    """A run folder."""

    path: Path

    def __post_init__(self) -> None:
        """Keep the path as a Path."""
        object.__setattr__(self, "path", Path(self.path))

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.name

    def manifest(self) -> dict[str, Any]:
        """Return what the run recorded about itself, with its state as it is now.

        Raises:
            UserError: if the record is missing or damaged.
        """
        data = read_json(self.path / MANIFEST)
        if not isinstance(data, dict) or data.get("status") not in STATES:
            raise UserError(f"damaged run folder {self.path}: {MANIFEST} has no valid status")
        if data["status"] == "running" and not _alive(data):
            data["status"] = "crashed"
        return data

    def update(self, **entries: Any) -> None:
        """Add or replace entries of the manifest."""
        path = self.path / MANIFEST
        data = read_json(path) if path.exists() else {}
        write_json(path, {**data, **entries})

    def config(self, trust: bool = False) -> Any:
        """Return the configuration that the run resolved to.

        Args:
            trust: let it name a user's own code.

        Raises:
            UserError: if it is missing or damaged, or names code or files without being trusted.
        """
        from ngym_cli import config

        path = self.path / CONFIG
        if not path.is_file():
            raise UserError(f"damaged run folder {self.path}: {CONFIG} is missing")
        return config.load(path, {}, trust)

    def evaluations(self) -> list[Path]:
        """Return the folders of its evaluations, oldest first."""
        folder = self.path / "eval"
        found = [path.parent for path in folder.glob("*/summary.json")] if folder.is_dir() else []
        return sorted(found, key=lambda path: (path / "summary.json").stat().st_mtime)


def _alive(manifest: dict[str, Any]) -> bool:
    """Say whether the process that writes a run still exists on this machine (a run elsewhere is believed)."""
    process = manifest.get("process") or {}
    if process.get("host") != os.uname().nodename:
        return True
    pid = process.get("pid")
    return isinstance(pid, int) and start_of_process(pid) == process.get("started")


def start_of_process(pid: int) -> str | None:
    """Return what tells a process from a later one with the same number, or None when there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self").exists():
        return None
    try:
        os.kill(pid, 0)
    except OSError:
        return None
    return "unknown"


def this_process() -> dict[str, Any]:
    """Return what identifies this process."""
    return {"host": os.uname().nodename, "pid": os.getpid(), "started": start_of_process(os.getpid())}


def is_plain_name(name: str) -> bool:
    """Say whether a name can be that of a folder: visible, printable, not too long, not a path."""
    return bool(name.strip()) and name.isprintable() and len(name) < 150 and name == Path(name).name and name[0] != "."


def folder_for(root: Path, task: str, alg: str, name: str | None, seed: int) -> Path:
    """Return the folder of a new run: ``root/task/alg/name``, the name made of time and seed unless given.

    Raises:
        UserError: if the name is not a plain folder name.
    """
    if name is not None and not is_plain_name(name):
        raise UserError(f"run name '{name}' must be a plain folder name")
    parent = root / safe_name(task) / alg
    if name is not None:
        return parent / name
    stem = f"{datetime.now():%Y%m%d-%H%M%S}-s{seed}"
    path, count = parent / stem, 1
    while path.exists():
        count += 1
        path = parent / f"{stem}-{count}"
    return path


def safe_name(task: str) -> str:
    """Return a task's name as a folder name: a file's task becomes ``file.Class``."""
    file, _, name = task.rpartition(":")
    if file:
        stem = Path(file).stem if file.endswith(".py") else file
        task = f"{stem}.{name}"
    return "".join(char if char.isalnum() or char in "-_.+" else "_" for char in task).lstrip(".") or "task"


def create(path: Path, overwrite: bool, config: str, manifest: Mapping[str, Any]) -> Run:
    """Make the folder of a run with its configuration and its record, complete or not at all.

    Args:
        path: the folder.
        overwrite: replace a run, but never another kind of folder.
        config: the complete configuration as TOML.
        manifest: what is recorded of the run when it begins.

    Raises:
        UserError: if it exists or cannot be made.
    """
    refuse_existing(path, overwrite)
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > QUIET:  # of a process that was killed while it made the folder
                shutil.rmtree(leftover)
    try:
        with atomic_path(path) as temporary:
            temporary.mkdir()
            (temporary / CONFIG).write_text(config, encoding="utf-8")
            (temporary / MANIFEST).write_text(json.dumps(plain(manifest), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot make run folder {path}: {error.strerror or error}") from None
    return Run(path)


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Refuse a folder that a new run must not take the place of.

    Raises:
        Taken: if there is a run, unless ``overwrite``; or it is in use.
        UserError: if it is not a run folder, or cannot be read.
    """
    try:
        if not path.exists():
            return
        if not overwrite:
            raise Taken(f"run folder {path} exists; choose another --name or say --overwrite")
        if not path.is_dir() or any(path.iterdir()) and not any((path / name).exists() for name in (MANIFEST, CONFIG)):
            raise UserError(f"{path} is not a run folder; it will not be overwritten")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    if locks.in_use(path) or (path / MANIFEST).exists() and _says_running(path):
        raise Taken(f"run folder {path} is in use by another process")


def _says_running(path: Path) -> bool:
    with contextlib.suppress(UserError):
        return bool(Run(path).manifest()["status"] == "running")
    return False


def refuse_elsewhere(run: Run, manifest: Mapping[str, Any]) -> None:
    """Refuse a run that a process on another machine seems to be writing.

    Raises:
        UserError: if its record says that it runs there, and was changed a moment ago.
    """
    process = manifest.get("process")
    host = process.get("host") if isinstance(process, dict) else None
    age = time.time() - (run.path / MANIFEST).stat().st_mtime
    if manifest["status"] == "running" and host not in (None, os.uname().nodename) and age < QUIET:
        raise Taken(f"run folder {run.path} is in use on {host} (it was written {age:.0f} s ago)")


def clear_leftovers(folder: Path) -> None:
    """Remove what a process that was killed had not yet finished writing."""
    for path in folder.rglob(".*.*"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)


def find_all(root: Path) -> list[Run]:
    """Return the runs below a folder, oldest first; unreadable folders are passed over."""
    if not root.is_dir():
        return []
    found = list(root.glob(f"*/*/*/{MANIFEST}"))
    return [Run(path.parent) for path in sorted(found, key=_started)]


def _started(manifest: Path) -> tuple[str, float]:
    with contextlib.suppress(UserError, AttributeError):
        return str(read_json(manifest).get("started", "")), manifest.stat().st_mtime
    return "", manifest.stat().st_mtime


def find(reference: str, root: Path = ROOT, accept: Callable[[Run], bool] = lambda run: True) -> Run:
    """Return the run that a user means: a folder, ``latest``, or the name of a run below ``root``.

    Raises:
        UserError: if there is none, with the nearest name; or if it holds links that lead out of it.
    """
    run = _find(reference, root, accept)
    guard.check_folder(run.path)
    return run


def _find(reference: str, root: Path, accept: Callable[[Run], bool]) -> Run:
    path = Path(reference)
    try:
        named_folder = path.is_dir() and reference != "latest" and any(path.iterdir())
    except (OSError, ValueError) as error:
        raise UserError(f"no such run: {reference!r} ({error})") from None
    if named_folder and ((path / MANIFEST).exists() or (path / CONFIG).exists()):
        return Run(path)
    if named_folder:
        raise UserError(f"{reference} is not a run folder: it has no {MANIFEST}")
    everything = [run for run in find_all(root) if accept(run)]
    if reference == "latest":
        if everything:
            return everything[-1]
        raise UserError(f"there are no runs below '{root}' yet")
    named = [run for run in everything if run.name == reference or str(run.path).endswith("/" + reference)]
    if named:
        return named[-1]
    names = [str(run.path) for run in everything] + [run.name for run in everything]
    raise UserError(f"no such run: {reference}" + did_you_mean(reference, names))


def describe(run: Run) -> dict[str, Any]:
    """Return one run as a row of the listing; a damaged one says what is wrong with it."""
    row: dict[str, Any] = {"id": str(run.path), "name": run.name}
    try:
        manifest = run.manifest()
    except UserError as error:
        return {**row, "status": "damaged", "error": str(error)}
    return {
        **row,
        **{key: value if isinstance(value := manifest.get(key), kind) else None for key, kind in LISTED.items()},
    }
