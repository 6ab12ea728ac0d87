"""Run folders: making, naming, finding, listing and reading. Every file in a run folder is complete or absent."""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ngym_cli.config.model import RunConfig
from ngym_cli.config.trust import load
from ngym_cli.errors import InUseError, UserError, option, os_errors
from ngym_cli.files import reading, writing
from ngym_cli.files.writing import atomic_folder, remove_folder, write_json
from ngym_cli.files.written import WRITTEN
from ngym_cli.processes import is_alive
from ngym_cli.runs import finding, records
from ngym_cli.runs.finding import FOLDER_KINDS, LATEST, MANIFEST

if TYPE_CHECKING:
    from ngym_cli.terminal import Row

CONFIG = "config.toml"
FIT = FOLDER_KINDS["fit"].file  #: record of a fit, see ``ngym_cli.fitting.folder``
TRIALS = "trials"
MODEL = "model"
RUNS_ROOT = Path("runs")

#: Read-out of the neurons that a run learned from, with those and the trials that were held out.
READ_OUT = "recording.npz"

#: Names of TensorBoard's event files, and where they are: curves that have their own colour are runs in a folder.
EVENTS, CURVES = "events.out.tfevents.*", "curves"
EVENT_FILES = (EVENTS, f"{CURVES}/*/{EVENTS}")

#: Seconds without a change after which a run on another machine is taken to have ended.
QUIET = 120.0

#: Formats that evaluations are exported to, with the file of each.
EXPORTS = {"csv": "trials.csv", "nwb": "session.nwb", "npz": "trials.npz"}

#: Patterns of all files that ngym writes into the folder of an evaluation, and into the folder of a run.
EVALUATION = (
    *("summary.json", "trials.parquet", "activity.h5", "comparison.json", "activity_comparison.json"),
    *EXPORTS.values(),
)
EVERYTHING = (
    *(CONFIG, MANIFEST, f"{TRIALS}/part-*.parquet", *EVENT_FILES),
    "tensorboard/events.out.tfevents.*",  # where runs of earlier versions have them
    *("checkpoints/best.json", "checkpoints/step_*.json", "checkpoints/step_*.safetensors"),
    READ_OUT,
    *(f"{MODEL}/model.json", f"{MODEL}/weights.safetensors"),
    *(f"eval/*/{name}" for name in EVALUATION),
    *(f"export/agent.{form}" for form in ("zip", "onnx", "pt")),
    *(FIT, "trials.parquet", "models/*.json", "models/*.npz", "export/*.csv"),
    *("subjects/*", "slurm/*"),  # of a fit of many subjects that has not ended
    *(WRITTEN, f"*/{WRITTEN}"),  # figures and pages are on these lists
)


