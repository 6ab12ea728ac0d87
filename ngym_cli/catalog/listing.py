"""Listings of tasks, wrappers, algorithms, networks, tags and runs, as rows with an ``id``. No torch is imported."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neurogym.compat.changes import ALIASES
from neurogym.envs import registration
from neurogym.spaces import names_of
from ngym_cli.agents.algorithms import find_algorithm
from ngym_cli.agents.per_task import LEARNERS, LineResult, line, measured, usual_steps
from ngym_cli.config.extensions import EXTENSION_KINDS, offered, package_of
from ngym_cli.config.tasks import find_task, usual_algorithm
from ngym_cli.errors import UserError, check_known, option, unknown
from ngym_cli.files.reading import read_text
from ngym_cli.terminal import Row

if TYPE_CHECKING:
    from gymnasium import Space


def tasks(
    tag: str | None = None,
    paper: str | None = None,
    ceilings: bool = False,
    obs: str | None = None,
    action: str | None = None,
    learned_by: str | None = None,
    spaces: bool = True,
) -> list[Row]:
    """Return the tasks, sorted by id.

    Args:
        tag: only those with this tag.
        paper: only those whose paper contains this text in its title or link.
        ceilings: also report the ceiling of each task.
        obs: only those whose observation is of this kind, size, or has a channel of this name.
        action: likewise for actions.
        learned_by: only those that this learner learns, a key of ``ngym_cli.agents.per_task.LEARNERS``.
        spaces: report observations and actions, for which every task is made.

    Returns:
        Rows of ``id``, ``group``, ``description``, ``tags``, ``paper``, ``link``, ``history_dependent``, ``aliases``,
        ``observation``, ``action`` (``kind``, ``size``, ``names``), ``steps`` of a run by default, ``learned by`` (how
        many seeds of this learner), with a learner ``line`` (the command) and, if requested, ``ceiling``.

    Raises:
        UserError: if there is no such tag or learner, or no task has such observations or actions.
    """
    learner = learned_by or "default"
    check_known("learner", learner, LEARNERS)
    rows = []
    for id_ in registration.every_task():
        alg = LEARNERS[learner].get("alg")
        result = measured(id_, "default" if alg == usual_algorithm(id_) else learner)
        if learned_by and not (result and result.learned):
            continue
        meta, algorithm = registration.metadata(id_), find_algorithm(str(alg or usual_algorithm(id_)))
        env: Any = registration.make(id_) if spaces or obs or action or ceilings else None
        rows.append(
            {
                "id": id_,
                "group": registration.group(id_),
                "description": meta.get("description", ""),
                "tags": list(meta.get("tags", [])),
                "paper": meta.get("paper_name"),
                "link": meta.get("paper_link"),
                "history_dependent": bool(meta.get("history_dependent", False)),
                "aliases": (aliases := sorted(alias for alias, (target, _) in ALIASES.items() if target == id_)),
                "also called": [alias.removesuffix("-v0") for alias in aliases],
                **({} if env is None else {"observation": _space(env.observation_space)}),
                **({} if env is None else {"action": _space(env.action_space)}),
                "steps": usual_steps(id_, algorithm),
                "learned by": _learned_by(result),
                **({"line": line(learner, id_)} if learned_by else {}),
                **({"ceiling": env.unwrapped.ceiling()} if ceilings else {}),
            }
        )
    if tag is not None:
        valid_names = {name for row in rows for name in row["tags"]}
        check_known("tag", tag, valid_names)
        rows = [row for row in rows if tag in row["tags"]]
    if paper:
        rows = [row for row in rows if paper.lower() in f"{row['paper']} {row['link']}".lower()]
    for kind, wanted in (("observation", obs), ("action", action)):
        if wanted:
            valid_names = {word for row in rows for word in _words(row[kind])}
            if wanted.lower() not in valid_names:
                raise unknown(kind, wanted, valid_names)
            rows = [row for row in rows if wanted.lower() in _words(row[kind])]
    return rows


def _learned_by(result: LineResult | None) -> str:
    return "not measured" if result is None else f"{result.share} seeds"


def _space(space: Space[Any]) -> Row:
    """Return the kind of an observation or action space, the number of values or choices, and the names."""
    from gymnasium.spaces import Discrete

    names = list(names_of(space))
    if isinstance(space, Discrete):
        return {"kind": "discrete", "size": int(space.n), "names": names}
    shape = space.shape or ()
    image = len(shape) == 3
    kind = "image" if image else "vector"
    return {"kind": kind, "size": list(shape) if image else int(shape[0]), "names": names}


def _words(space: Row) -> set[str]:
    """Return the search words of an observation or action space."""
    size = "x".join(map(str, space["size"])) if isinstance(space["size"], list) else str(space["size"])
    also = {"vector": {"continuous"}}.get(space["kind"], set())
    return {space["kind"], size, *also, *(name.lower() for name in space["names"])}


def _searched(kind: str, row: Row) -> str:
    """Return the text of a row in which words are looked for: all of it, or in tasks what describes the task."""
    if kind == "tasks":
        row = {name: row[name] for name in ("id", "description", "paper", "tags", "aliases")}
    return " ".join(map(str, row.values())).lower()


def tag_counts() -> Counter[str]:
    """Return the number of tasks that carry each tag."""
    return Counter(tag for id_ in registration.every_task() for tag in registration.metadata(id_).get("tags", ()))


def tags() -> list[Row]:
    """Return the tags with the number of tasks that carry each."""
    return [{"id": tag, "tasks": count} for tag, count in sorted(tag_counts().items())]


def differences() -> list[Row]:
    """Return where and why tasks differ from NeuroGym's: ``id``, ``task`` and ``difference``."""
    from neurogym.info import differences as known

    rows: list[Row] = []
    for task, text in known():
        number = sum(row["task"] == task for row in rows) + 1
        rows.append({"id": f"{task}/{number}", "task": task, "difference": text})
    return rows


