"""Look-up of old paths and names in the table; nothing is imported here."""

from __future__ import annotations

import functools

from neurogym.compat.changes import ALIASES, MODULES, NAMES, VARIANTS

LISTS, NATIVE, CONTRIB = "neurogym.compat.lists", "neurogym.envs.native", "neurogym.envs.contrib"
#: Names that every module of tasks has, because its imports were visible.
IN_TASK_MODULES = {"TruncExp": "neurogym.utils.ngym_random:TruncExp"}
#: Names that every module has.
EVERYWHERE = {"_SB3_INSTALLED": f"{LISTS}:_SB3_INSTALLED", "logger": "neurogym.messages.console:logger"}


@functools.cache
def flat_modules() -> dict[str, str]:
    """Modules of tasks from before version 1, when all lay in ``neurogym.envs``, by task and by names of 2019."""
    from neurogym.envs import contrib, native

    places = [(NATIVE, name) for name in native.TASKS] + [(CONTRIB, name) for name in contrib.TASKS]
    known = {name: f"{group}.{name.lower()}" for group, name in places}
    known = {name: VARIANTS.get(module, module) for name, module in known.items()}
    flat = {f"neurogym.envs.{name.lower()}": module for name, module in known.items()}
    flat |= {f"neurogym.envs.{old.rpartition('.')[2]}": new for old, new in MODULES.items() if new in known.values()}
    for old, (new, _) in ALIASES.items():
        name, new = old.removesuffix("-v0"), new.removesuffix("-v0")
        if name.isidentifier() and new in known:
            flat.setdefault(f"neurogym.envs.{name.lower()}", known[new])
    return flat


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
    if path in MODULES:
        return MODULES[path]
    if not path.startswith("neurogym.envs."):
        return None
    return flat_modules().get(path) if path.count(".") == 2 else VARIANTS.get(path)


def names_in(path: str) -> dict[str, str]:
    """Older names in a present module, with present locations."""
    names = EVERYWHERE | NAMES.get(path, {})
    if path.startswith((f"{NATIVE}.", f"{CONTRIB}.", "neurogym.envs.collections.")):
        return {**IN_TASK_MODULES, **names}
    return names


def names_in_old(path: str) -> dict[str, str]:
    """Names in an older module that the present module lacks, with the place of each."""
    present = module_of(path)
    beside = {} if present is None else names_in(present)
    in_tasks = IN_TASK_MODULES if path.startswith("neurogym.envs.") else {}
    flat = {} if path in MODULES else flat_names().get(path, {})
    return {**in_tasks, **beside, **flat, **NAMES.get(path, {})}
