"""Wrappers by name, with arguments as written on the command line or in a configuration file.

The signature of the wrapper determines how an argument is read: numbers are checked, a single value becomes a list
where a list is expected, the id of a task becomes an environment, the name of a schedule becomes a schedule.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import gymnasium as gym

from ngym_cli.config import options, parts
from ngym_cli.config.parts import check_arguments, keyword_parameters
from ngym_cli.errors import UserError, message_of, unknown

#: Function that makes a further environment from a written task and the time step (ms).
MakeTask = Callable[[object, float], gym.Env]

#: Types that are checked.
CHECKED: dict[object, options.TypeName] = {float: "float", int: "int", bool: "bool", str: "str"}

#: Wrappers that only a program can use, with the reason.
FOR_PROGRAMS = {"MultiEnvs": "its task is chosen by a program (set_i); a schedule chooses with schedule_envs"}

AUTO = "auto"

#: Defaults on the command line where those of the class leave the choice to a program.
ALWAYS: dict[str, dict[str, str]] = {
    "ScheduleEnvs": {"schedule": "random"},
    "Combine": {"share_action_space": AUTO},  # true if both tasks have equally many actions
}

WRONG = (TypeError, ValueError, AttributeError, AssertionError, KeyError, IndexError)


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

    if not parts.is_reference(name) and not name.endswith(".py"):
        with contextlib.suppress(ValueError):
            return wrappers.wrapper_class(name)
    own = parts.find_own("wrapper", name)
    if own is None:
        raise unknown("wrapper", name, wrapper_names())
    if not (isinstance(own, type) and issubclass(own, gym.Wrapper)):
        raise UserError(f"wrapper {name}: expected {parts.KINDS['wrapper'].base}")
    return own


def wrap(env: gym.Env, name: str, args: Mapping[str, object], make: MakeTask) -> gym.Env:
    """Put a wrapper around an environment.

    Args:
        env: task with the wrappers so far.
        name: name of the wrapper on the command line.
        args: arguments of the wrapper as written.
        make: function that makes the further tasks of wrappers that take several.

    Raises:
        UserError: if the wrapper does not exist, lacks or refuses an argument, or does not fit the environment.
    """
    from neurogym.compat.leniency import strictly

    cls = find_wrapper(name)
    own = parts.is_reference(name) or name in parts.offered("wrapper")
    if cls.__name__ in FOR_PROGRAMS:
        raise UserError(f"wrapper {name}: {FOR_PROGRAMS[cls.__name__]}")
    try:
        written = {**ALWAYS.get(cls.__name__, {}), **args}
        given = dict(cls.from_flags(written)) if hasattr(cls, "from_flags") else written
        check_arguments(cls, given, f"wrapper {name}", without=("env",))
        with parts.user_errors(f"wrapper {name}") if own else contextlib.nullcontext(), strictly():
            return _made(cls, env, given, make)
    except UserError as error:
        complete = str(error).startswith(("unknown argument of wrapper", f"wrapper {name}:"))
        raise error if complete else UserError(f"wrapper {name}: {error}") from error
    except WRONG as error:
        text = message_of(error)
        raise UserError(f"wrapper {name}: {text.removeprefix(f'{cls.__name__}.__init__() ')}") from error


def _made(cls: Any, env: gym.Env, args: Mapping[str, object], make: MakeTask) -> gym.Env:
    """Convert written arguments to the types of the signature and make the wrapper."""
    from neurogym.core import BaseEnv, OrderEnforcing

    dt = float(env.unwrapped.dt) if isinstance(env.unwrapped, BaseEnv) else 0.0
    parameters = argument_types(cls)
    given = {
        key: _value(each, parameters.get(key, Any), key, lambda task: make(task, dt)) for key, each in args.items()
    }
    if given.get("share_action_space") == AUTO:
        others = [given[key] for key in ("distractor", "task2") if key in given]
        given["share_action_space"] = all(_actions(other) == _actions(env) for other in others)
    if "envs" not in parameters:
        return cls(env, **_scheduled(given, len(given.get("attr_list", ()))))
    several = [env, *given.pop("envs", ())]
    if len(several) < 2:
        raise ValueError("needs further tasks, as in envs=GoNogo-v0+DelayComparison-v0")
    return OrderEnforcing(cls(several, **_scheduled(given, len(several))))


def _actions(env: gym.Env) -> object:
    return env.action_space.n if isinstance(env.action_space, gym.spaces.Discrete) else env.action_space.shape


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


def _value(value: Any, kind: object, key: str, make: Callable[[object], gym.Env]) -> Any:
    """Return a written value as the type in the signature."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    some = [each for each in kinds if each is not NoneType]
    if Callable in {*some, *map(get_origin, some)} and value is not None and not callable(value):
        raise UserError(f"{key} is a function, which only a program can give")
    if gym.Env in some:
        return make(value)
    if value is None and NoneType in kinds or value == AUTO and key == "share_action_space" or len(some) > 1:
        return value
    if (get_origin(some[0]) or some[0]) in (Sequence, list, tuple):
        if gym.Env in get_args(some[0]):
            tasks = value.split("+") if isinstance(value, str) else value
            return [make(task) for task in (tasks if isinstance(tasks, list | tuple) else [tasks])]
        return value if value is None or isinstance(value, list | tuple) else [value]
    if some[0] in CHECKED:
        return options.read(key, options.option({"type": CHECKED[some[0]]}), value)
    is_range = key.endswith("_dur") and isinstance(value, list) and len(value) == 2  # of durations
    return tuple(value) if kind is Any and is_range else value


def _scheduled(given: dict[str, object], n: int) -> dict[str, object]:
    """Replace the name of a schedule by a schedule over ``n`` conditions."""
    if isinstance(schedule := given.get("schedule"), str):
        from neurogym.sampling.scheduler import schedule_from

        return {**given, "schedule": schedule_from(schedule, n)}
    return given
