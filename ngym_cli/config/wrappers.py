"""Wrappers by name, with arguments as they are written on a command line or in a configuration file.

What an argument takes is read from the signature of the wrapper: numbers are checked, one value is as good as a list of
one, a task's id becomes an environment, the name of a schedule a schedule.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import gymnasium as gym

from ngym_cli.config.tasks import check_arguments
from ngym_cli.config.values import match_type
from ngym_cli.errors import UserError, unknown

#: Makes a further environment: what was written, and the time step (ms).
MakeTask = Callable[[Any, float], gym.Env]

#: An example of each type that is checked.
EXAMPLES: dict[Any, Any] = {float: 0.0, int: 0, bool: False, str: ""}

#: Wrappers that only a program can use, and what to say of them.
FOR_PROGRAMS = {"MultiEnvs": "its task is chosen by a program (set_i); a schedule chooses with schedule_envs"}

AUTO = "auto"

#: Defaults on the command line where those of the class leave the choice to a program.
ALWAYS: dict[str, dict[str, Any]] = {
    "ScheduleEnvs": {"schedule": "random"},
    "Combine": {"share_action_space": AUTO},  # true if both tasks have equally many actions
}

WRONG = (TypeError, ValueError, AttributeError, AssertionError, KeyError, IndexError)


def wrapper_names() -> list[str]:
    """Return the wrappers as they are named on the command line."""
    from neurogym import wrappers

    return [wrappers.key_of(name) for name in wrappers.all_wrappers()]


def find_wrapper(name: str) -> Any:
    """Return a wrapper by its name on the command line.

    Raises:
        UserError: if there is none, with the nearest name.
    """
    from neurogym import wrappers

    try:
        return wrappers.wrapper_class(name)
    except ValueError:
        raise unknown("wrapper", name, wrapper_names()) from None


def wrap(env: gym.Env, name: str, args: Mapping[str, object], make: MakeTask) -> gym.Env:
    """Put one wrapper on an environment.

    Args:
        env: the stack so far.
        name: the wrapper's, on the command line.
        args: its arguments as written.
        make: makes the further tasks of wrappers that take some.

    Raises:
        UserError: if there is no such wrapper, it lacks or refuses an argument, or it does not fit what is below it.
    """
    cls = find_wrapper(name)
    if cls.__name__ in FOR_PROGRAMS:
        raise UserError(f"wrapper {name}: {FOR_PROGRAMS[cls.__name__]}")
    try:
        written = {**ALWAYS.get(cls.__name__, {}), **args}
        given = dict(cls.from_flags(written)) if hasattr(cls, "from_flags") else written
        check_arguments(cls, given, f"wrapper {name}", without=("env",))
        return _made(cls, env, given, make)
    except UserError as error:
        own = str(error).startswith("unknown argument of wrapper")
        raise error if own else UserError(f"wrapper {name}: {error}") from error
    except WRONG as error:
        text = " ".join(str(error).split())
        raise UserError(f"wrapper {name}: {text.removeprefix(f'{cls.__name__}.__init__() ')}") from error


def _made(cls: Any, env: gym.Env, args: dict[str, Any], make: MakeTask) -> gym.Env:
    """Turn what is written into what the wrapper takes, and put it on."""
    from neurogym.core import BaseEnv, OrderEnforcing

    dt = float(env.unwrapped.dt) if isinstance(env.unwrapped, BaseEnv) else 0.0
    parameters = argument_types(cls)
    given = {key: _value(value, parameters[key], key, lambda one: make(one, dt)) for key, value in args.items()}
    if given.get("share_action_space") == AUTO:
        others = [given[key] for key in ("distractor", "task2") if key in given]
        given["share_action_space"] = all(_actions(other) == _actions(env) for other in others)
    if "envs" not in parameters:
        return cls(env, **_scheduled(given, len(given.get("attr_list", ()))))
    several = [env, *given.pop("envs", ())]
    if len(several) < 2:
        raise ValueError("needs further tasks, as in envs=GoNogo-v0+DelayComparison-v0")
    return OrderEnforcing(cls(several, **_scheduled(given, len(several))))


def _actions(env: gym.Env) -> Any:
    return env.action_space.n if isinstance(env.action_space, gym.spaces.Discrete) else env.action_space.shape


@functools.cache
def argument_types(cls: type) -> dict[str, Any]:
    """Return the types of a class's arguments; what only a type checker imports counts as anything."""
    unknown_names: dict[str, Any] = {}
    while True:
        try:
            hints = get_type_hints(cls.__init__, localns=unknown_names)  # type: ignore[misc]
        except NameError as error:
            unknown_names[str(error.name)] = Any
            continue
        return {name: kind for name, kind in hints.items() if name not in ("env", "return")}


def _value(value: Any, kind: object, key: str, make: Callable[[Any], gym.Env]) -> Any:
    """Return a written value as its type in the signature."""
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    some = [option for option in options if option is not NoneType]
    if Callable in {*some, *map(get_origin, some)} and value is not None and not callable(value):
        raise UserError(f"{key} is a function, which only a program can give")
    if gym.Env in some:
        return make(value)
    if value is None and NoneType in options or value == AUTO and key == "share_action_space":
        return value
    if len(some) > 1:
        return value
    if get_origin(some[0]) is Sequence:
        if gym.Env in get_args(some[0]):
            return _tasks(value, make)
        return value if value is None or isinstance(value, list | tuple) else [value]
    if some[0] in EXAMPLES:
        if value is None:
            raise UserError(f"{key} must be given a value, not none")
        return match_type(value, EXAMPLES[some[0]], key)
    return tuple(value) if kind is Any and _is_range(key, value) else value


def _is_range(key: str, value: object) -> bool:
    """Say whether a duration is given as a range: wrappers take those as tuples."""
    return key.endswith("_dur") and isinstance(value, list) and len(value) == 2


def _tasks(value: Any, make: Callable[[Any], gym.Env]) -> list[gym.Env]:
    parts: Sequence[Any] = value.split("+") if isinstance(value, str) else value
    return [make(part) for part in (parts if isinstance(parts, list | tuple) else [parts])]


def _scheduled(given: dict[str, Any], n: int) -> dict[str, Any]:
    """Return the arguments with the schedule made, over ``n`` conditions, where there is one by name."""
    if isinstance(given.get("schedule"), str):
        from neurogym.sampling.scheduler import schedule_from

        return {**given, "schedule": schedule_from(given["schedule"], n)}
    return given
