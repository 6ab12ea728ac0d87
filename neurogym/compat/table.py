"""Look-up of old paths and names in the table; nothing is imported here."""

from __future__ import annotations

import functools

from neurogym.compat.changes import ALIASES, MOVED_MODULES, NAMES

__all__ = ["MOVED_MODULES", "NAMES"]

LISTS, NATIVE, CONTRIB = "neurogym.compat.lists", "neurogym.envs.native", "neurogym.envs.contrib"
#: Names that every module of tasks has, because its imports were visible.
IN_TASK_MODULES = {"TruncExp": "neurogym.utils.ngym_random:TruncExp"}
#: Names that every module has.
EVERYWHERE = {"_SB3_INSTALLED": f"{LISTS}:_SB3_INSTALLED", "logger": "neurogym.messages.console:logger"}


@functools.cache
def task_modules() -> dict[str, str]:
    """Modules of tasks as in NeuroGym, called as the task in lower case, to the present ones."""
    from neurogym.envs import contrib, native

    tasks = [*native.TASKS.items(), *contrib.TASKS.items()]
    return {f"{module.rpartition('.')[0]}.{name.lower()}": module for name, module in tasks}


@functools.cache
def flat_modules() -> dict[str, str]:
    """Modules of tasks from before version 1, when all lay in ``neurogym.envs``, by task and by names of 2019."""
    flat = {_flat(old): new for old, new in task_modules().items()}
    present = set(flat.values())
    flat |= {_flat(old): new for old, new in MOVED_MODULES.items() if new in present}
    for old, (new, _) in ALIASES.items():
        name, module = old.removesuffix("-v0"), flat.get(_flat(new.removesuffix("-v0").lower()))
        if name.isidentifier() and module:
            flat.setdefault(_flat(name.lower()), module)
    return flat


def _flat(path: str) -> str:
    return f"neurogym.envs.{path.rpartition('.')[2]}"


@functools.cache
def flat_names() -> dict[str, dict[str, str]]:
    """Classes of tasks under the names of 2019, by module."""
    names: dict[str, dict[str, str]] = {}
    for old in ALIASES:
        name = old.removesuffix("-v0")  # second versions had modules with the first
        if f"neurogym.envs.{name.lower()}" in flat_modules():
            names.setdefault(f"neurogym.envs.{name.lower()}", {})[name] = f"{LISTS}:{old}"
    return names


def module_of(path: str) -> str | None:
    """Present module for an older path; None for other paths."""
    if path in MOVED_MODULES:
        return MOVED_MODULES[path]
    if not path.startswith("neurogym.envs."):
        return None
    present = (flat_modules() if path.count(".") == 2 else task_modules()).get(path)
    return None if present == path else present


def names_in(path: str) -> dict[str, str]:
    """Older names in a present module, with present locations."""
    names = EVERYWHERE | NAMES.get(path, {})
    if path.startswith((f"{NATIVE}.", f"{CONTRIB}.", "neurogym.envs.collections.")):
        return {**IN_TASK_MODULES, **names}
    return names


def names_in_old(path: str) -> dict[str, str]:
    """Names in an older module that the present module lacks, with the place of each."""
    present = module_of(path)
    names = {} if present is None else names_in(present)
    in_tasks = IN_TASK_MODULES if path.startswith("neurogym.envs.") else {}
    flat = {} if path in MOVED_MODULES else flat_names().get(path, {})
    return {**in_tasks, **names, **flat, **NAMES.get(path, {})}