def now() -> str:
    """Return the time in ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class RunFolder:
    """A run folder."""

    path: Path

    def __post_init__(self) -> None:
        """Keep the path as a Path."""
        object.__setattr__(self, "path", Path(self.path))

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.name

    @property
    def is_fit(self) -> bool:
        """Whether the folder is a fit of models to behaviour."""
        return (self.path / FIT).exists()

    def manifest(self) -> records.Manifest:
        """Return the manifest of the run, with the current state.

        Raises:
            UserError: if the record is missing or damaged.
        """
        data = records.read(self.path / MANIFEST, records.Manifest)
        if data["status"] == "running" and not is_alive(data.get("process") or {}):
            data["status"] = "crashed"
        return data

    def update(self, **entries: object) -> None:
        """Add or replace entries of the manifest.

        Raises:
            UserError: if it is missing or damaged.
        """
        self.change(lambda _: entries)

    def change(self, entries: Callable[[records.Manifest], Mapping[str, object]]) -> None:
        """Add or replace entries that depend on the present manifest; other processes wait meanwhile.

        Args:
            entries: returns the entries from the present manifest.

        Raises:
            UserError: if the manifest is missing or damaged.
        """
        path = self.path / MANIFEST
        with writing.exclusive(self.path / (CONFIG if (self.path / CONFIG).exists() else FIT)):
            manifest = records.read(path, records.Manifest)
            write_json(path, {**manifest, **entries(manifest)})

    def recorded_config(self, trust: bool = False) -> RunConfig:
        """Return the configuration as recorded; an earlier version may not have recorded every setting.

        Args:
            trust: let it name a user's own code.

        Raises:
            UserError: if it is missing or damaged, or names code or files without being trusted.
        """
        path = self.path / CONFIG
        if not path.is_file():
            raise UserError(f"damaged run folder {self.path}: {CONFIG} is missing")
        return load(path, {}, trust)

    def require_model(self) -> None:
        """Refuse a run that has not written a model yet.

        Raises:
            UserError: names the state of the run and how to continue.
        """
        if not os.path.lexists(self.path / MODEL):
            manifest = self.manifest()
            if manifest.get("fit"):
                raise UserError(f"{self.path} is a simulation of a fitted model; repeat it with ngym eval --simulate")
            status = manifest["status"]
            resume = f"continue it with ngym run --resume {shlex.quote(str(self.path))}"
            hint = "wait for its end" if status == "running" else resume
            raise UserError(f"run {self.path} has no trained model yet (status: {status}); {hint}")

    def evaluations(self) -> list[Path]:
        """Return the folders of all evaluations, oldest first."""
        folder = self.path / "eval"
        paths = [path.parent for path in folder.glob("*/summary.json")] if folder.is_dir() else []
        return sorted(paths, key=lambda path: (path / "summary.json").stat().st_mtime)


#: Longest name of a folder that is made from a task's (bytes); file systems take 255.
MAX_TASK_FOLDER_BYTES = 150


def plain_name(kind: str, name: str) -> str:
    """Return a name that is valid for a folder: visible, printable, not too long, not a path.

    Args:
        kind: of what it is the name, for example "run".
        name: the name.

    Raises:
        UserError: if it is not valid.
    """
    plain_text = bool(name.strip()) and name.isprintable() and len(name.encode()) <= MAX_TASK_FOLDER_BYTES
    if not plain_text or name != Path(name).name or name[0] == ".":
        raise UserError(f"{kind} name '{name}' must be a plain folder name")
    if name == LATEST:
        raise UserError(f"{kind} name '{LATEST}' is reserved for the newest; choose another name")
    return name


def folder_for(root: Path, task: str, alg: str, name: str | None, seed: int) -> Path:
    """Return the folder of a new run: ``root/task/alg/name``, the name made of time and seed unless given.

    Raises:
        UserError: if the name is not a plain folder name.
    """
    name = f"{datetime.now():%Y%m%d-%H%M%S}-s{seed}" if name is None else plain_name("run", name)
    return root / safe_name(task) / safe_name(alg) / name


def safe_name(task: str) -> str:
    """Return the name of a task or an algorithm as a folder name: ``path/file.py:Class`` becomes ``file.Class``."""
    file, _, name = task.rpartition(":")
    if file:
        task = f"{Path(file).stem if file.endswith('.py') else file}.{name}"
    plain_text = "".join(char if char.isalnum() or char in "-_.+" else "_" for char in task).lstrip(".") or "task"
    return plain_text.encode()[:MAX_TASK_FOLDER_BYTES].decode(errors="ignore")


def create(path: Path, overwrite: bool, config: str, manifest: Mapping[str, object], rename: bool = False) -> RunFolder:
    """Make the folder of a run with configuration and record, complete or not at all.

    Args:
        path: the folder.
        overwrite: replace a run, but never a folder that holds anything else.
        config: the complete configuration as TOML.
        manifest: record of the run at the beginning.
        rename: take the next free name (``NAME-2``, ``NAME-3``) where there is one of that name.

    Raises:
        UserError: if it exists or cannot be made.
    """
    target, count = path, 1
    while True:
        if not rename:
            refuse_existing(target, overwrite)
        try:
            with atomic_folder(target, EVERYTHING if overwrite and not rename else ()) as temporary:
                (temporary / CONFIG).write_text(config, encoding="utf-8")
                write_json(temporary / MANIFEST, manifest)
            return RunFolder(target)
        except FileExistsError:  # another process has just made it
            if not rename:
                raise InUseError(
                    f"run folder {target} exists; choose another {option('--name')} or pass {option('--overwrite')}"
                ) from None
            count += 1
            target = path.with_name(f"{path.name}-{count}")
        except OSError as error:
            raise UserError(f"cannot make run folder {target}: {error.strerror or error}") from None


def discard(run: RunFolder, folders: Sequence[Path]) -> None:
    """Remove the folder of a run that could not be built, and parent folders that were made with the run folder.

    Args:
        run: a run, or a fit, with nothing but its configuration and manifest.
        folders: parent folders that did not exist before the run.
    """
    remove_folder(run.path, (CONFIG, FIT, MANIFEST))
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Refuse a folder that a new run must not replace.

    Raises:
        InUseError: if there is a run, unless ``overwrite``; or it is in use.
        UserError: if it is not a run folder, or cannot be read.
    """
    with os_errors(f"cannot read {path}"):
        if not path.exists():
            return
        if not overwrite:
            raise InUseError(
                f"run folder {path} exists; choose another {option('--name')} or pass {option('--overwrite')}"
            )
        is_run = any((path / name).exists() for name in (MANIFEST, CONFIG))
        if not path.is_dir() or (any(path.iterdir()) and not is_run):
            raise UserError(f"{path} is not a run folder; it will not be overwritten")
    if writing.in_use(path) or ((path / MANIFEST).exists() and _says_running(path)):
        raise InUseError(f"run folder {path} is in use by another process")


