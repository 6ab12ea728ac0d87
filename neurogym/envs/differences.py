"""Where and why the tasks differ from the reference toolkit: one table, made from the tasks' metadata."""

from __future__ import annotations

from typing import NamedTuple

from neurogym.envs import registration


class Difference(NamedTuple):
    """One row of the table."""

    task: str  #: id
    what: str  #: what is different, and why


def differences(tasks: list[str] | None = None) -> list[Difference]:
    """Every difference of the given tasks (default: of all), in the order of their ids."""
    ids = registration.every_task() if tasks is None else [registration.resolve(task) for task in tasks]
    return [
        Difference(id_, what)
        for id_ in ids
        for what in dict.fromkeys(registration.metadata(id_).get("differences", ()))
    ]


def as_markdown(rows: list[Difference] | None = None) -> str:
    """The table in Markdown, one row per task."""
    by_task: dict[str, list[str]] = {}
    for row in differences() if rows is None else rows:
        by_task.setdefault(row.task, []).append(row.what.replace("|", "\\|"))
    lines = [f"| {task.removesuffix('-v0')} | {'; '.join(what)} |" for task, what in by_task.items()]
    return "\n".join(["| task | what is different here |", "|---|---|", *lines])
