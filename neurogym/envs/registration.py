"""Registry of tasks: ids, old names, tags, and making of environments.

The tables of ids are next to the tasks (``native/__init__.py`` and its siblings), so that everything can be listed
without importing a single task.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import warnings
from typing import Any

import gymnasium as gym

from neurogym.compat.changes import ALIASES
from neurogym.envs import collections, contrib, image, native
from neurogym.messages.names import closest, unknown
from neurogym.metadata import TaskInfo
from neurogym.wrappers.base import OrderEnforcing

logger = logging.getLogger(__name__)

_VECTOR_OF = "make_vec of "
_OLD = "old id "
_TASKS_BY_GROUP = {"native": native.TASKS, "contrib": contrib.TASKS, "image": image.TASKS}


def _table() -> dict[str, tuple[str, str]]:
    """Id to (group, entry point) of every task of the package."""
    table = {}
    for group, tasks in _TASKS_BY_GROUP.items():
        for name, module in tasks.items():
            table[f"{name}-v0"] = (group, f"{module}:{name}")
    for collection, names in collections.COLLECTIONS.items():
        for name in names:
            table[f"{collection}.{name}-v0"] = ("collections", f"neurogym.envs.collections.{collection}:{name}")
    return table


_ENTRY_POINTS = _table()


def register_all() -> None:
    """Register every task and old name with Gymnasium; called once by ``import neurogym``."""
    for id_, (_, entry_point) in _ENTRY_POINTS.items():
        register(id_, entry_point=entry_point)
    for alias, (target, kwargs) in ALIASES.items():
        if target in _ENTRY_POINTS:
            second = not alias.endswith("-v0")
            register(
                alias, entry_point=f"{__name__}:{_OLD}{alias}" if second else _ENTRY_POINTS[target][1], kwargs=kwargs
            )
            if second:  # or Gymnasium would call the first version out of date
                gym.registry[alias] = dataclasses.replace(gym.registry[alias], id=target)


def register(id_: str, **kwargs: Any) -> None:
    """Register a task with Gymnasium unless the id is already registered.

    Args:
        id_: Name and version, such as ``"MyTask-v0"``.
        **kwargs: Passed to :func:`gymnasium.register` (``entry_point``, ``kwargs``, ...).
    """
    if id_ in gym.registry:
        return
    kwargs.setdefault("vector_entry_point", f"{__name__}:{_VECTOR_OF}{id_}")  # words can be written as JSON
    gym.register(id_, disable_env_checker=True, order_enforce=False, **kwargs)


def __getattr__(name: str) -> Any:
    """Maker of batches for the id after ``make_vec of``, or of the task of an old id that looks like a new version."""
    if name.startswith(_OLD):
        return functools.partial(_make_old, name.removeprefix(_OLD))
    if name.startswith(_VECTOR_OF):
        return functools.partial(make_vec, name.removeprefix(_VECTOR_OF))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _make_old(alias: str, **kwargs: Any) -> gym.Env:
    """Make the task of an old id such as ``RDM-v1``, with a warning."""
    _warn_of_old(alias)
    env: gym.Env = entry(alias)(**kwargs)
    return env


def _warn_of_old(alias: str) -> None:
    """Warn that an old id is not a newer version of its task."""
    first = f"{alias.rpartition('-v')[0]}-v0"
    target, kwargs = ALIASES[alias]
    changes = ", ".join(f"{name}={value!r}" for name, value in kwargs.items())
    text = f"{alias} is not a newer version of {first} but an id of 2019: {target} with {changes}; use {first}"
    warnings.warn(text, UserWarning, stacklevel=2)


def make(id_: str, **kwargs: Any) -> gym.Env:
    """Make a task.

    Args:
        id_: Id or old name; without a version this package's first (``RDM`` is ``RDM-v0``), of others the latest.
        **kwargs: Passed to the task (``dt``, ``timing``, ``rewards``, its own parameters).

    Raises:
        gymnasium.error.NameNotFound: If there is no such task; the message names the closest ids.
    """
    if ":" not in id_:
        id_ = registered_id(id_)
        if id_ in ALIASES:
            if not id_.endswith("-v0"):
                _warn_of_old(id_)
            target, defaults = ALIASES[id_]
            id_, kwargs = target, {**defaults, **kwargs}
    return OrderEnforcing(gym.make(id_, **kwargs))


def make_vec(id_: str, num_envs: int = 1, **kwargs: object) -> gym.vector.VectorEnv:
    """Make a batch of environments of one task, stepped together; see :mod:`neurogym.vector`."""
    from neurogym import vector

    return vector.make_vec(functools.partial(make, registered_id(id_), **kwargs), num_envs)


def registered_id(id_: str) -> str:
    """Complete an id to the registered form: the latest version by default.

    Raises:
        gymnasium.error.NameNotFound: If there is no such task.
    """
    if id_ in gym.registry:
        return id_
    versioned = [id_in_use for id_in_use in gym.registry if id_in_use.rpartition("-v")[0] == id_]
    if versioned:
        first = f"{id_}-v0"  # names of this package mean their first version, as in every example
        if first in _ENTRY_POINTS or first in ALIASES:
            return first
        return max(versioned, key=lambda id_in_use: int(id_in_use.rpartition("-v")[2]))
    close = closest(id_, [*ALIASES, *_ENTRY_POINTS], n=5, cutoff=0.4)
    hint = f"; the closest are {', '.join(close)}" if close else ""
    raise gym.error.NameNotFound(f"unknown task {id_!r}{hint}")


def resolve(id_: str) -> str:
    """Present id of a task, from an old name or a name without version.

    Raises:
        gymnasium.error.NameNotFound: If there is no such task.
    """
    registered = registered_id(id_)
    return ALIASES[registered][0] if registered in ALIASES else registered


def entry(id_: str) -> Any:
    """Class of a task, or the function that makes the task (collections). Both have ``metadata``."""
    id_ = resolve(id_)
    spec = gym.registry[id_]
    if callable(spec.entry_point):
        return spec.entry_point
    return gym.envs.registration.load_env_creator(str(spec.entry_point))


def metadata(id_: str) -> TaskInfo:
    """Metadata of a task: ``paper_name``, ``paper_link``, ``tags``, ``description``, ..."""
    return TaskInfo.of(getattr(entry(id_), "metadata", {}))


def group(id_: str) -> str:
    """``"native"``, ``"contrib"``, ``"image"`` or ``"collections"``; ``"user"`` for tasks registered from outside."""
    return _ENTRY_POINTS.get(resolve(id_), ("user", ""))[0]


def all_envs(
    tag: str | None = None, psychopy: bool = False, contrib: bool = False, collections: bool = False
) -> list[str]:
    """Sorted ids of the native tasks, and of other groups on request.

    Args:
        tag: Only tasks that have this tag.
        psychopy: Also the image tasks.
        contrib: Also the contributed tasks.
        collections: Also the tasks of the collections.

    Raises:
        TypeError: If ``tag`` is not a string.
    """
    if tag is not None and not isinstance(tag, str):
        raise TypeError(f"tag must be a string, not {type(tag).__name__}")
    wanted = {"native"}
    wanted |= {name for name, on in (("image", psychopy), ("contrib", contrib), ("collections", collections)) if on}
    ids = [id_ for id_ in every_task() if _ENTRY_POINTS[id_][0] in wanted]
    if tag is not None:
        ids = [id_ for id_ in ids if tag in metadata(id_).get("tags", [])]
        if not ids:
            logger.warning("no task has the tag %r", tag)
    return ids


def every_task() -> list[str]:
    """Sorted ids of all tasks of all groups, without the many compositions of tasks (collection ``modcog``)."""
    return sorted(id_ for id_ in _ENTRY_POINTS if id_.partition(".")[0] not in collections.COMPOSED)


def all_tags() -> list[str]:
    """Sorted tags of the native and the contributed tasks."""
    return sorted({tag for id_ in all_envs(contrib=True) for tag in metadata(id_).get("tags", [])})


def get_collection(collection: str) -> list[str]:
    """Ids of a collection's tasks, in published order; an empty list for an empty name.

    Raises:
        ValueError: If there is no such collection.
    """
    if not collection:
        return []
    names = collections.COLLECTIONS
    if collection not in names:
        raise ValueError(unknown("collection", collection, names))
    return [f"{collection}.{name}-v0" for name in names[collection]]
