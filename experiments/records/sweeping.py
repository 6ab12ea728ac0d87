"""Rows that are read from runs, which the engine of `ngym sweep` makes, here or on a cluster; it can be interrupted.

The runs lie in ``build/records`` as in any sweep. A run is named by record, item, seed and commit, so that an existing
finished run of that name is the run that is needed. A row has the checksum of its weights: on a run that is kept,
another measure needs no training.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from experiments.records import made
from experiments.records.record import Record
from experiments.records.registry import RECORDS
from ngym_cli import runs
from ngym_cli.agents.saving import WEIGHTS
from ngym_cli.config.launch import LaunchSettings
from ngym_cli.files.reading import digest
from ngym_cli.sweeps import control, folder, launchers
from ngym_cli.sweeps.folder import SweepFolder
from ngym_cli.sweeps.plan import Entry
from ngym_cli.sweeps.recipe import Recipe

#: Folder of the runs.
PLACE = Path("build") / "records"


@dataclass(frozen=True)
class Needed:
    """Run that a row needs.

    Attributes:
        record: the record.
        item: what is measured.
        seed: seed of the run.
        entry: the run in a sweep.
    """

    record: Record
    item: str
    seed: int
    entry: Entry


def needed(jobs: Iterable[tuple[str, str, int]]) -> list[Needed]:
    """Return the runs of rows, given as name of the record, item and seed; rows of other records are left out."""
    rows, commit = [], made.commit()
    for name, item, seed in jobs:
        record = RECORDS[name]
        if record.run is None:
            continue
        run = f"{name}.{item.replace('/', '.')}.s{seed}.{commit}"
        job = int(hashlib.sha256(run.encode()).hexdigest()[:7], 16)
        rows.append(Needed(record, item, seed, Entry(job, run, {**record.run(item), "seed": seed})))
    return rows


def make(rows: list[Needed], launch: LaunchSettings, root: Path = PLACE) -> tuple[int, bool]:
    """Make the runs and keep the rows; return how many are still missing, and whether the making was interrupted.

    Args:
        rows: runs that are needed.
        launch: where to make the runs.
        root: folder of the runs.
    """
    sweep = folder.listed(root, [row.entry for row in rows], Recipe(launch=launch))
    left = collect(rows, sweep)
    interrupted = False
    if left:
        sweep = folder.listed(root, [row.entry for row in left], Recipe(launch=launch))
        _, interrupted = control.do_jobs(sweep, launchers.find(launch), trust=False)
        left = collect(left, sweep)
    for row in left:
        reason = sweep.error(row.entry.job)
        if reason is not None:
            print(f"{row.record.name}/{row.item}, seed {row.seed}: {reason}", flush=True)
    return len(left), interrupted


def collect(rows: list[Needed], sweep: SweepFolder) -> list[Needed]:
    """Keep the rows of finished runs; return those that have none.

    Args:
        rows: runs that are needed.
        sweep: folder of the runs.
    """
    left = []
    for row in rows:
        path = sweep.run_path(row.entry, row.entry.values)
        if (path / runs.MANIFEST).exists() and runs.RunFolder(path).manifest()["status"] == "finished":
            read(row.record, row.item, row.seed, path)
        else:
            left.append(row)
    return left


def read(record: Record, item: str, seed: int, path: Path) -> None:
    """Measure a finished run, and keep the row with the checksum of the weights."""
    record.keep(item, seed, {**record.make(item, seed, path), "weights": checksum(path)})
    if record.draw is not None:
        record.draw(item, seed, path)


def checksum(path: Path) -> str:
    """Return the first digits of the SHA-256 of the weights of a run; empty where it has none."""
    weights = path / runs.MODEL / WEIGHTS
    return digest(weights)[:16] if weights.is_file() else ""


def read_again(jobs: Iterable[tuple[str, str, int]], root: Path = PLACE) -> int:
    """Measure rows again on the runs that they were read from, whatever commit made these; nothing is trained.

    Args:
        jobs: name of the record, item and seed of each row; those whose run is not kept are left out.
        root: folder of the runs.

    Returns:
        How many rows were measured.
    """
    measured, rows = 0, {name: record.rows() for name, record in RECORDS.items() if record.run is not None}
    for name, item, seed in jobs:
        weights = rows.get(name, {}).get(item, {}).get(str(seed), {}).get("weights")
        folders = sorted((root / "runs").glob(f"*/*/{name}.{item.replace('/', '.')}.s{seed}.*")) if weights else []
        path = next((each for each in folders if checksum(each) == weights), None)
        if path is not None:
            read(RECORDS[name], item, seed, path)
            measured += 1
    return measured
