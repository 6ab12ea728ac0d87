"""Finding run folders: by path, by name, the latest, and all runs as rows of a listing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ngym_cli.errors import UserError, did_you_mean
from ngym_cli.files import reading
from ngym_cli.runs import records
from ngym_cli.runs.folder import CONFIG, MANIFEST, ROOT, Run

#: Entries of the manifest that a listing of runs shows.
LISTED = (
    *("status", "task", "task_id", "alg", "network", "seed", "steps", "trials", "performance", "reward_per_trial"),
    *("started", "ended", "note", "tags"),
)

#: Columns of a listing of runs.
COLUMNS = ("id", "name", *LISTED)


def find_all(root: Path, fits: bool = False) -> list[Run]:
    """Return the runs below a folder, oldest first; unreadable folders are passed over.

    Args:
        root: folder of all runs.
        fits: include the folders of fits, see ``ngym fit``.
    """
    if not root.is_dir():
        return []
    found = sorted(root.glob(f"*/*/*/{MANIFEST}"), key=_started)
    return [run for run in (Run(path.parent) for path in found) if fits or not run.is_fit]


def _started(manifest: Path) -> tuple[str, float]:
    """Return the recorded start of a run and the time of the last change; only the latter if the record is damaged."""
    started, written = "", 0.0
    with contextlib.suppress(UserError, OSError):
        written = manifest.stat().st_mtime
        started = str(records.read(manifest, records.Manifest).get("started") or "")
    return started, written


def find(
    reference: str,
    root: Path = ROOT,
    accept: Callable[[Run], bool] = lambda run: True,
    checked: bool = True,
    fits: bool = False,
) -> Run:
    """Return a run by folder, by name below ``root``, or ``latest``.

    Args:
        reference: folder, name or ``latest``.
        root: folder of all runs.
        accept: condition on runs that a name or ``latest`` may mean.
        checked: refuse folders with links that lead elsewhere; False to remove a run without reading its files.
        fits: include the folders of fits.

    Raises:
        UserError: if there is none, with the nearest name; or if the folder is refused.
    """
    run = _find(reference, root, accept, fits)
    if checked:
        reading.check_folder(run.path)
    return run


def _find(reference: str, root: Path, accept: Callable[[Run], bool], fits: bool) -> Run:
    path = Path(reference)
    try:
        named_folder = path.is_dir() and reference != "latest" and any(path.iterdir())
    except (OSError, ValueError) as error:
        raise UserError(f"no such run: {reference!r} ({error})") from None
    if named_folder and ((path / MANIFEST).exists() or (path / CONFIG).exists()):
        if Run(path).is_fit and not fits:
            raise UserError(f"{reference} is a fit, not a run of an agent; see ngym fit --help")
        return Run(path)
    if named_folder:
        raise UserError(f"{reference} is not a run folder: it has no {MANIFEST}")
    everything = [run for run in find_all(root, fits) if accept(run)]
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
    """Return a run as a row of the listing; the row of a damaged run contains the error."""
    row: dict[str, Any] = {"id": str(run.path), "name": run.name}
    try:
        manifest = run.manifest()
    except UserError as error:
        return {**row, "status": "damaged", "error": str(error)}
    return {**row, **{key: manifest.get(key) for key in LISTED}, "tags": manifest.get("tags") or []}
