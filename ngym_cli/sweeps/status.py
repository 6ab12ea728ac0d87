"""Progress of a sweep, read from the folder alone: from any shell, on any machine that sees the disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from ngym_cli import runs
from ngym_cli.config.values import Values
from ngym_cli.errors import UserError
from ngym_cli.runs.records import Manifest
from ngym_cli.sweeps.folder import SweepFolder
from ngym_cli.sweeps.plan import Entry, without_seed
from ngym_cli.sweeps.worker import PRUNED

#: States of a run in a sweep, and the final states.
JOB_STATES = ("queued", "running", "done", "pruned", "interrupted", "failed")
FINAL = ("done", "pruned")


class RunRow(TypedDict):
    """State of a run of a sweep.

    Attributes:
        id: folder of the run; None before its parameters are drawn.
        name: name of the run.
        job: number of the job.
        values: parameters by dotted key.
        state: one of `JOB_STATES`; ``interrupted`` is stopped or crashed, and to be resumed.
        performance: performance in the last evaluation of the run itself.
        steps: training steps so far.
        timesteps: training steps of the whole run.
        seconds: seconds taken.
        left: estimated seconds left.
        error: why the run failed.
        reason: why the run ended.
        reward_per_trial: mean summed reward of a trial.
        chance: performance of random actions.
        blind: performance of the best agent that sees nothing.
        ceiling: performance of the ideal observer.
    """

    id: str | None
    name: str
    job: int
    values: Values
    state: str
    performance: float | None
    steps: int
    timesteps: int | None
    seconds: float | None
    left: float | None
    error: str | None
    reason: str | None
    reward_per_trial: NotRequired[float | None]
    chance: NotRequired[float | None]
    blind: NotRequired[float | None]
    ceiling: NotRequired[float | None]


def by_setting(rows: Iterable[RunRow]) -> list[list[RunRow]]:
    """Return the rows of each setting."""
    groups: dict[str, list[RunRow]] = {}
    for each in rows:
        groups.setdefault(repr(without_seed(each["values"])), []).append(each)
    return list(groups.values())


def row(sweep: SweepFolder, entry: Entry) -> RunRow:
    """Return the state of a run."""
    values = sweep.values(entry)
    run_row: RunRow = {
        "id": None,
        "name": entry.name,
        "job": entry.job,
        "values": values or dict(entry.values),
        "state": "queued",
        "performance": None,
        "steps": 0,
        "timesteps": None,
        "seconds": None,
        "left": None,
        "error": None,
        "reason": None,
    }
    if values is not None:
        path = sweep.run_path(entry, values)
        run_row["id"] = str(path)
        if (path / runs.MANIFEST).exists():
            try:
                update_from_manifest(run_row, runs.RunFolder(path).manifest())
            except UserError as error:
                run_row["state"], run_row["error"] = "failed", str(error)
    if run_row["state"] == "queued" and sweep.recipe.search is not None and sweep.reported_path(entry.job).exists():
        run_row["state"] = "pruned"
    if run_row["state"] in ("queued", "interrupted", "failed"):
        message = sweep.error(entry.job)
        if message is not None:
            run_row["state"], run_row["error"] = "failed", message
    return run_row


def update_from_manifest(run_row: RunRow, manifest: Manifest) -> None:
    """Enter the status and the results of a run in its row."""
    status, reason = manifest["status"], manifest.get("exit_reason")
    states = {"running": "running", "finished": "done", "failed": "failed"}
    state = PRUNED if status == "interrupted" and reason == PRUNED else states.get(status, "interrupted")
    config = manifest.get("config") or {}
    run_row.update(
        {
            "state": state,
            "performance": manifest.get("performance"),
            "reward_per_trial": manifest.get("reward_per_trial"),
            "steps": manifest.get("steps") or 0,
            "timesteps": steps if isinstance(steps := config.get("timesteps"), int) else None,
            "seconds": manifest.get("wall_seconds"),
            "chance": manifest.get("chance"),
            "blind": manifest.get("blind"),
            "ceiling": manifest.get("ceiling"),
            "reason": reason,
            "error": reason if state == "failed" else None,
        }
    )
    if state == "running":
        run_row["seconds"], run_row["left"] = _progress(manifest, run_row["steps"], run_row["timesteps"] or 0)


def _progress(manifest: Manifest, steps: int, total: int) -> tuple[float, float | None]:
    """Return the seconds since a run was last started or resumed, and the estimated seconds left."""
    resumed = manifest.get("resumed") or []
    started, at = (resumed[-1]["at"], resumed[-1]["step"]) if resumed else (manifest.get("started"), 0)
    moment = datetime.fromisoformat(started) if started else datetime.now(UTC)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    seconds = (datetime.now(UTC) - moment).total_seconds()
    left = seconds * (total - steps) / (steps - at) if steps > at and total else None
    return seconds, left


class StatusReader:
    """Repeated reader of a sweep's state; final states are read once.

    Args:
        sweep: the sweep.
    """

    def __init__(self, sweep: SweepFolder):
        self.sweep = sweep
        self._final: dict[str, RunRow] = {}

    def rows(self) -> list[RunRow]:
        """Return the state of every run."""
        return [self._row(entry) for entry in self.sweep.entries]

    def _row(self, entry: Entry) -> RunRow:
        final = self._final.get(entry.name)
        if final is None:
            final = row(self.sweep, entry)
            if final["state"] in FINAL:
                self._final[entry.name] = final
        return final


def counts(rows: Sequence[RunRow]) -> dict[str, int]:
    """Return the number of runs in each state."""
    count_by_state = Counter(item["state"] for item in rows)
    return {state: count_by_state[state] for state in JOB_STATES}


def changed_code(rows: Sequence[RunRow]) -> list[str]:
    """Return the files of users' code and the packages that differ between the runs of a sweep that are done."""
    variants: dict[str, set[object]] = {}
    for item in rows:
        if item["state"] in FINAL and item["id"] is not None and (Path(item["id"]) / runs.MANIFEST).is_file():
            manifest: Mapping[str, Any] = runs.RunFolder(Path(item["id"])).manifest()
            commit = {"commit of ngym": manifest["git"]["commit"]} if manifest.get("git") else {}
            files = (manifest.get("code") or {}).get("files") or {}
            for name, version in {**files, **(manifest.get("versions") or {}), **commit}.items():
                variants.setdefault(name, set()).add(version)
    return [name for name, versions in variants.items() if len(versions) > 1]


def unfinished_jobs(sweep: SweepFolder, rows: Sequence[RunRow]) -> list[int]:
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


def time_left(rows: Sequence[RunRow], workers: int) -> float | None:
    """Return the approximate seconds left of a sweep, or None before anything is known."""
    took = [item["seconds"] for item in rows if item["state"] == "done" and item["seconds"]]
    running = [item["left"] for item in rows if item["state"] == "running" and item["left"] is not None]
    if not took and not running:
        return None
    each = sum(took) / len(took) if took else max(running)
    waiting = sum(item["state"] in ("queued", "interrupted") for item in rows)
    return (waiting * each + sum(running)) / max(workers, 1)
