"""Progress of a sweep, read from the folder alone: from any shell, on any machine that sees the disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from ngym_cli import runs
from ngym_cli.errors import UserError
from ngym_cli.runs.records import Manifest
from ngym_cli.sweeps.folder import SweepFolder
from ngym_cli.sweeps.plan import Entry
from ngym_cli.sweeps.worker import PRUNED
from ngym_cli.terminal import REFERENCES

#: States of a run in a sweep, and the final states.
STATES = ("queued", "running", "done", "pruned", "interrupted", "failed")
FINAL = ("done", "pruned")

Row = dict[str, Any]


def row(sweep: SweepFolder, entry: Entry) -> Row:
    """Return the state of a run.

    Returns:
        ``id``, ``name``, ``job``, ``values``, ``state`` (``interrupted``: stopped or crashed, and to be resumed),
        ``performance``, ``steps``, ``timesteps``, ``seconds`` (taken), ``left`` (seconds), ``error``, ``reason``.
    """
    values = sweep.values(entry)
    found: Row = {
        "id": None, "name": entry.name, "job": entry.job, "values": values or dict(entry.values), "state": "queued",
        "performance": None, "steps": 0, "timesteps": None, "seconds": None, "left": None, "error": None,
        "reason": None,
    }  # fmt: skip
    if values is not None:
        path = sweep.run_path(entry, values)
        found["id"] = str(path)
        if (path / runs.MANIFEST).exists():
            try:
                found.update(_of_manifest(runs.RunFolder(path).manifest()))
            except UserError as error:
                found.update(state="failed", error=str(error))
    if found["state"] == "queued" and sweep.recipe.search is not None and sweep.reported_path(entry.job).exists():
        found["state"] = "pruned"
    if found["state"] in ("queued", "interrupted", "failed"):
        why = sweep.error(entry.job)
        if why is not None:
            found.update(state="failed", error=why)
    return found


def _of_manifest(manifest: Manifest) -> Row:
    status, reason = manifest["status"], manifest.get("exit_reason")
    states = {"running": "running", "finished": "done", "failed": "failed"}
    state = PRUNED if status == "interrupted" and reason == PRUNED else states.get(status, "interrupted")
    config = manifest.get("config") or {}
    found: Row = {
        "state": state,
        "performance": manifest.get("performance"),
        "reward_per_trial": manifest.get("reward_per_trial"),
        "steps": manifest.get("steps") or 0,
        "timesteps": steps if isinstance(steps := config.get("timesteps"), int) else None,
        "seconds": manifest.get("wall_seconds"),
        **{name: manifest.get(name) for name in REFERENCES},
        "reason": reason,
        "error": reason if state == "failed" else None,
    }
    if state == "running":
        found.update(_progress(manifest, found["steps"], found["timesteps"] or 0))
    return found


def _progress(manifest: Manifest, steps: int, total: int) -> Row:
    """Return the seconds since a run was last started or resumed, and the estimated seconds left."""
    resumed = manifest.get("resumed") or []
    begun, at = (resumed[-1]["at"], resumed[-1]["step"]) if resumed else (manifest.get("started"), 0)
    moment = datetime.fromisoformat(begun) if begun else datetime.now(UTC)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    seconds = (datetime.now(UTC) - moment).total_seconds()
    left = seconds * (total - steps) / (steps - at) if steps > at and total else None
    return {"seconds": seconds, "left": left}


class StatusReader:
    """Repeated reader of a sweep's state; final states are read once.

    Args:
        sweep: the sweep.
    """

    def __init__(self, sweep: SweepFolder):
        self.sweep = sweep
        self._final: dict[str, Row] = {}

    def rows(self) -> list[Row]:
        """Return the state of every run."""
        return [self._row(entry) for entry in self.sweep.entries]

    def _row(self, entry: Entry) -> Row:
        known = self._final.get(entry.name)
        if known is None:
            known = row(self.sweep, entry)
            if known["state"] in FINAL:
                self._final[entry.name] = known
        return known


def counts(rows: Sequence[Row]) -> dict[str, int]:
    """Return the number of runs in each state."""
    found = Counter(item["state"] for item in rows)
    return {state: found[state] for state in STATES}


def unfinished_jobs(sweep: SweepFolder, rows: Sequence[Row]) -> list[int]:
    """Return the unfinished jobs in order of number."""
    by_job: dict[int, list[str]] = {}
    for item in rows:
        by_job.setdefault(item["job"], []).append(item["state"])
    return [job for job, states in by_job.items() if not _over(sweep, job, states)]


def _over(sweep: SweepFolder, job: int, states: list[str]) -> bool:
    """Return whether a job is done; a search trial that was ended early has unfinished seeds."""
    if sweep.recipe.search is None:
        return all(state in FINAL for state in states)
    return sweep.reported_path(job).exists()


def time_left(rows: Sequence[Row], workers: int) -> float | None:
    """Return the approximate seconds left of a sweep, or None before anything is known."""
    took = [item["seconds"] for item in rows if item["state"] == "done" and item["seconds"]]
    running = [item["left"] for item in rows if item["state"] == "running" and item["left"] is not None]
    if not took and not running:
        return None
    each = sum(took) / len(took) if took else max(running)
    waiting = sum(item["state"] in ("queued", "interrupted") for item in rows)
    return (waiting * each + sum(running)) / max(workers, 1)
