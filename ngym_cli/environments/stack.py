"""Environments from a configuration: the task with its stack of wrappers.

The signature of a wrapper determines how an argument is read: numbers are checked, a single value becomes a list where
a list is expected, the id of a task becomes an environment, the name of a schedule becomes a schedule.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import gymnasium as gym

from neurogym import wrappers
from neurogym.compat.leniency import strictly
from neurogym.core import OrderEnforcing, TrialEnv
from neurogym.envs import registration
from neurogym.envs.episodes import EPISODE_DT, EpisodeTask
from neurogym.envs.multi import ScheduleEnvs
from neurogym.sampling.scheduler import schedule_from
from ngym_cli.config import extensions, options
from ngym_cli.config.extensions import user_errors
from ngym_cli.config.fields import checked
from ngym_cli.config.sections import Duration, TaskSettings
from ngym_cli.config.tasks import Task, find_task
from ngym_cli.errors import UserError, message_of, unknown

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
    return [*(wrappers.key_of(name) for name in wrappers.all_wrappers()), *extensions.offered("wrapper")]


def find_wrapper(name: str) -> Any:
    """Return the class of a wrapper: built in, a user's own, or offered by another package.

    Raises:
        UserError: if no wrapper has this name, with the nearest one, or the user's class is not a wrapper.
    """
    with contextlib.suppress(ValueError):
        return wrappers.wrapper_class(name)
    user_class = extensions.find_extension("wrapper", name)
    if user_class is None:
        raise unknown("wrapper", name, wrapper_names())
    if not (isinstance(user_class, type) and issubclass(user_class, gym.Wrapper)):
        raise UserError(f"wrapper {name}: expected {extensions.EXTENSION_KINDS['wrapper'].base}")
    return user_class


def check_arguments(
    entry: Callable[..., object], names: Iterable[str], subject: str, without: Sequence[str] = ()
) -> None:
    """Refuse arguments that a class or function does not take.

    Args:
        entry: the class or function.
        names: names of arguments.
        subject: subject of the message.
        without: parameters that are not set by users.

    Raises:
        UserError: names the argument and the nearest valid name.
    """
    parameters = keyword_parameters(entry)
    if parameters is None:
        return
    valid = [name for name in parameters if name not in without]
    for name in names:
        if name not in valid:
            raise unknown(f"argument of {subject}", name, valid)


@functools.cache
def default_arguments(entry: Callable[..., object]) -> dict[str, Any]:
    """Return the named parameters of a class or function with defaults; ``inspect.Parameter.empty`` without one."""
    parameters = inspect.signature(entry).parameters.values()
    several = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return {each.name: each.default for each in parameters if each.kind not in several and each.name != "self"}


@functools.cache
def keyword_parameters(entry: Callable[..., object]) -> dict[str, Any] | None:
    """Return the keyword parameters of a class or function with defaults; None if any keyword is accepted."""
    kinds = (each.kind for each in inspect.signature(entry).parameters.values())
    return None if inspect.Parameter.VAR_KEYWORD in kinds else default_arguments(entry)


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


#: Function that makes a further environment from a written task and the time step (ms).
MakeTask = Callable[[object, float], gym.Env]

#: Types that are checked.
CHECKED: dict[object, options.TypeName] = {float: "float", int: "int", bool: "bool", str: "str"}

WRONG = (TypeError, ValueError, AttributeError, AssertionError, KeyError, IndexError)


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
        arguments = dict(cls.from_flags(written)) if hasattr(cls, "from_flags") else written
        check_arguments(cls, arguments, f"wrapper {name}", without=("env",))
        return {key: _value(value, types.get(key, Any), key) for key, value in arguments.items()}

    with _refusals(cls, name):
        values = converted()

    def wrap(env: gym.Env) -> gym.Env:
        with _refusals(cls, name):
            arguments = converted() if hasattr(cls, "from_flags") else dict(values)  # objects of its own for each
            dt = float(env.unwrapped.dt) if isinstance(env.unwrapped, TrialEnv) else 0.0
            for key, value in arguments.items():
                if _takes_tasks(types.get(key, Any)):
                    arguments[key] = _tasks(value, types[key], lambda task: make(task, dt))
            return _wrapped(cls, env, arguments, "envs" in types)

    return wrap


@contextlib.contextmanager
def _refusals(cls: Any, name: str) -> Iterator[None]:
    """Turn errors of a wrapper within a block into errors of the user that name the wrapper."""
    is_own = not cls.__module__.startswith("neurogym.")
    try:
        with user_errors(f"wrapper {name}") if is_own else contextlib.nullcontext():
            yield
    except UserError as error:
        complete = str(error).startswith(("unknown argument of wrapper", f"wrapper {name}:"))
        raise error if complete else UserError(f"wrapper {name}: {error}") from error
    except WRONG as error:
        text = message_of(error)
        raise UserError(f"wrapper {name}: {text.removeprefix(f'{cls.__name__}.__init__() ')}") from error


def _wrapped(cls: Any, env: gym.Env, arguments: dict[str, Any], takes_several: bool) -> gym.Env:
    """Make a wrapper of converted arguments."""
    if arguments.get("share_action_space") == AUTO:
        further_tasks = [arguments[key] for key in ("distractor", "task2") if key in arguments]
        arguments["share_action_space"] = all(_actions(further_task) == _actions(env) for further_task in further_tasks)
    if not takes_several:
        return cls(env, **_scheduled(arguments, len(arguments.get("attr_list", ()))))
    several = [env, *arguments.pop("envs", ())]
    if len(several) < 2:
        raise ValueError("needs further tasks, as in envs=GoNogo-v0+DelayComparison-v0")
    return OrderEnforcing(cls(several, **_scheduled(arguments, len(several))))


def _actions(env: gym.Env) -> object:
    return env.action_space.n if isinstance(env.action_space, gym.spaces.Discrete) else env.action_space.shape


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
    if (value is None and may_be_none) or (value == AUTO and key == "share_action_space") or len(kinds) > 1:
        return value
    if (get_origin(kinds[0]) or kinds[0]) in (Sequence, list, tuple):
        return value if value is None or isinstance(value, list | tuple) else [value]
    if kinds[0] in CHECKED:
        return options.read(key, options.field({"type": CHECKED[kinds[0]]}), value)
    is_range = key.endswith("_dur") and isinstance(value, list) and len(value) == 2  # of durations
    return tuple(value) if kind is Any and is_range else value


def _scheduled(arguments: dict[str, object], n: int) -> dict[str, object]:
    """Replace the name of a schedule by a schedule over ``n`` conditions."""
    if isinstance(schedule := arguments.get("schedule"), str):
        return {**arguments, "schedule": schedule_from(schedule, n)}
    return arguments


def make_env(task: Task, settings: TaskSettings, learning: bool = False) -> gym.Env:
    """Make an environment with the stack of wrappers; arguments and errors as of `env_maker`."""
    return env_maker(task, settings, learning)()


@dataclass
class EnvMaker:
    """Makes environments of a task with its stack of wrappers.

    Attributes:
        task: the task.
        entry: makes the task.
        arguments: of the task.
        wrappers: put wrappers around an environment, innermost first.
        dt: time step of environments without trials (ms).
        timing: durations of the last task that was made, before wrappers changed them.
        rewards: its rewards.
    """

    task: Task
    entry: Callable[..., Any]
    arguments: Mapping[str, object]
    wrappers: Sequence[Callable[[gym.Env], gym.Env]]
    dt: float
    timing: dict[str, object] = field(default_factory=dict)
    rewards: dict[str, object] = field(default_factory=dict)

    @strictly()
    def __call__(self) -> gym.Env:
        """Return a new environment.

        Raises:
            UserError: if the task or a wrapper refuses its arguments.
        """
        task = self.task
        try:
            env = self.entry(**self.arguments)
        except BaseException as error:
            with user_errors(f"task {task.name}", task.own):
                raise error
        if not isinstance(env, gym.Env):
            neither = "not a trial-based task (neurogym.TrialEnv) and not an environment of Gymnasium"
            raise UserError(f"task {task.name}: {type(env).__name__} is {neither}")
        inner = env.unwrapped
        if not isinstance(inner, TrialEnv):
            with user_errors(f"task {task.name}", task.own):
                env = inner = EpisodeTask(env, self.dt)
        self.timing, self.rewards = dict(inner.timing), dict(inner.rewards)
        for wrap in self.wrappers:
            env = wrap(env)
        return env


def env_maker(task: Task, settings: TaskSettings, learning: bool = False) -> EnvMaker:
    """Return a function that makes environments with the stack of wrappers; names are checked now.

    Args:
        task: the task.
        settings: arguments of task and wrappers.
        learning: whether an agent learns in the environment; tasks held out are not presented then.

    Raises:
        UserError: if the task or a wrapper does not exist or refuses its arguments; also by the function.
    """
    presented = _without_held_out(task, settings)
    if not learning and presented is not settings:
        make_env(task, settings, learning=True)  # refuses unknown names
        settings = presented
    kwargs: dict[str, object] = dict(settings.task_args)
    parameters = keyword_parameters(task.entry)
    if settings.dt is not None and (parameters is None or "dt" in parameters):
        kwargs["dt"] = settings.dt
    if settings.timing:
        kwargs["timing"] = {period: Duration(value).for_task for period, value in settings.timing.items()}
    if settings.rewards:
        kwargs["rewards"] = dict(settings.rewards)
    if "schedule" in kwargs and "schedule" not in (parameters or kwargs):
        raise UserError(f"a schedule needs several tasks, as in {task.name}+GoNogo-v0, not one")
    check_arguments(task.entry, kwargs, f"task {task.name}")
    entry = task.entry if task.own or task.several else functools.partial(registration.make, task.name)
    wrappers = [bind(each.name, each.args, another_task) for each in settings.wrappers]
    return EnvMaker(task, entry, kwargs, wrappers, settings.dt or EPISODE_DT)


def _without_held_out(task: Task, settings: TaskSettings) -> TaskSettings:
    """Return settings with which every task is presented; the same object if no task is held out."""
    several = [entry.name for entry in settings.wrappers if find_wrapper(entry.name) is ScheduleEnvs]
    presented = settings
    if task.several and "held_out" in settings.task_args:
        presented = presented.model_copy(update={"task_args": _but_held_out(settings.task_args)})
    if any(entry.name in several and "held_out" in entry.args for entry in settings.wrappers):
        wrappers = [
            entry.model_copy(update={"args": _but_held_out(entry.args)}) if entry.name in several else entry
            for entry in settings.wrappers
        ]
        presented = presented.model_copy(update={"wrappers": wrappers})
    return presented


def _but_held_out(args: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in args.items() if name != "held_out"}


def another_task(written: object, dt: float) -> gym.Env:
    """Make the further task that a wrapper takes.

    Args:
        written: a task's name, or a table of ``task`` and what ``TaskSettings`` has.
        dt: time step of the first task (ms).

    Raises:
        UserError: see ``make_env``.
    """
    if not isinstance(written, Mapping):
        return make_env(find_task(str(written)), TaskSettings(dt=dt or None))
    settings = checked(TaskSettings, {"dt": dt or None, **{k: v for k, v in written.items() if k != "task"}})
    return make_env(find_task(str(written.get("task", ""))), settings)
