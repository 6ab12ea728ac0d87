"""Table of what is old or different in NeuroGym, and of what is here in its place: ``neurogym.toml`` next to this file.

Imports and ids of old scripts, ``ngym check --neurogym``, ``ngym list differences``, the guide and the page for
newcomers are made from this table, and the differences in the metadata of a task.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

WORKS, WARNS, CHANGED, FAILS = "works", "warns", "changed", "fails"


class DifferenceRow(NamedTuple):
    """Row of the table of differences.

    Attributes:
        part: Part of the toolkit.
        what: What is different there.
        sign: What a script that is concerned has written: ``name()``, ``name(argument=)``, ``.attribute``, a subscript
            such as ``info["trial"]``, or a count such as ``step: 4 values``. Empty if it cannot be seen.
        status: Result of a check.
    """

    part: str
    what: str
    sign: str = ""
    status: str = CHANGED


def _with_tuples(value: object) -> Any:
    """Turn the lists of a value into tuples, as which durations are written in Python."""
    if isinstance(value, dict):
        return {name: _with_tuples(entry) for name, entry in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


_TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_name("neurogym.toml").read_text("utf-8"))
#: Older module to the present one that has its names. What has no such module is in ``NAMES`` alone.
MOVED_MODULES: dict[str, str] = _TABLE["modules"]
#: Every older module, also those of single tasks, and the present one.
MODULES: dict[str, str] = {**_TABLE["modules_of_tasks"], **MOVED_MODULES}
#: Module, old or present, to names that are not its own and where each is, as ``module:name`` or ``module``.
NAMES: dict[str, dict[str, str]] = _TABLE["names"]
#: Older id of a task to the present one and the arguments that make it the same task.
ALIASES: dict[str, tuple[str, dict[str, Any]]] = {
    old: (new, _with_tuples(_TABLE["arguments_of_ids"].get(old, {}))) for old, new in _TABLE["ids"].items()
}
#: Class or function to older argument and present one.
RENAMED_ARGUMENTS: dict[str, dict[str, str]] = _TABLE["arguments"]
#: Older member of an environment to what it is here; :mod:`neurogym.compat.one_trial` and ``programmed`` have them all.
MEMBERS: dict[str, str] = _TABLE["members"]
#: Class or function that makes a task to the differences of the task, a sentence each.
DIFFERENCES: dict[str, list[str]] = _TABLE["differences"]
#: Older list of ids to the groups of tasks in it.
LISTS_OF_TASKS: dict[str, list[str]] = _TABLE["lists_of_tasks"]
TOOLKIT_CHANGES: tuple[DifferenceRow, ...] = tuple(DifferenceRow(**row) for row in _TABLE["changes"])

LISTS = "neurogym.compat.lists"
TASKS = ("neurogym.envs.native.", "neurogym.envs.contrib.", "neurogym.envs.collections.")  #: where modules of tasks are
#: Names that every module of tasks has, because its imports were visible; and names that every module has.
IN_TASK_MODULES = {"TruncExp": "neurogym.utils.ngym_random:TruncExp"}
EVERYWHERE = {"_SB3_INSTALLED": f"{LISTS}:_SB3_INSTALLED", "logger": "neurogym.messages.console:logger"}


def names_in(path: str) -> dict[str, str]:
    """Older names in a present module, with present locations."""
    return {**(IN_TASK_MODULES if path.startswith(TASKS) else {}), **EVERYWHERE, **NAMES.get(path, {})}


def names_in_old(path: str) -> dict[str, str]:
    """Names in an older module that the present module lacks, with the place of each."""
    names = names_in(MODULES[path])
    if path.startswith("neurogym.envs."):
        names = {**IN_TASK_MODULES, **names}
    if path not in MOVED_MODULES:
        ids = {old.removesuffix("-v0"): old for old in ALIASES}  # classes of tasks under the names of 2019
        names |= {name: f"{LISTS}:{old}" for name, old in ids.items() if f"neurogym.envs.{name.lower()}" == path}
    return names | NAMES.get(path, {})
