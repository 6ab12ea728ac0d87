"""Parameters of a task that can be changed while it runs.

A task keeps the arguments it was made with. To change one, the task is made a second time with other arguments,
beside the session, and what differs is taken over; so whatever a constructor derives from an argument follows, and a
value that the constructor refuses is refused here, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from neurogym.messages.names import unknown
from neurogym.sampling.distributions import values_of

#: Arguments that are no attributes to assign to: the time step is fixed, the others are tables.
_OTHERS = ("self", "dt", "rewards", "timing")
#: Attributes that belong to the session and not to the parameters.
_OF_SESSION = frozenset(
    {"cursor", "ahead", "trial", "last", "spec", "is_made", "_arguments", "_np_random", "_np_random_seed"}
    | {"top", "_stack", "_described", "_now"}
)


class Settings(dict):
    """A dictionary of a task; what is changed in it takes effect with the next trial."""

    name = ""
    task: Any = None  #: set when the dictionary is looked up, so that a copy does not hold on to its original

    def __reduce__(self) -> tuple:
        """A copy belongs to no task until it is looked up."""
        return type(self), (dict(self),)

    def __setitem__(self, key: str, value: Any) -> None:
        """Set an entry; the task takes note of it."""
        if self.task is None or not self.task.is_made or (key in self and same(self[key], value)):
            self.put(key, value)
        else:
            self.task.update_tables({self.name: {key: value}}, assigned=True)

    def put(self, key: str, value: Any) -> None:
        """Set an entry without telling the task."""
        super().__setitem__(key, value)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set several entries."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __ior__(self, other: Any) -> Settings:  # type: ignore[misc]
        """Set several entries."""
        self.update(other)
        return self

    def _without(self, change: Any) -> Any:
        if self.task is not None and self.task.is_made:
            self.task.forget_trials_ahead()
        return change

    def __delitem__(self, key: str) -> None:
        """Take an entry out."""
        self._without(super().__delitem__(key))

    def pop(self, *args: Any) -> Any:
        """Take an entry out."""
        return self._without(super().pop(*args))

    def clear(self) -> None:
        """Take all entries out."""
        self._without(super().clear())

    def state_dict(self) -> dict[str, Any]:
        """The entries."""
        return dict(self)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Have other entries."""
        super().clear()
        for key, value in state.items():
            self.put(key, value)


