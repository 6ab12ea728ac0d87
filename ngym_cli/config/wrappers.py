"""Wrappers by name, with arguments as written on the command line or in a configuration file.

The signature of the wrapper determines how an argument is read: numbers are checked, a single value becomes a list
where a list is expected, the id of a task becomes an environment, the name of a schedule becomes a schedule.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from typing import Any, get_type_hints

import gymnasium as gym

from ngym_cli.config import parts
from ngym_cli.config.parts import keyword_parameters
from ngym_cli.errors import UserError, unknown

#: Wrappers that only a program can use, with the reason.
FOR_PROGRAMS = {"MultiEnvs": "its task is chosen by a program (set_i); a schedule chooses with schedule_envs"}

AUTO = "auto"

#: Defaults on the command line where those of the class leave the choice to a program.
ALWAYS: dict[str, dict[str, str]] = {
    "ScheduleEnvs": {"schedule": "random"},
    "Combine": {"share_action_space": AUTO},  # true if both tasks have equally many actions
}


def wrapper_names() -> list[str]:
    """Return the names of all wrappers on the command line, including wrappers of other packages."""
    from neurogym import wrappers

    return [*(wrappers.key_of(name) for name in wrappers.all_wrappers()), *parts.offered("wrapper")]


def find_wrapper(name: str) -> Any:
    """Return the class of a wrapper: built in, a user's own, or offered by another package.

    Raises:
        UserError: if no wrapper has this name, with the nearest one, or the user's class is not a wrapper.
    """
    from neurogym import wrappers

    with contextlib.suppress(ValueError):
        return wrappers.wrapper_class(name)
    own = parts.find_own("wrapper", name)
    if own is None:
        raise unknown("wrapper", name, wrapper_names())
    if not (isinstance(own, type) and issubclass(own, gym.Wrapper)):
        raise UserError(f"wrapper {name}: expected {parts.KINDS['wrapper'].base}")
    return own


@functools.cache
def argument_types(cls: type) -> dict[str, object]:
    """Return the types of a class's arguments, from annotations or defaults.

    Names that only a type checker imports count as ``Any``.
    """
    unknown_names: dict[str, object] = {}
    while True:
        try:
            hints = get_type_hints(cls.__init__, localns=unknown_names)  # type: ignore[misc]
        except NameError as error:
            unknown_names[str(error.name)] = Any
            continue
        defaults = {
            name: Any if default in (inspect.Parameter.empty, None) else type(default)
            for name, default in (keyword_parameters(cls) or {}).items()
        }
        return {name: kind for name, kind in {**defaults, **hints}.items() if name not in ("env", "return")}
