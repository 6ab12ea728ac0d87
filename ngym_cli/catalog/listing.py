"""Listings of tasks, wrappers, algorithms, networks, tags and runs, as rows with an ``id``. No torch is imported."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngym_cli.agents.from_config import default_steps
from ngym_cli.agents.measured import LEARNERS, measured
from ngym_cli.catalog.descriptions import Row, papers, recipes, recorded_runs, rows_with_words, sweeps
from ngym_cli.config import from_dict, parts
from ngym_cli.errors import UserError, unknown

if TYPE_CHECKING:
    from gymnasium import Space

    from neurogym.metadata import WrapperInfo


def tasks(
    tag: str | None = None,
    search: Iterable[str] = (),
    paper: str | None = None,
    ceilings: bool = False,
    obs: str | None = None,
    action: str | None = None,
    learned_by: str | None = None,
) -> list[Row]:
    """Return the tasks, sorted by id.

    Args:
        tag: only those with this tag.
        search: only those where each of these words occurs in id, description, paper or tags.
        paper: only those whose paper contains this text in its title or link.
        ceilings: also report the ceiling of each task.
        obs: only those whose observation is of this kind, size, or has a channel of this name.
        action: likewise for actions.
        learned_by: only those that this learner learns, a key of ``measured.LEARNERS``.

    Returns:
        Rows of ``id``, ``group``, ``description``, ``tags``, ``paper``, ``link``, ``carries``, ``aliases``,
        ``observation``, ``action`` (``kind``, ``size``, ``names``), ``steps`` of a run by default, ``learned by`` (how
        many seeds of this learner) and, if requested, ``ceiling``.

    Raises:
        UserError: if there is no such tag or learner, or no task has such observations or actions.
    """
    from neurogym.compat.changes import ALIASES
    from neurogym.envs import registration

    learner = learned_by or "default"
    if learner not in LEARNERS:
        raise unknown("learner", learner, LEARNERS)
    rows = []
    for id_ in registration.every_task():
        result = measured(id_, learner)
        if learned_by and not (result and result.learned):
            continue
        meta, config = registration.metadata(id_), from_dict({"task": id_, **LEARNERS[learner]})
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
                "aliases": (aliases := sorted(alias for alias, (target, _) in ALIASES.items() if target == id_)),
                "also called": [alias.removesuffix("-v0") for alias in aliases],
                "observation": _space(env.observation_space),
                "action": _space(env.action_space),
                "steps": config.timesteps or default_steps(config, id_),
                "learned by": f"{result.share} seeds" if result else "not measured",
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


def _space(space: Space) -> Row:
    """Return the kind of an observation or action space, the number of values or choices, and the names."""
    from gymnasium.spaces import Discrete

    from neurogym.spaces import names_of

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


def _text(row: Row) -> str:
    words = [row["id"], row["description"], str(row["paper"]), *row["tags"], *row["aliases"]]
    return " ".join(words).lower()


def tags(search: Iterable[str] = ()) -> list[Row]:
    """Return the tags with the number of tasks that carry each."""
    counts = Counter(tag for row in tasks() for tag in row["tags"])
    return rows_with_words(search, [{"id": tag, "tasks": count} for tag, count in sorted(counts.items())])


def wrappers(search: Iterable[str] = ()) -> list[Row]:
    """Return the wrappers by command-line name.

    Args:
        search: only those where each of these words occurs.
    """
    from neurogym import wrappers as package

    rows = [wrapper(package.wrapper_class(name)) for name in package.all_wrappers()]
    return sorted(rows_with_words(search, rows), key=lambda row: row["id"])


def wrapper(cls: Any) -> Row:
    """Return the description of a wrapper class; environments that combine several tasks are listed as wrappers."""
    from neurogym.core import TrialWrapper
    from neurogym.wrappers import key_of

    known = isinstance(cls.metadata, Mapping)  # metadata are optional for a user's own wrapper
    meta: WrapperInfo = cls.metadata if known else {}
    acts = issubclass(cls, TrialWrapper)
    return {
        "id": key_of(cls.__name__),
        "class": cls.__name__,
        "description": meta.get("description", ""),
        "paper": meta.get("paper_name"),
        "link": meta.get("paper_link"),
        "carries": acts and cls.links_trials(),
        "order": meta.get("order", ""),
        "changes": _changes(cls),
        "decides": list(cls.decides) if acts else [],
    }


def _changes(cls: type) -> list[str]:
    """Return the parts of a session that a wrapper changes, according to the overridden hooks."""
    from neurogym.core import TrialEnv, TrialWrapper

    if not issubclass(cls, TrialWrapper):
        return ["tasks"] if issubclass(cls, TrialEnv) else []
    found = {
        "trials": ("plan", "new_trial"),
        "their content": ("revise",),
        "observation": ("observe", "appended"),
        "steps": ("step",),
    }
    return [what for what, hooks in found.items() if cls.overrides(*hooks)]


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
    return rows_with_words(search, rows)


def named(listing: str, search: Iterable[str] = ()) -> list[Row]:
    """Return the rows of a listing of ``reference.LISTED``: the first fields of each page.

    Args:
        listing: a key of ``reference.LISTED``.
        search: only those where each of these words occurs.
    """
    from ngym_cli.catalog import reference

    kind, fields = reference.LISTED[listing]
    names, describe = reference.KINDS[kind]
    pages = [describe(name) for name in names()]
    return rows_with_words(
        search, [{field: "" if page[field] is None else page[field] for field in fields} for page in pages]
    )


LISTINGS: dict[str, Callable[..., list[Row]]] = {
    "tasks": tasks,
    "wrappers": wrappers,
    "algs": functools.partial(named, "algs"),
    "networks": functools.partial(named, "networks"),
    "models": functools.partial(named, "models"),
    "figures": functools.partial(named, "figures"),
    "analyses": functools.partial(named, "analyses"),
    "launchers": functools.partial(named, "launchers"),
    "recipes": recipes,
    "papers": papers,
    "tags": tags,
    "runs": recorded_runs,
    "sweeps": sweeps,
    "differences": differences,
}

#: Words that mean a listing.
MEANT = {"algorithms": "algs", "algorithm": "algs", "nets": "networks", "plots": "figures", "experiments": "runs"}

#: Filters of each listing, in addition to words: options of ``ngym list``.
FILTERS: dict[str, tuple[str, ...]] = {
    "tasks": ("tag", "paper", "obs", "action", "ceilings", "learned_by"),
    "runs": ("tag", "task", "alg", "status", "sort"),
}


def listing(what: str) -> Callable[..., list[Row]]:
    """Return the function that makes the rows of a listing.

    Raises:
        UserError: if there is no such listing.
    """
    if what not in LISTINGS:
        raise unknown("listing", what, LISTINGS)
    return LISTINGS[what]


def rows(what: str, search: Iterable[str], filters: Mapping[str, object], root: Path) -> tuple[str, list[Row]]:
    """Return the name of a listing and the rows.

    Args:
        what: a listing; any other word is one to look for in the listing of tasks.
        search: words that must occur.
        filters: options by name; None or False where not given.
        root: folder of the runs, for the listing of runs.

    Raises:
        UserError: if there is no such listing, or it has no such filter.
    """
    what = MEANT.get(what, what)
    make = listing(what)
    given = {name: value for name, value in filters.items() if value}
    for name in given:
        if name not in FILTERS.get(what, ()):
            fitting = " and ".join(f"'ngym list {other}'" for other, names in FILTERS.items() if name in names)
            raise UserError(f"--{name.replace('_', '-')} works with {fitting} only")
    if what == "runs":
        return what, make(root, search=search, **given)
    found = make(search=search, **given)
    return what, found if given else [*found, *_offered(what, search, found)]


def _offered(what: str, search: Iterable[str], like: list[Row]) -> list[Row]:
    """Return the parts that installed packages offer through entry points; none of the packages is imported.

    Args:
        what: a listing.
        search: words that must occur.
        like: rows of built-in parts, which have the same keys.
    """
    kind = {"algs": "algorithm"}.get(what, what.removesuffix("s"))
    if kind not in parts.KINDS:
        return []
    blank: Row = {key: [] if isinstance(value, list) else None for key, value in (like[0] if like else {}).items()}
    rows = [
        {**blank, "id": name, "description": f"of package {parts.package_of(entry)} ({entry.value})"}
        for name, entry in parts.offered(kind).items()
    ]
    return rows_with_words(search, rows)