class Conditions(Settings):
    """What can be asked of a trial: name to a sequence of values or a :class:`Distribution`."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__({name: values_of(values) for name, values in dict(*args, **kwargs).items()})

    def put(self, key: str, value: Any) -> None:
        """Set an entry without telling the task."""
        super().put(key, values_of(value))


class Table:
    """An attribute that is a dictionary of settings."""

    def __init__(self, kind: type[Settings] = Settings):
        self.kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        """Know the name of the attribute."""
        self.name = name

    def __get__(self, task: Any, owner: type | None = None) -> Any:
        """The present value."""
        if task is None:
            return self
        try:
            settings = vars(task)[self.name]
        except KeyError:
            raise AttributeError(f"{type(task).__name__} has no {self.name}") from None
        settings.task, settings.name = task, self.name
        return settings

    def __set__(self, task: Any, values: Mapping[str, Any]) -> None:
        """Another value, from the next trial on."""
        vars(task)[self.name] = self.kind(values)
        if task.is_made:
            task.forget_trials_ahead()


class Parameter:
    """An attribute with the name of an argument: assigning to it is like having made the task with that value."""

    def __init__(self, name: str):
        self.name = name

    def __get__(self, task: Any, owner: type | None = None) -> Any:
        """The present value."""
        if task is None:
            return self
        try:
            return vars(task)[self.name]
        except KeyError:
            raise AttributeError(f"{type(task).__name__!r} object has no attribute {self.name!r}") from None

    def __set__(self, task: Any, value: Any) -> None:
        """Another value, from the next trial on."""
        present = vars(task)
        if not task.is_made or (self.name in present and same(present[self.name], value)):
            present[self.name] = value
            return
        if not task.remakes or self.name not in task.arguments():  # an argument of the base class alone
            present[self.name] = value
            task.forget_trials_ahead()
            return
        made = task.made_with({self.name: value})
        if self.name not in vars(made) or np.array_equal(vars(made)[self.name], value):
            task.take_over(made, {self.name: value})
        else:  # the attribute is something derived from the argument, and is assigned as such
            present[self.name] = value
        task.forget_trials_ahead()

    def __delete__(self, task: Any) -> None:
        """Take the attribute away."""
        del vars(task)[self.name]


class EnvMeta(type):
    """Keeps the arguments that a task is made with, and lets them be assigned to later."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kwargs: Any):
        super().__init__(name, bases, namespace, **kwargs)
        own = inspect.signature(cls.__init__)  # type: ignore[misc]  # what a call of the class takes
        cls.__signature__ = own.replace(parameters=list(own.parameters.values())[1:])
        if "__init__" in namespace:
            for parameter in inspect.signature(namespace["__init__"]).parameters.values():
                named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
                if named and parameter.name not in _OTHERS and not hasattr(cls, parameter.name):
                    setattr(cls, parameter.name, Parameter(parameter.name))

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a task and keep its arguments."""
        task = super().__call__(*args, **kwargs)
        task._arguments = _bound(cls, task, args, kwargs)
        task.is_made = True
        return task


def _bound(cls: type, task: Any, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
    signature = inspect.signature(cls.__init__)  # type: ignore[misc]
    given = dict(signature.bind(task, *args, **kwargs).arguments)
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            given |= given.pop(parameter.name, {})
    del given[next(iter(signature.parameters))]
    return given


class Changeable(metaclass=EnvMeta):
    """A task whose parameters can be changed while it runs.

    Attributes:
        is_made: Whether the constructor is done.
        remakes: Whether the task can be made a second time to find out what a parameter changes.
    """

    is_made: bool = False
    remakes: ClassVar[bool] = True
    default_timing: ClassVar[Mapping[str, Any]] = {}
    default_rewards: ClassVar[Mapping[str, Any]] = {}
    _arguments: dict[str, Any]

    def forget_trials_ahead(self) -> None:
        """Let the next trial be made anew; called when a parameter has changed."""
        raise NotImplementedError

    def update(
        self, *, rewards: Mapping[str, Any] | None = None, timing: Mapping[str, Any] | None = None, **parameters: Any
    ) -> None:
        """Change rewards, durations and other parameters; the trial that is on is not touched, the next one is.

        Args:
            rewards: Event to reward, those that change.
            timing: Period to duration, those that change.
            **parameters: Arguments of the task, such as ``cohs``.

        Raises:
            ValueError: If a name is unknown, the task refuses a value, or a space would change.

        Example:
            >>> import neurogym as ngym
            >>> env = ngym.make("PerceptualDecisionMaking-v0")
            >>> env.unwrapped.update(rewards={"correct": 5}, timing={"delay": 500}, cohs=[0, 25.6])
        """
        accepted = self.parameters()
        for name in parameters:
            if name not in accepted:
                raise ValueError(unknown("parameter", name, [*accepted, "rewards", "timing"]))
        tables = {name: table for name, table in (("rewards", rewards), ("timing", timing)) if table}
        for name, table in tables.items():
            present = getattr(self, name)
            for key in table:
                if present and key not in present:
                    raise ValueError(unknown({"rewards": "reward", "timing": "period"}[name], key, present))
        if parameters or tables:
            self.update_tables(tables, parameters)

    def update_tables(
        self,
        tables: Mapping[str, Mapping[str, Any]],
        parameters: Mapping[str, Any] | None = None,
        assigned: bool = False,
    ) -> None:
        """Change entries of dictionaries, and parameters whose names are known.

        Args:
            tables: ``rewards``, ``timing`` or ``conditions`` to the entries that change.
            parameters: Arguments that change.
            assigned: Whether an old script assigns an entry; it is then set whatever else would have to change.
        """
        changes = dict(parameters or {})
        for name, table in tables.items():
            if name in self._parameters():
                known = getattr(self, f"default_{name}")
                present = {key: value for key, value in getattr(self, name).items() if not known or key in known}
                changes[name] = {**present, **table}
        if changes:
            made = self.made_with(changes)
            if not (assigned and self._other_space(made)):
                self.take_over(made, changes)
        for name, table in tables.items():
            for key, value in table.items():
                getattr(self, name).put(key, value)
        self.forget_trials_ahead()

    @classmethod
    def parameters(cls) -> list[str]:
        """Names of the arguments that can be changed, beside ``rewards`` and ``timing``."""
        return [name for name in cls._parameters() if name not in _OTHERS]

    def arguments(self) -> dict[str, Any]:
        """Every argument of the task with its present value, ``rewards`` and ``timing`` left out."""
        defaults = {name: parameter.default for name, parameter in self._parameters().items() if name != "self"}
        return {name: value for name, value in {**defaults, **self._arguments}.items() if name not in _OTHERS}

    @classmethod
    def _parameters(cls) -> dict[str, inspect.Parameter]:
        """All named arguments of the constructor, and of those that it passes any others on to."""
        found: dict[str, inspect.Parameter] = {}
        for base in cls.__mro__:
            if "__init__" not in vars(base) or not issubclass(base, Changeable):
                continue
            own = inspect.signature(vars(base)["__init__"]).parameters
            found = {**{name: p for name, p in own.items() if p.kind is not p.VAR_KEYWORD}, **found}
            if not any(p.kind is p.VAR_KEYWORD for p in own.values()):
                break
        return found

    def made_with(self, changes: Mapping[str, Any]) -> Any:
        """A task like this one with other arguments; whatever it draws is the same every time."""
        made = type(self).__new__(type(self))
        vars(made)["_np_random"] = np.random.Generator(np.random.PCG64(0))
        type(self).__init__(made, **{**self._arguments, **changes})
        return made

    def _other_space(self, made: Any) -> str:
        """Name of a space that is not that of another task; empty if both are."""
        for space in ("observation_space", "action_space"):
            if getattr(self, space, None) != getattr(made, space, None):
                return space
        return ""

    def take_over(self, made: Any, changes: Mapping[str, Any]) -> None:
        """Take over the attributes in which a task made with some changes differs from one made without.

        Raises:
            ValueError: If a space differs.
        """
        before, after = vars(self.made_with({})), vars(made)
        space = self._other_space(made)
        if space:
            raise ValueError(
                f"{', '.join(changes)} would change the {space.replace('_', ' ')} of {type(self).__name__}: "
                "make another environment"
            )
        for name, value in after.items():
            if name in _OF_SESSION or (name in before and same(before[name], value)):
                continue
            if isinstance(value, Settings) and isinstance(vars(self).get(name), Settings):
                for key, entry in value.items():
                    if key not in before[name] or not same(before[name][key], entry):
                        vars(self)[name].put(key, entry)
                for key in before[name].keys() - value.keys():
                    dict.pop(vars(self)[name], key, None)
            else:
                vars(self)[name] = value
        self._arguments = {**self._arguments, **changes}


def same(a: Any, b: Any, depth: int = 4) -> bool:
    """Whether two values are alike, as far as parameters go: generators and functions always are."""
    if a is b or (callable(a) and callable(b)) or isinstance(a, np.random.Generator):
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, float) and isinstance(b, float):
        return bool(a == b)  # one of them may be NumPy's
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key], depth - 1) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, depth - 1) for x, y in zip(a, b, strict=True))
    if depth and hasattr(a, "__dict__") and not isinstance(a, gym.Space):
        return same(vars(a), vars(b), depth - 1)
    return bool(a == b)
