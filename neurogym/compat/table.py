"""Look-up of old paths and names in the table; nothing is imported here."""

from __future__ import annotations

import functools

from neurogym.compat.changes import ALIASES, MOVED_MODULES, NAMES

__all__ = ["MOVED_MODULES", "NAMES"]

LISTS = "neurogym.compat.lists"
TASKS = ("neurogym.envs.native.", "neurogym.envs.contrib.", "neurogym.envs.collections.")  #: where modules of tasks are
#: Names that every module of tasks has, because its imports were visible; and names that every module has.
IN_TASK_MODULES = {"TruncExp": "neurogym.utils.ngym_random:TruncExp"}
EVERYWHERE = {"_SB3_INSTALLED": f"{LISTS}:_SB3_INSTALLED", "logger": "neurogym.messages.console:logger"}


@functools.cache
def modules() -> dict[str, str]:
    """Every older module and the present one.

    A task had a module that was called as the task in lower case: next to others of its kind, and before version 1 in
    ``neurogym.envs``, there also under names of 2019.
    """
    from neurogym.envs import contrib, native

    tasks = {**native.TASKS, **contrib.TASKS}
    named = {f"{module.rpartition('.')[0]}.{name.lower()}": module for name, module in tasks.items()}
    moved = {old: new for old, new in MOVED_MODULES.items() if new in named.values()}
    flat = {_flat(old): new for old, new in (named | moved).items()}
    for old, (new, _) in ALIASES.items():
        module = flat.get(_flat(new.removesuffix("-v0").lower()))
        if module and old.removesuffix("-v0").isidentifier():  # second versions had modules with the first
            flat.setdefault(_flat(old.removesuffix("-v0").lower()), module)
    return {old: new for old, new in {**flat, **named, **MOVED_MODULES}.items() if old != new}


def _flat(path: str) -> str:
    return f"neurogym.envs.{path.rpartition('.')[2]}"


def module_of(path: str) -> str | None:
    """Present module for an older path; None for other paths."""
    return MOVED_MODULES.get(path) or (modules().get(path) if path.startswith("neurogym.envs.") else None)


def names_in(path: str) -> dict[str, str]:
    """Older names in a present module, with present locations."""
    return {**(IN_TASK_MODULES if path.startswith(TASKS) else {}), **EVERYWHERE, **NAMES.get(path, {})}


def names_in_old(path: str) -> dict[str, str]:
    """Names in an older module that the present module lacks, with the place of each."""
    names = names_in(str(module_of(path)))
    if path.startswith("neurogym.envs."):
        names = {**IN_TASK_MODULES, **names}
    if path not in MOVED_MODULES:
        ids = {old.removesuffix("-v0"): old for old in ALIASES}  # classes of tasks under the names of 2019
        names |= {name: f"{LISTS}:{old}" for name, old in ids.items() if f"neurogym.envs.{name.lower()}" == path}
    return names | NAMES.get(path, {})
