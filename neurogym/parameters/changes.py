"""Dictionaries of a task (rewards, timing, conditions), and changes of its arguments during a session.

The arguments of a task are one set of values that never changes. A change makes a new set, makes a second task with it,
and copies the attributes that this changes into the running task. So what the constructor derives from an argument
follows, and a value that the constructor refuses is refused here, too. What belongs to the session is not touched.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.compat.leniency import warn_once
from neurogym.messages.names import unknown
from neurogym.parameters.arguments import OTHERS, TAKEN
from neurogym.sampling.distributions import Distribution, Patterns, Vectors, is_number, is_possible, values_of

#: Dictionaries of a task, by the name of the attribute.
TABLES = ("rewards", "timing", "conditions")


def _by_task(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that changes a dictionary; of a task that is made, it leaves the change to the task."""

    def change(table: Any, *args: Any, **kwargs: Any) -> Any:
        entries = dict(table)
        result = method(entries, *args, **kwargs)
        if table.task is None:
            dict.clear(table)
            dict.update(table, type(table)(entries))
        else:
            table.assign(entries)
        return table if result is entries else result

    return change


class TrackedDict(dict[str, Any]):
    """Dictionary of a task. Once the task is made, it is a view: the task decides what an assigned entry changes.

    Attributes:
        task: The task, known while the dictionary is its attribute; a copy has no reference to the task.
        assign: Gives the task other entries.
    """

    task: object = None
    assign: Callable[[dict[str, object]], None]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the entries without the task."""
        return type(self), (dict(self),)

    __setitem__, __delitem__ = _by_task(dict.__setitem__), _by_task(dict.__delitem__)
    __ior__, update = _by_task(dict.__ior__), _by_task(dict.update)
    pop, clear = _by_task(dict.pop), _by_task(dict.clear)


class Conditions(TrackedDict):
    """Conditions of a trial: name to a sequence of values or a :class:`Distribution`."""

    def __init__(self, *args: object, **kwargs: object):
        super().__init__({name: values_of(values) for name, values in dict(*args, **kwargs).items()})

    def check(self, name: str, value: object) -> None:
        """Refuse what cannot be asked of a trial; warn of what the task does not draw.

        Raises:
            ValueError: If no trial can be made with the value.
        """
        if name not in self:
            warn_once(unknown("trial condition", name, self), "it is only put into the record")
            return
        values = self[name]
        if not is_possible(value, values):
            if isinstance(value, str) and not isinstance(values, Distribution):
                raise ValueError(unknown(name, value, values))
            text = f"trial condition {name}={value!r} is not drawn by the task, expected one of {values}"
            listed = isinstance(values, (Patterns, Vectors)) or not is_number(next(iter(values), 0))
            if (listed and not isinstance(values, Distribution)) or not is_number(value):
                raise ValueError(text)
            warn_once(text, "it is used as it is")


def parameters_of(cls: type) -> dict[str, inspect.Parameter]:
    """All named arguments of the constructor of a task, including arguments forwarded to base constructors."""
    parameters: dict[str, inspect.Parameter] = {}
    for base in cls.__mro__:
        if "__init__" not in vars(base) or base in gym.Env.__mro__:
            continue
        named = inspect.signature(vars(base)["__init__"]).parameters
        parameters = {**{name: p for name, p in named.items() if p.kind is not p.VAR_KEYWORD}, **parameters}
        if not any(p.kind is p.VAR_KEYWORD for p in named.values()):
            break
    return parameters


def names_of(task: object) -> list[str]:
    """Names of the arguments of a task that can be changed, apart from ``rewards`` and ``timing``."""
    return [name for name in parameters_of(type(task)) if name not in OTHERS]


def arguments_of(task: object) -> dict[str, object]:
    """Every argument of a task with the present value, except ``rewards`` and ``timing``."""
    parameters = parameters_of(type(task)).items()
    values = {**{name: parameter.default for name, parameter in parameters}, **vars(task)["_arguments"]}
    return {name: value for name, value in values.items() if name not in OTHERS}


def has_equal_parameters(task: Any, another: Any) -> bool:
    """Whether two tasks have equal arguments and equal later changes."""

    def of(task: Any) -> list[object]:
        attributes = {name: vars(task)[name] for name in names_of(task) if name in vars(task)}
        return [arguments_of(task), [dict(getattr(task, name)) for name in TABLES], attributes]

    return type(task) is type(another) and not differ(of(task), of(another))


def made_with(task: Any, changes: Mapping[str, object]) -> Any:
    """Make a task with some arguments changed, and with reproducible random draws."""
    cls: Any = type(task)
    twin = cls.__new__(cls)
    twin.np_random = np.random.Generator(np.random.PCG64(0))
    twin.__init__(**{**vars(task)["_arguments"], **changes})
    return twin


def change(task: Any, changes: Mapping[str, object]) -> None:
    """Change arguments of a task: what differs between two new tasks, made without and with the changes, is copied.

    Args:
        task: The task.
        changes: Argument to value.

    Raises:
        ValueError: If a space would change, or the constructor refuses a value.
    """
    twin = made_with(task, changes)
    before, after, own = vars(made_with(task, {})), vars(twin), vars(task)
    for space in ("observation_space", "action_space"):
        if getattr(task, space) != getattr(twin, space):
            what = f"the {space.replace('_', ' ')} of {type(task).__name__}"
            raise ValueError(f"{', '.join(changes)} would change {what}: make another environment")
    for name in after.keys() - {"session"}:
        value = after[name]
        if isinstance(value, TrackedDict) and isinstance(own.get(name), TrackedDict):
            earlier = before[name]
            dict.update(own[name], {k: v for k, v in value.items() if k not in earlier or differ(earlier[k], v)})
            for key in earlier.keys() - value.keys():
                dict.pop(own[name], key, None)
        elif name not in before or differ(before[name], value):
            own[name] = value
    own["_arguments"] = {**own["_arguments"], **changes}


def attributes_of(constructor: Callable[..., None]) -> list[str]:
    """Names of the arguments of a constructor that are attributes to assign to."""
    named = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = inspect.signature(constructor).parameters.values()
    return [p.name for p in parameters if p.kind in named and p.name not in (*OTHERS, *TAKEN)]


def assign(task: Any, name: str, value: Any) -> None:
    """Set the attribute of an argument, with effect from the next trial on.

    Where the constructor keeps the argument under this name, the argument changes as by ``update``. Where the
    attribute is derived (``sigma`` divided by the square root of ``dt``), the attribute is set as it is.
    """
    if name in arguments_of(task) and not hasattr(task, "tasks"):  # the arguments of others are the tasks
        made = vars(made_with(task, {name: value}))
        if np.array_equal(made.get(name, value), value):
            change(task, {name: value})
    vars(task)[name] = value
    forget_trials(task)


def forget_trials(task: Any) -> None:
    """Discard trials made ahead; called when a parameter has changed."""
    for each in (task, *getattr(task, "tasks", ())):
        each.session.ahead.drop()


def differ(a: object, b: object) -> bool:
    """Whether two values have different contents.

    Random generators, and environments of one class, count as equal. Functions are compared with what they enclose.
    """
    try:
        return a is not b and _differ(a, b)
    except Exception:  # whatever a user's object raises when it is compared
        return True


def _differ(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return True
    if isinstance(a, (gym.Env, np.random.Generator)):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype == object:
            return a.shape != b.shape or differ(a.tolist(), b.tolist())
        return a.dtype != b.dtype or a.tobytes() != b.tobytes() or a.shape != b.shape
    if isinstance(a, Mapping):
        return a.keys() != b.keys() or any(differ(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) != len(b) or any(map(differ, a, b))
    if isinstance(a, types.FunctionType):
        enclosed = [[cell.cell_contents for cell in of.__closure__ or ()] for of in (a, b)]
        return a.__code__ != b.__code__ or differ(*enclosed) or differ(a.__defaults__, b.__defaults__)
    if isinstance(a, functools.partial):
        return differ((a.func, a.args, a.keywords), (b.func, b.args, b.keywords))
    if isinstance(a, (types.MethodType, types.BuiltinMethodType)):
        return a.__name__ != b.__name__ or differ(a.__self__, b.__self__)
    if "__eq__" in {name for kind in type(a).__mro__[:-1] for name in vars(kind)}:
        return not (a == b or (a != a and b != b))
    return not hasattr(a, "__dict__") or differ(vars(a), vars(b))
