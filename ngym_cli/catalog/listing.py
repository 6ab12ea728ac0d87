"""What there is: tasks, wrappers, algorithms, networks, tags and runs, as rows with an ``id``. No torch is imported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ngym_cli.errors import UserError, unknown

if TYPE_CHECKING:
    from neurogym.metadata import WrapperInfo

Row = dict[str, Any]


def tasks(
    tag: str | None = None,
    search: Iterable[str] = (),
    paper: str | None = None,
    ceilings: bool = False,
    obs: str | None = None,
    action: str | None = None,
) -> list[Row]:
    """Return the tasks, sorted by id.

    Args:
        tag: only those with this tag.
        search: only those where each of these words occurs in id, description, paper or tags.
        paper: only those whose paper contains this text in its title or link.
        ceilings: also report the ceiling of each task.
        obs: only those whose observation is of this kind, size, or has a channel of this name.
        action: likewise for actions.

    Returns:
        Rows of ``id``, ``group``, ``description``, ``tags``, ``paper``, ``link``, ``carries``, ``aliases``,
        ``observation``, ``action`` (``kind``, ``size``, ``names``) and, if asked for, ``ceiling``.

    Raises:
        UserError: if there is no such tag, or no task has such observations or actions.
    """
    from neurogym.envs import registration
    from neurogym.envs.aliases import ALIASES

    rows = []
    for id_ in registration.every_task():
        meta = registration.metadata(id_)
        env: Any = registration.make(id_)
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
                "observation": _space(env.observation_space),
                "action": _space(env.action_space),
                **({"ceiling": env.unwrapped.ceiling()} if ceilings else {}),
            }
        )
    if tag is not None:
        known = {name for row in rows for name in row["tags"]}
        if tag not in known:
            raise unknown("tag", tag, known)
        rows = [row for row in rows if tag in row["tags"]]
    if paper:
        rows = [row for row in rows if paper.lower() in f"{row['paper']} {row['link']}".lower()]
    for kind, wanted in (("observation", obs), ("action", action)):
        if wanted:
            known = {word for row in rows for word in _words(row[kind])}
            if wanted.lower() not in known:
                raise unknown(kind, wanted, known)
            rows = [row for row in rows if wanted.lower() in _words(row[kind])]
    for word in search:
        rows = [row for row in rows if word.lower() in _text(row)]
    return rows


def _space(space: Any) -> Row:
    """Return what kind of observation or action a task has, how many numbers or choices, and their names."""
    names = list(getattr(space, "name", None) or {})
    if hasattr(space, "n"):
        return {"kind": "discrete", "size": int(space.n), "names": names}
    image = len(space.shape) == 3
    kind = "image" if image else "vector"
    return {"kind": kind, "size": list(space.shape) if image else int(space.shape[0]), "names": names}


def _words(space: Row) -> set[str]:
    """Return the words by which an observation or action can be asked for."""
    size = "x".join(map(str, space["size"])) if isinstance(space["size"], list) else str(space["size"])
    also = {"vector": {"continuous"}}.get(space["kind"], set())
    return {space["kind"], size, *also, *(name.lower() for name in space["names"])}


def _text(row: Row) -> str:
    words = [row["id"], row["description"], str(row["paper"]), *row["tags"], *row["aliases"]]
    return " ".join(words).lower()


def tags() -> list[Row]:
    """Return the tags with the number of tasks that carry each."""
    counts = Counter(tag for row in tasks() for tag in row["tags"])
    return [{"id": tag, "tasks": count} for tag, count in sorted(counts.items())]


def wrappers(search: Iterable[str] = ()) -> list[Row]:
    """Return the wrappers by their names on the command line.

    Args:
        search: only those where each of these words occurs.
    """
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
                "changes": changes(cls),
                "decides": list(getattr(cls, "decides", ())),
            }
        )
    rows = [row for row in rows if all(word.lower() in " ".join(map(str, row.values())).lower() for word in search)]
    return sorted(rows, key=lambda row: row["id"])


def changes(cls: type) -> list[str]:
    """Return which parts of a session a wrapper acts on, as its hooks tell."""
    from neurogym.core import TrialEnv, TrialWrapper

    if issubclass(cls, TrialEnv):
        return ["tasks"]
    found = {
        "trials": ("plan", "new_trial"),
        "their content": ("revise",),
        "observation": ("observe",),
        "steps": ("step",),
    }
    return [
        what
        for what, hooks in found.items()
        if any(getattr(cls, hook, None) is not getattr(TrialWrapper, hook) for hook in hooks)
    ]


def metadata_of(cls: type) -> WrapperInfo:
    """Return what a wrapper says about itself; nothing where it inherits Gymnasium's property."""
    found = getattr(cls, "metadata", None)
    return cast("WrapperInfo", dict(found) if isinstance(found, dict) else {})


def algorithms() -> list[Row]:
    """Return the learning algorithms."""
    from ngym_cli.agents.algorithms import ALGORITHMS

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
    from ngym_cli.agents.networks import NETWORKS

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


def differences(search: Iterable[str] = ()) -> list[Row]:
    """Return where and why tasks differ from NeuroGym's: ``id``, ``task`` and ``difference``.

    Args:
        search: only those where each of these words occurs.
    """
    from neurogym.envs.differences import differences as known

    rows: list[Row] = []
    for task, what in known():
        number = sum(row["task"] == task for row in rows) + 1
        rows.append({"id": f"{task}/{number}", "task": task, "difference": what})
    return [row for row in rows if all(word.lower() in f"{row['task']} {row['difference']}".lower() for word in search)]


LISTINGS: dict[str, Callable[..., list[Row]]] = {
    "tasks": tasks,
    "wrappers": wrappers,
    "algs": algorithms,
    "networks": networks,
    "tags": tags,
    "runs": recorded_runs,
    "differences": differences,
}

#: Listings beside that of tasks that can be searched by word.
SEARCHED = ("wrappers", "differences")


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
        if value and what != "tasks" and not (name == "search" and what in SEARCHED):
            raise UserError(f"--{name} works with 'ngym list tasks' only")
