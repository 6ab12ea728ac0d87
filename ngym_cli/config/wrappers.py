"""Wrappers by name, with arguments as written on the command line or in a configuration file.

The signature of the wrapper determines how an argument is read: numbers are checked, a single value becomes a list
where a list is expected, the id of a task becomes an environment, the name of a schedule becomes a schedule.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import gymnasium as gym

from neurogym.core import BaseEnv, OrderEnforcing
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

    with contextlib.suppress(ValueError):
        return wrappers.wrapper_class(name)
    own = parts.find_own("wrapper", name)
    if own is None:
        raise unknown("wrapper", name, wrapper_names())
    if not (isinstance(own, type) and issubclass(own, gym.Wrapper)):
        raise UserError(f"wrapper {name}: expected {parts.KINDS['wrapper'].base}")
    return own


def bind(name: str, args: Mapping[str, object], make: MakeTask) -> Callable[[gym.Env], gym.Env]:
    """Return a function that puts a wrapper around an environment; name and arguments are checked now.

    Args:
        name: name of the wrapper on the command line.
        args: arguments of the wrapper as written.
        make: function that makes the further tasks of wrappers that take several.

    Raises:
        UserError: if the wrapper does not exist, or lacks or refuses an argument; by the function, if the wrapper does
            not fit the environment.
    """
    cls = find_wrapper(name)
    if cls.__name__ in FOR_PROGRAMS:
        raise UserError(f"wrapper {name}: {FOR_PROGRAMS[cls.__name__]}")
    types, written = argument_types(cls), {**ALWAYS.get(cls.__name__, {}), **args}

    def converted() -> dict[str, Any]:
        """Return the arguments in the types of the signature; written tasks are left."""
        given = dict(cls.from_flags(written)) if hasattr(cls, "from_flags") else written
        check_arguments(cls, given, f"wrapper {name}", without=("env",))
        return {key: _value(value, types.get(key, Any), key) for key, value in given.items()}

    with _refusals(cls, name):
        values = converted()

    def wrap(env: gym.Env) -> gym.Env:
        with _refusals(cls, name):
            given = converted() if hasattr(cls, "from_flags") else dict(values)  # objects of its own for each
            dt = float(env.unwrapped.dt) if isinstance(env.unwrapped, BaseEnv) else 0.0
            for key, value in given.items():
                if _takes_tasks(types.get(key, Any)):
                    given[key] = _tasks(value, types[key], lambda task: make(task, dt))
            return _made(cls, env, given, "envs" in types)

    return wrap


@contextlib.contextmanager
def _refusals(cls: Any, name: str) -> Iterator[None]:
    """Turn errors of a wrapper within a block into errors of the user that name the wrapper."""
    is_own = not cls.__module__.startswith("neurogym.")
    try:
        with parts.user_errors(f"wrapper {name}") if is_own else contextlib.nullcontext():
            yield
    except UserError as error:
        complete = str(error).startswith(("unknown argument of wrapper", f"wrapper {name}:"))
        raise error if complete else UserError(f"wrapper {name}: {error}") from error
    except WRONG as error:
        text = message_of(error)
        raise UserError(f"wrapper {name}: {text.removeprefix(f'{cls.__name__}.__init__() ')}") from error


def _made(cls: Any, env: gym.Env, given: dict[str, Any], takes_several: bool) -> gym.Env:
    """Make a wrapper of converted arguments."""
    if given.get("share_action_space") == AUTO:
        others = [given[key] for key in ("distractor", "task2") if key in given]
        given["share_action_space"] = all(_actions(other) == _actions(env) for other in others)
    if not takes_several:
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


def _kinds(kind: object) -> tuple[tuple[object, ...], bool]:
    """Return the types of an argument, and whether None is a value."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return tuple(each for each in kinds if each is not NoneType), NoneType in kinds


def _takes_tasks(kind: object) -> bool:
    """Return whether an argument takes an environment or several."""
    kinds, _ = _kinds(kind)
    return gym.Env in kinds or any(gym.Env in get_args(each) for each in kinds)


def _tasks(value: Any, kind: object, make: Callable[[object], gym.Env]) -> Any:
    """Return the environments of written tasks."""
    if gym.Env in _kinds(kind)[0]:
        return make(value)
    tasks = value.split("+") if isinstance(value, str) else value
    return [make(task) for task in (tasks if isinstance(tasks, list | tuple) else [tasks])]


def _value(value: Any, kind: object, key: str) -> Any:
    """Return a written value as the type in the signature."""
    kinds, may_be_none = _kinds(kind)
    if _takes_tasks(kind):
        return value
    if Callable in {*kinds, *map(get_origin, kinds)} and value is not None and not callable(value):
        raise UserError(f"{key} is a function, which only a program can give")
    if value is None and may_be_none or value == AUTO and key == "share_action_space" or len(kinds) > 1:
        return value
    if (get_origin(kinds[0]) or kinds[0]) in (Sequence, list, tuple):
        return value if value is None or isinstance(value, list | tuple) else [value]
    if kinds[0] in CHECKED:
        return options.read(key, options.option({"type": CHECKED[kinds[0]]}), value)
    is_range = key.endswith("_dur") and isinstance(value, list) and len(value) == 2  # of durations
    return tuple(value) if kind is Any and is_range else value


def _scheduled(given: dict[str, object], n: int) -> dict[str, object]:
    """Replace the name of a schedule by a schedule over ``n`` conditions."""
    if isinstance(schedule := given.get("schedule"), str):
        from neurogym.sampling.scheduler import schedule_from

        return {**given, "schedule": schedule_from(schedule, n)}
    return given