def _says_running(path: Path) -> bool:
    with contextlib.suppress(UserError):
        return bool(RunFolder(path).manifest()["status"] == "running")
    return False


def refuse_if_running_elsewhere(run: RunFolder, manifest: records.Manifest) -> None:
    """Refuse a run that another process seems to write, on another machine or where locks do not work.

    Raises:
        UserError: if its record says that it runs there, and was changed a moment ago.
    """
    process = manifest.get("process") or {}
    if manifest["status"] != "running" or process.get("pid") == os.getpid():
        return
    host, age = process.get("host"), time.time() - (run.path / MANIFEST).stat().st_mtime
    if host == platform.node():
        raise InUseError(f"run folder {run.path} is in use by another process")
    if host is not None and age < QUIET:
        raise InUseError(f"run folder {run.path} is in use on {host} (it was written {age:.0f} s ago)")


#: Entries of the manifest that a listing of runs shows.
LISTED = (
    *("status", "task", "task_id", "alg", "network", "seed", "steps", "trials", "performance", "reward_per_trial"),
    *("started", "ended", "note", "tags"),
)
#: Further entries of a fit: the best model and its held-out log-likelihood per trial in nats.
LISTED_OF_FITS = ("model", "score")

#: Columns of a listing of runs.
LISTING_COLUMNS = ("id", "name", *LISTED, *LISTED_OF_FITS)


def find_all(root: Path, fits: bool = False) -> list[RunFolder]:
    """Return the runs below a folder, oldest first.

    Args:
        root: folder of all runs.
        fits: include the folders of fits, see ``ngym fit``.
    """
    return [RunFolder(path) for path in finding.find_all(("run", "fit") if fits else "run", root)]


def find(reference: str, root: Path = RUNS_ROOT, checked: bool = True, fits: bool = False) -> RunFolder:
    """Return a run by folder, by name below ``root``, or ``latest``.

    Args:
        reference: folder, name or ``latest``.
        root: folder of all runs.
        checked: refuse folders with links that lead elsewhere; False to remove a run without reading its files.
        fits: include the folders of fits.

    Raises:
        UserError: if there is none, with the nearest name; or if the folder is refused.
    """
    run = RunFolder(finding.find(("run", "fit") if fits else "run", reference, root))
    if checked:
        reading.check_folder(run.path)
    return run


def describe(run: RunFolder) -> Row:
    """Return a run as a row of the listing; the row of a damaged run contains the error."""
    row: Row = {"id": str(run.path), "name": run.name}
    try:
        manifest = run.manifest()
    except UserError as error:
        return {**row, "status": "damaged", "error": str(error)}
    names = (*LISTED, *LISTED_OF_FITS) if run.is_fit else LISTED
    return {**row, **{key: manifest.get(key) for key in names}, "tags": manifest.get("tags") or []}
