"""Differences from NeuroGym, with reasons: a table from the toolkit and the tasks' metadata."""

from __future__ import annotations

from typing import NamedTuple

from neurogym.compat.changes import CHANGES
from neurogym.envs import registration


class Difference(NamedTuple):
    """Row of the table of differences."""

    task: str  #: id, or ``toolkit: `` and the part of it
    what: str  #: what is different, and why


def differences(tasks: list[str] | None = None) -> list[Difference]:
    """List all differences of the given tasks, in the order of ids (default: of the toolkit, then of all tasks)."""
    ids = registration.every_task() if tasks is None else [registration.resolve(task) for task in tasks]
    return [
        *(Difference(f"toolkit: {change.part}", change.what) for change in CHANGES if tasks is None),
        *(
            Difference(id_, what)
            for id_ in ids
            for what in dict.fromkeys(registration.metadata(id_).get("differences", ()))
        ),
    ]


def as_markdown(rows: list[Difference] | None = None) -> str:
    """Format the table in Markdown, with a row per task."""
    by_task: dict[str, list[str]] = {}
    for row in differences() if rows is None else rows:
        by_task.setdefault(row.task, []).append(row.what.replace("|", "\\|"))
    lines = [f"| {_plain(task)} | {'; '.join(what)} |" for task, what in by_task.items()]
    return "\n".join(["| where | what is different here |", "|---|---|", *lines])


def _plain(task: str) -> str:
    return task.removeprefix("toolkit: ").removesuffix("-v0")
