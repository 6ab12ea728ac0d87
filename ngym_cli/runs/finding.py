"""Finding of runs, fits, sweeps and papers by folder, by name, or as the newest by recorded start."""

from __future__ import annotations

import contextlib
import glob
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ngym_cli.errors import UserError, did_you_mean
from ngym_cli.files.reading import read_json

#: Record of a run, a fit or a sweep; the record states the start.
MANIFEST = "manifest.json"
#: Reference to the newest run, sweep or fit.
LATEST = "latest"


@dataclass(frozen=True)
class FolderKind:
    """Kind of folder that a user refers to by name.

    Attributes:
        file: name of the file that only folders of this kind have.
        depth: number of levels from the folder that is searched to a folder of this kind.
        hint: hint for users who name a folder of this kind where another kind is expected.
    """

    file: str
    depth: int
    hint: str = ""


#: Kinds by name; a folder with the files of several kinds is of the first of these.
FOLDER_KINDS = {
    "fit": FolderKind("fit.json", 3, "; see ngym fit --help"),
    "paper": FolderKind("paper.toml", 1, "; see ngym reproduce --help"),
    "sweep": FolderKind("list.json", 1, "; see ngym sweep --help"),
    "run": FolderKind(MANIFEST, 3),
}


def kind_of(path: Path) -> str | None:
    """Return the kind of a folder, or None."""
    return next((name for name, kind in FOLDER_KINDS.items() if (path / kind.file).is_file()), None)


def find(kinds: str | tuple[str, ...], reference: str, root: Path) -> Path:
    """Return a folder by path, by name below ``root``, or the newest for ``latest``.

    Args:
        kinds: one or several of `FOLDER_KINDS`.
        reference: path, name (the end of the path below ``root``) or ``latest``.
        root: folder that is searched.

    Raises:
        UserError: if there is none, with the nearest name, or if the path is a folder of another kind.
    """
    path = match(kinds, reference, root)
    if path is not None:
        return path
    first = kinds if isinstance(kinds, str) else kinds[0]
    with _valid_path(first, reference):
        is_folder = reference != LATEST and Path(reference).is_dir() and any(Path(reference).iterdir())
    if is_folder:
        kind = kind_of(Path(reference))
        if kind is None:
            raise UserError(f"{reference} is not a {first} folder: it has no {FOLDER_KINDS[first].file}")
        raise UserError(f"{reference} is a {kind}, not a {first}{FOLDER_KINDS[kind].hint}")
    paths = find_all(kinds, root)
    if not paths:
        problem = f"no {first}s" if reference == LATEST else f"no such {first}: {reference}; there are none"
        raise UserError(f"{problem} below '{root}' yet")
    names = [*map(str, paths), *(path.name for path in paths)]
    raise UserError(f"no such {first}: {reference}" + did_you_mean(reference, names))


def match(kinds: str | tuple[str, ...], reference: str, root: Path) -> Path | None:
    """Return the folder that a word refers to, or None; arguments as of `find`."""
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if reference == LATEST:
        return _newest(kinds, _paths(kinds, root, "*"))
    with _valid_path(kinds[0], reference):
        if kind_of(Path(reference)) in kinds:
            return Path(reference)
        return _newest(kinds, _paths(kinds, root, glob.escape(reference)))


def find_all(kinds: str | tuple[str, ...], root: Path) -> list[Path]:
    """Return all folders of these kinds below a folder, oldest first by recorded start."""
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    paths = [path for path in _paths(kinds, root, "*") if kind_of(path) in kinds]
    return sorted(paths, key=lambda path: (_started(kinds, path), _written(kinds, path)))


@contextlib.contextmanager
def _valid_path(kind: str, reference: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise UserError(f"no such {kind}: {reference!r} ({error})") from None


def _paths(kinds: tuple[str, ...], root: Path, pattern: str) -> set[Path]:
    """Return the folders below ``root`` whose path ends in a pattern and which have a file of one of the kinds."""
    levels = Path(pattern).parts
    paths: set[Path] = set()
    if root.is_dir() and levels and not Path(pattern).is_absolute() and ".." not in levels:
        for kind in (FOLDER_KINDS[name] for name in kinds if len(levels) <= FOLDER_KINDS[name].depth):
            above = ["*"] * (kind.depth - len(levels))
            paths.update(file.parent for file in root.glob("/".join([*above, pattern, kind.file])))
    return paths


def _newest(kinds: tuple[str, ...], paths: Iterable[Path]) -> Path | None:
    """Return the folder of these kinds with the latest recorded start.

    Few records are read, however many folders there are: a record is never older than the start it states, so that
    the search ends at the first record that was written before the latest start so far.
    """
    newest, best = None, (-math.inf, -math.inf)
    for written, path in sorted(((_written(kinds, path), path) for path in paths), reverse=True):
        if written < best[0]:
            break
        start = (_started(kinds, path), written)
        if kind_of(path) in kinds and (newest is None or start > best):
            newest, best = path, start
    return newest


def _written(kinds: tuple[str, ...], path: Path) -> float:
    """Return when the record of a folder was written (seconds), or else the file of the kind."""
    for file in (MANIFEST, *(FOLDER_KINDS[kind].file for kind in kinds)):
        with contextlib.suppress(OSError):
            return (path / file).stat().st_mtime
    return -math.inf


def _started(kinds: tuple[str, ...], path: Path) -> float:
    """Return the recorded start of a folder (seconds); sweeps of earlier versions have no record of the start."""
    try:
        return datetime.fromisoformat(read_json(path / MANIFEST)["started"]).timestamp()
    except (UserError, TypeError, KeyError, ValueError, OverflowError):
        return -math.inf if (path / MANIFEST).exists() else _written(kinds, path)
