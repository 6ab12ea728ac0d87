"""Descriptions as rows of plain data: the parts taken from docstrings, and folders of runs, sweeps, recipes, papers."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ngym_cli.config.docstrings import sections
from ngym_cli.errors import UserError, unknown

#: Description as plain data: names to numbers, words, truth values, and lists and tables of these.
Row = dict[str, Any]


def rows_with_words(search: Iterable[str], rows: list[Row]) -> list[Row]:
    """Return the rows that contain all given words."""
    return [row for row in rows if all(word.lower() in " ".join(map(str, row.values())).lower() for word in search)]


def summary(entry: object) -> str:
    """Return the first paragraph of a docstring as a single line."""
    return " ".join((inspect.getdoc(entry) or "").partition("\n\n")[0].split())


def arguments(entry: object) -> dict[str, str]:
    """Return the description of each argument, from the section ``Args:`` of a class or function.

    Example:
        >>> arguments(arguments)
        {'entry': 'object with the docstring.'}

    Args:
        entry: object with the docstring.
    """
    found = sections(inspect.getdoc(entry))[1]
    return found.get("Args") or found.get("Arguments") or found.get("Parameters") or {}


def recorded_runs(
    root: Path,
    search: Iterable[str] = (),
    tag: str | None = None,
    task: str | None = None,
    alg: str | None = None,
    status: str | None = None,
    sort: str | None = None,
) -> list[Row]:
    """Return the runs below a folder, oldest first.

    Args:
        root: the folder.
        search: only those where each of these words occurs in id, task, algorithm, network, tags or note.
        tag: only those with this tag (``ngym runs tag``).
        task: only those of this task, by its id or an old name.
        alg: only those of this algorithm.
        status: only those in this state.
        sort: column to sort by, a dash before it for the largest first.

    Raises:
        UserError: if there is no such column or state.
    """
    from ngym_cli import runs

    rows = [runs.describe(run) for run in runs.find_all(root, fits=True)]
    if status is not None and status not in (*runs.STATES, "damaged"):
        raise unknown("status", status, (*runs.STATES, "damaged"))
    if tag is not None:
        rows = [row for row in rows if tag in row.get("tags", ())]
    if task is not None:
        rows = [row for row in rows if _same_task(task, row)]
    rows = [row for row in rows if alg in (None, row.get("alg")) and status in (None, row["status"])]
    rows = rows_with_words(search, rows)
    return rows if sort is None else _sorted(rows, sort)


def _same_task(name: str, row: Row) -> bool:
    from ngym_cli.config.tasks import find_task

    try:
        return name == row.get("task") or find_task(name).id in (row.get("task"), row.get("task_id"))
    except UserError:
        return name.lower() in str(row.get("task")).lower()


def _sorted(rows: list[Row], column: str) -> list[Row]:
    """Return rows sorted by a column, rows without a value last."""
    from ngym_cli.runs.folder import COLUMNS

    name = column.removeprefix("-")
    if name not in COLUMNS:
        raise unknown("column", name, COLUMNS)
    having = [row for row in rows if row.get(name) is not None]
    having.sort(key=lambda row: row[name], reverse=column.startswith("-"))
    return having + [row for row in rows if row.get(name) is None]


def _written_plans(folder: str) -> list[Row]:
    """Return the TOML files of a folder of ``experiments``, here or in ngym's checkout, with the first comment."""
    from ngym_cli.files.reading import read_text

    places = (Path("experiments"), Path(__file__).resolve().parents[2] / "experiments")
    found = {path.resolve(): path for place in places for path in sorted((place / folder).rglob("*.toml"))}
    rows: dict[str, Row] = {}
    for path in found.values():
        lines = itertools.takewhile(lambda line: line.startswith("#"), read_text(path).splitlines())
        said = " ".join(line.lstrip("# ").strip() for line in lines)
        rows.setdefault(path.name, {"id": str(path), "description": said.partition(". ")[0].rstrip(".")})
    return list(rows.values())


def recipes(search: Iterable[str] = ()) -> list[Row]:
    """Return the recipes of sweeps that come with ngym or are in ``experiments/recipes``."""
    return rows_with_words(search, _written_plans("recipes"))


def papers(search: Iterable[str] = ()) -> list[Row]:
    """Return the papers whose claims are measured by ``ngym reproduce``, with our own verdicts."""
    from ngym_cli.papers import results

    return rows_with_words(search, results.rows())


def sweeps(root: Path = Path("sweeps"), search: Iterable[str] = ()) -> list[Row]:
    """Return the sweeps below a folder."""
    from ngym_cli.sweeps import folder

    return rows_with_words(search, [folder.describe(sweep) for sweep in folder.find_all(root)])