def named(kind: str, fields: tuple[str, ...] = ()) -> list[Row]:
    """Return a row for each name of a kind: the first fields of its page.

    Args:
        kind: a key of ``reference.REFERENCE_ENTRIES``.
        fields: fields of the page besides ``id`` and ``description``.
    """
    from ngym_cli.catalog import reference  # imports all that it describes

    names, describe = reference.REFERENCE_ENTRIES[kind]
    installed = offered(kind) if kind in EXTENSION_KINDS else ()
    pages = [describe(name) for name in names() if name not in installed]
    return [{name: page[name] for name in ("id", "description", *fields)} for page in pages]


def recorded_runs(
    root: Path,
    tag: str | None = None,
    task: str | None = None,
    alg: str | None = None,
    status: str | None = None,
    sort: str | None = None,
) -> list[Row]:
    """Return the runs below a folder, oldest first.

    Args:
        root: the folder.
        tag: only those with this tag (``ngym runs tag``).
        task: only those of this task, by its id or an old name.
        alg: only those of this algorithm.
        status: only those in this state.
        sort: column to sort by, a dash before it for the largest first.

    Raises:
        UserError: if there is no such column or state.
    """
    from ngym_cli import runs  # a list of tasks reads no run

    rows = [runs.describe(run) for run in runs.find_all(root, fits=True)]
    if status is not None and status not in (*runs.RUN_STATES, "damaged"):
        raise unknown("status", status, (*runs.RUN_STATES, "damaged"))
    if tag is not None:
        rows = [row for row in rows if tag in row.get("tags", ())]
    if task is not None:
        rows = [row for row in rows if _same_task(task, row)]
    rows = [row for row in rows if alg in (None, row.get("alg")) and status in (None, row["status"])]
    return rows if sort is None else _sorted(rows, sort)


def _same_task(name: str, row: Row) -> bool:

    try:
        return name == row.get("task") or find_task(name).id in (row.get("task"), row.get("task_id"))
    except UserError:
        return name.lower() in str(row.get("task")).lower()


def _sorted(rows: list[Row], column: str) -> list[Row]:
    """Return rows sorted by a column, rows without a value last."""
    from ngym_cli.runs.folder import LISTING_COLUMNS

    name = column.removeprefix("-")
    check_known("column", name, LISTING_COLUMNS)
    having = [row for row in rows if row.get(name) is not None]
    having.sort(key=lambda row: row[name], reverse=column.startswith("-"))
    return having + [row for row in rows if row.get(name) is None]


def recipes() -> list[Row]:
    """Return the recipes of sweeps in ``experiments/recipes``, here or in ngym's checkout, with the first comment."""
    places = (Path("experiments"), Path(__file__).resolve().parents[2] / "experiments")
    files = {path.resolve(): path for folder in places for path in sorted((folder / "recipes").rglob("*.toml"))}
    rows: dict[str, Row] = {}
    for path in files.values():
        lines = itertools.takewhile(lambda line: line.startswith("#"), read_text(path).splitlines())
        summary = " ".join(line.lstrip("# ").strip() for line in lines)
        rows.setdefault(path.name, {"id": str(path), "description": summary.partition(". ")[0].rstrip(".")})
    return list(rows.values())


def papers() -> list[Row]:
    """Return the papers whose claims are measured by ``ngym reproduce``, with our own verdicts."""
    from ngym_cli.papers import results

    return results.rows()


def data_sets() -> list[Row]:
    """Return public tables of behaviour that ``ngym data NAME`` reads."""
    from ngym_cli.fitting import data_sets as public

    return public.rows()


def sweeps() -> list[Row]:
    """Return the sweeps below the folder ``sweeps``."""
    from ngym_cli.runs import finding
    from ngym_cli.sweeps import folder

    return [folder.describe(path) for path in finding.find_all("sweep", folder.SWEEPS_ROOT)]


