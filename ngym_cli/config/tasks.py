"""Tasks and wrappers by name: an id, an old name, several tasks together, a user's own class; recommended settings."""

from __future__ import annotations

import contextlib
import functools
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ngym_cli.config import extensions
from ngym_cli.errors import UserError, unknown


@dataclass(frozen=True)
class Task:
    """Task with the name chosen by the user.

    Attributes:
        name: as given.
        id: registered id of the task; for a user's own task the name.
        entry: the class, or the function that makes the task.
        own: whether the task is the user's own, from a file, a module or another package.
        several: whether the name stands for several tasks in one session, with trials of all of them.
    """

    name: str
    id: str
    entry: Callable[..., Any]
    own: bool
    several: bool = False

    @property
    def metadata(self) -> dict[str, Any]:
        """Metadata of the task's class."""
        return dict(getattr(self.entry, "metadata", {}) or {})


def find_task(name: str) -> Task:
    """Return the task of a name.

    Raises:
        UserError: if no task has this name, with the nearest one, or if the user's code cannot be imported.
    """
    if extensions.is_reference(name) or name.endswith(".py"):
        entry: Any = extensions.find_extension("task", name)
        return Task(name, name, entry, own=True)
    import gymnasium as gym

    from neurogym.envs import registration
    from neurogym.envs.collections import COLLECTIONS

    if "+" in name or name in COLLECTIONS:
        from neurogym.envs.multi import make_multi

        for single in name.split("+"):
            if single not in COLLECTIONS:
                find_task(single)
        return Task(name, name, functools.partial(make_multi, name), own=False, several=True)

    try:
        id_ = registration.resolve(name)
    except (gym.error.Error, ValueError):
        entry = extensions.find_extension("task", name)
        if entry is not None:
            return Task(name, name, entry, own=True)
        if "," in name:
            raise UserError(f"unknown task '{name}'; several tasks are joined by +: {name.replace(',', '+')}") from None
        raise unknown("task", name, task_names()) from None
    return Task(name, id_, registration.entry(id_), own=False)


def built_in(name: object) -> tuple[str, Mapping[str, Any]]:
    """Return id and metadata of a built-in task; of a user's own task, whose code is not imported, nothing.

    Args:
        name: name of a task.

    Returns:
        An empty id and no metadata for a user's own task and for unknown names.
    """
    import gymnasium as gym

    from neurogym.envs import registration

    if isinstance(name, str) and ":" not in name:
        with contextlib.suppress(gym.error.Error, ValueError, ImportError):
            id_ = registration.resolve(name)
            return id_, registration.metadata(id_)
    return "", {}


def is_supervised_by_default(name: object) -> bool:
    """Return whether a built-in task is learned by supervision by default; False for all other names."""
    return bool(built_in(name)[1].get("supervised"))


def usual_algorithm(task: object) -> str:
    """Return the name of the default algorithm of a task.

    Args:
        task: name of the task.
    """
    return "supervised" if is_supervised_by_default(task) else "recurrent_ppo"


def task_names() -> list[str]:
    """Return every id, old name, and name offered by another package; no task is imported."""
    from neurogym.compat.changes import ALIASES
    from neurogym.envs import registration

    return sorted({*registration.every_task(), *ALIASES, *extensions.offered("task")})


#: Table of the defaults of tasks.
TABLE = Path(__file__).with_name("tasks.toml")

#: Configuration key that asks for the recommended settings; a complete configuration has the settings in its place.
RECOMMENDED_KEY = "recommended"

#: Wrappers that show the agent its last reward and action.
HISTORY = [{"name": "pass_reward"}, {"name": "pass_action"}]


