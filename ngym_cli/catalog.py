"""What there is: tasks, wrappers, algorithms, networks, tags and runs, as rows with an ``id``. No torch is imported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ngym_cli.errors import UserError, unknown

Row = dict[str, Any]


def tasks(
    tag: str | None = None, search: Iterable[str] = (), paper: str | None = None, ceilings: bool = False
) -> list[Row]:
    """Return the tasks, sorted by id.

    Args:
        tag: only those with this tag.
        search: only those where each of these words occurs in id, description, paper or tags.
        paper: only those whose paper contains this text.
        ceilings: also build each task and report its ceiling.

    Returns:
        Rows of ``id``, ``group``, ``description``, ``tags``, ``paper``, ``link``, ``carries``, ``aliases`` and, if
        asked for, ``ceiling``.

    Raises:
        UserError: if there is no such tag.
    """
    from neurogym.envs import registration
    from neurogym.envs.aliases import ALIASES

    rows = []
    for id_ in registration.every_task():
        meta = registration.metadata(id_)
        rows.append(
            {
                "id": id_,
                "group": registration.group(id_),
                "description": meta.get("description", ""),
                "tags": list(meta.get("tags", [])),
                "paper": meta.get("paper_name"),
                "link": meta.get("paper_link"),
                "carries": bool(meta.get("carries", False)),
                "aliases": sorted(alias for alias, (target, _) in ALIASES.items() if target == id_),
            }
        )
    if tag is not None:
        known = {name for row in rows for name in row["tags"]}
        if tag not in known:
            raise unknown("tag", tag, known)
        rows = [row for row in rows if tag in row["tags"]]
    if paper:
        rows = [row for row in rows if paper.lower() in str(row["paper"]).lower()]
    for word in search:
        rows = [row for row in rows if word.lower() in _text(row)]
    if ceilings:
        for row in rows:
            task: Any = registration.make(row["id"]).unwrapped
            row["ceiling"] = task.ceiling()
    return rows


def _text(row: Row) -> str:
    words = [row["id"], row["description"], str(row["paper"]), *row["tags"], *row["aliases"]]
    return " ".join(words).lower()


def tags() -> list[Row]:
    """Return the tags with the number of tasks that carry each."""
    counts = Counter(tag for row in tasks() for tag in row["tags"])
    return [{"id": tag, "tasks": count} for tag, count in sorted(counts.items())]


def wrappers() -> list[Row]:
    """Return the wrappers by their names on the command line."""
    from neurogym import wrappers as package

    rows = []
    for name in package.all_wrappers():
        cls = package.wrapper_class(name)
        meta = metadata_of(cls)
        rows.append(
            {
                "id": package.key_of(name),
                "class": name,
                "description": meta.get("description", ""),
                "paper": meta.get("paper_name"),
                "link": meta.get("paper_link"),
                "carries": bool(getattr(cls, "carries", False)),
                "order": meta.get("order", ""),
            }
        )
    return sorted(rows, key=lambda row: row["id"])


def metadata_of(cls: type) -> dict[str, Any]:
    """Return what a wrapper says about itself; nothing where it inherits Gymnasium's property."""
    found = getattr(cls, "metadata", None)
    return dict(found) if isinstance(found, dict) else {}


def algorithms() -> list[Row]:
    """Return the learning algorithms."""
    from ngym_cli.algorithms import ALGORITHMS

    return [
        {
            "id": spec.name,
            "description": spec.summary,
            "paper": spec.paper,
            "recurrent": spec.recurrent,
            "actions": sorted(spec.actions),
            "networks": list(spec.networks),
            "defaults": dict(spec.defaults),
        }
        for spec in ALGORITHMS.values()
    ]


def networks() -> list[Row]:
    """Return the networks."""
    from ngym_cli.networks import NETWORKS

    return [
        {
            "id": spec.name,
            "description": spec.summary,
            "paper": spec.paper,
            "recurrent": spec.recurrent,
            "defaults": dict(spec.defaults),
        }
        for spec in NETWORKS.values()
    ]


def recorded_runs(root: Path) -> list[Row]:
    """Return the runs below a folder, oldest first."""
    from ngym_cli import runs

    return [runs.describe(run) for run in runs.find_all(root)]


LISTINGS: dict[str, Callable[..., list[Row]]] = {
    "tasks": tasks,
    "wrappers": wrappers,
    "algs": algorithms,
    "networks": networks,
    "tags": tags,
    "runs": recorded_runs,
}


def listing(what: str) -> Callable[..., list[Row]]:
    """Return what makes the rows of a listing.

    Raises:
        UserError: if there is no such listing.
    """
    if what not in LISTINGS:
        raise unknown("listing", what, LISTINGS)
    return LISTINGS[what]


def refuse_filters(what: str, **filters: Any) -> None:
    """Refuse filters on listings that have none.

    Raises:
        UserError: names the filter.
    """
    for name, value in filters.items():
        if value and what != "tasks":
            raise UserError(f"--{name} works with 'ngym list tasks' only")