class Listing(NamedTuple):
    """Listing of ``ngym list``.

    Attributes:
        rows: makes the rows, of the filters.
        columns: columns in the terminal; ``--json`` has them all.
        filters: options of ``ngym list`` that apply, in addition to words.
    """

    rows: Callable[..., list[Row]]
    columns: tuple[str, ...] = ("id", "description")
    filters: tuple[str, ...] = ()


def _of(kind: str, *fields: str) -> Callable[..., list[Row]]:
    return functools.partial(named, kind, fields)


LISTINGS = {
    "tasks": Listing(
        tasks,
        ("id", "also called", "description", "tags", "steps", "learned by"),
        ("tag", "paper", "obs", "action", "ceilings", "learned_by"),
    ),
    "wrappers": Listing(
        _of("wrapper", "class", "paper", "link", "history_dependent", "order", "changes", "decides"),
        ("id", "description", "changes", "order"),
    ),
    "algs": Listing(
        _of("algorithm", "paper", "recurrent", "actions", "networks", "defaults"),
        ("id", "description", "actions", "networks"),
    ),
    "networks": Listing(_of("network", "paper", "recurrent", "defaults"), ("id", "description", "defaults")),
    "models": Listing(_of("model", "arguments", "paper"), ("id", "description", "arguments", "paper")),
    "figures": Listing(_of("figure", "drawn for", "columns", "record"), ("id", "description", "drawn for")),
    "analyses": Listing(_of("analysis")),
    "launchers": Listing(_of("launcher")),
    "terms": Listing(_of("term")),
    "recipes": Listing(recipes),
    "papers": Listing(papers, ("id", "title", "paper", "link")),
    "data": Listing(data_sets, ("id", "description", "species", "size", "licence", "where", "link")),
    "tags": Listing(tags, ("id", "tasks")),
    "runs": Listing(
        recorded_runs,
        ("id", "status", "steps", "performance", "tags", "started"),
        ("tag", "task", "alg", "status", "sort"),
    ),
    "sweeps": Listing(sweeps, ("id", "status", "runs", "performance")),
    "differences": Listing(differences, ("task", "difference")),
}

#: Words that mean a listing.
LISTING_SYNONYMS = {
    "algorithms": "algs",
    "algorithm": "algs",
    "nets": "networks",
    "plots": "figures",
    "experiments": "runs",
    "datasets": "data",
    "tables": "data",
}


def plural(kind: str) -> str:
    """Return the plural of a kind, which is the name of its listing and of its folder in the site."""
    return {"analysis": "analyses"}.get(kind, f"{kind}s")


def singular(kind: str) -> str:
    """Return the word for a row of a listing; for parts a key of ``ngym_cli.config.extensions.EXTENSION_KINDS``."""
    return {"algs": "algorithm", "analyses": "analysis"}.get(kind, kind.removesuffix("s"))


def rows(
    kind: str, search: Iterable[str], filters: Mapping[str, object], root: Path, brief: bool = False
) -> tuple[str, list[Row]]:
    """Return the name of a listing and the rows.

    Args:
        kind: a listing; any other word is one to look for in the listing of tasks.
        search: words that must occur.
        filters: options by name; None or False where not given.
        root: folder of the runs, for the listing of runs.
        brief: leave out what is not printed and takes time.

    Raises:
        UserError: if there is no such listing, or it has no such filter.
    """
    kind = LISTING_SYNONYMS.get(kind, kind)
    check_known("listing", kind, LISTINGS)
    chosen_filters = {name: value for name, value in filters.items() if value}
    for name in chosen_filters:
        if name not in LISTINGS[kind].filters:
            fitting = " and ".join(
                f"'ngym list {listing}'" for listing, each in LISTINGS.items() if name in each.filters
            )
            raise UserError(f"{option('--' + name.replace('_', '-'))} works with {fitting} only")
    if brief and kind == "tasks":
        chosen_filters["spaces"] = False
    matching = LISTINGS[kind].rows(*([root] if kind == "runs" else []), **chosen_filters)
    if not chosen_filters.keys() & {*LISTINGS[kind].filters}:
        matching = [*matching, *_offered(kind, matching)]
    return kind, [row for row in matching if all(word.lower() in _searched(kind, row) for word in search)]


def _offered(listing: str, like: list[Row]) -> list[Row]:
    """Return the parts that installed packages offer through entry points; none of the packages is imported.

    Args:
        listing: a listing.
        like: rows of built-in parts, which have the same keys.
    """
    kind = singular(listing)
    if kind not in EXTENSION_KINDS:
        return []
    blank: Row = {key: [] if isinstance(value, list) else None for key, value in (like[0] if like else {}).items()}
    return [
        {**blank, "id": name, "description": f"of package {package_of(entry)} ({entry.value})"}
        for name, entry in offered(kind).items()
    ]