@dataclass(frozen=True)
class Recommended:
    """Settings that a task needs, and why.

    Attributes:
        settings: part of a configuration; settings of the user have priority.
        reason: why the task needs the settings.
    """

    settings: Mapping[str, Any]
    reason: str

    @property
    def words(self) -> str:
        """The settings as flags of ``ngym run``."""
        wrappers = ",".join(entry["name"] for entry in self.settings.get("wrappers", ()))
        stages = ", ".join(stage["name"] for stage in self.settings.get("stages", ()))
        flags = [f"--wrappers {wrappers}"] if wrappers else []
        flags += [f"--{key} {self.settings[key]}" for key in ("network", "units", "dt") if key in self.settings]
        return " ".join([*flags, *([f"stages {stages}"] if stages else [])])


#: What most tasks with linked trials need.
LAST_OUTCOME = Recommended(
    {"wrappers": HISTORY},
    "what is rewarded depends on earlier trials, which the last action and the last reward report",
)


@functools.cache
def defaults_table() -> dict[str, dict[str, Any]]:
    """Return the rows of ``tasks.toml``, the table of all defaults of tasks, by id."""
    table: dict[str, dict[str, Any]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return table


def default_settings(task: object, alg: str | None = None) -> Recommended | None:
    """Return the settings that every run of a task has, unless the user names others; None without.

    Args:
        task: name of the task.
        alg: an algorithm other than the task's default algorithm, for the settings that it has in addition.
    """
    row = defaults_table().get(built_in(task)[0], {})
    if alg is not None:
        special = dict(row.get("settings_with", {}).get(alg, {}))
        return Recommended(special, special.pop("reason")) if special else None
    settings = row.get("settings")
    return LAST_OUTCOME if isinstance(settings, str) else settings and Recommended(settings, row["settings_reason"])


def recommended(task: object) -> Recommended | None:
    """Return the recommended settings of a built-in task, or None where the task needs nothing but its name.

    Args:
        task: name of a task; None for a user's own task, whose code is not imported, and for unknown names.
    """
    id_, metadata = built_in(task)
    if not metadata.get("history_dependent") or defaults_table().get(id_, {}).get("without_history"):
        return None
    usual = default_settings(task)
    return None if usual is not None and "wrappers" in usual.settings else LAST_OUTCOME


def with_defaults(data: Mapping[str, Any]) -> dict[str, object]:
    """Return settings with the default wrappers, network, units and stages of their task where they name none.

    Network, units and stages are of the task's usual algorithm; others may have settings of their own. An argument or
    timing that stages change leaves stages out.

    Args:
        data: settings of a configuration.
    """
    task, alg = data.get("task"), data.get("alg")
    usual = default_settings(task)
    settings = dict(usual.settings) if usual else {}
    if any(_overlap(stage, data) for stage in settings.get("stages", ())):
        settings.pop("stages")
    if alg is not None and built_in(task)[0] and alg != usual_algorithm(task):
        settings = {name: value for name, value in settings.items() if name not in ("network", "units", "stages")}
        special = default_settings(task, str(alg))
        settings |= special.settings if special else {}
    return {**settings, **data}


def _overlap(stage: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
    """Return whether settings name an argument or a period that a stage changes."""
    tables = [(stage.get(table), data.get(table)) for table in ("task_args", "timing")]
    return any(isinstance(a, Mapping) and isinstance(b, Mapping) and bool(a.keys() & b.keys()) for a, b in tables)


def with_recommended(data: Mapping[str, Any], default_task: str) -> dict[str, object]:
    """Return settings in which the wish for recommended settings is replaced by these settings.

    Args:
        data: settings of a configuration, possibly with ``recommended``.
        default_task: task where the settings name none.

    Raises:
        ValueError: if the wish is not true or false.
    """
    data = dict(data)
    wanted = data.pop(RECOMMENDED_KEY, False)
    if not isinstance(wanted, bool):
        raise ValueError(f"{RECOMMENDED_KEY}: expected true or false, not {wanted!r}")
    settings = recommended(data.get("task", default_task)) if wanted else None
    if settings is None:
        return data
    return {**settings.settings, **data}
