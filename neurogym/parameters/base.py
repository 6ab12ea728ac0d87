"""Base environment: a time step, a single random generator, and parameters that can be changed during a session.

The arguments of an environment are one set of values that never changes. :meth:`BaseEnv.update` makes a new set, makes
a second environment with it, and copies the attributes that this changes into the running session. So what the
constructor derives from an argument follows, and a value that the constructor refuses is refused here, too.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import gymnasium as gym
import numpy as np

from neurogym.messages.names import unknown
from neurogym.metadata import RENDER_MODES, TaskInfo, describe
from neurogym.parameters.arguments import OTHERS, argument, attributes_of, recorded
from neurogym.parameters.dictionaries import Conditions, TrackedDict
from neurogym.sampling.generator import LegacyGenerator, generator_of
from neurogym.spaces import n_actions

#: Dictionaries that `BaseEnv.update` changes in addition to parameters.
TABLES = ("rewards", "timing")
#: What one entry of each kind is called.
ONE_OF = {"parameters": "parameter", "rewards": "reward", "timing": "period"}
#: Attributes that belong to the session and not to the parameters.
_OF_SESSION = frozenset(
    (
        *("cursor", "ahead", "trial", "last", "spec", "is_made", "render_mode", "top", "observation_space"),
        *("action_space", "_arguments", "_seen", "_stack", "block_described", "_now"),
    )
)


def _table(name: str, kind: type[TrackedDict]) -> property:
    """Attribute of a task that is a dictionary; what is assigned is copied."""

    def get(task: Any) -> TrackedDict:
        try:
            settings = vars(task)[name]
        except KeyError:
            raise AttributeError(f"{type(task).__name__} has no {name}") from None
        if settings.task is not task:
            settings.task, settings.name = task, name
        return settings

    def assign(task: Any, values: Mapping[str, object]) -> None:
        vars(task)[name] = kind(values)
        if task.is_made:
            task.forget_trials_ahead()

    return property(get, assign, None, f"The {name} of the task, a dictionary.")


class BaseEnv(gym.Env):
    """A Gymnasium environment with a time step.

    Args:
        dt: Time step in ms.

    Attributes:
        most_actions: Discrete actions below it are accepted, in place of those of the action space: next to tasks with
            more actions. What the task itself lacks is never right.
        is_made: Whether the constructor is done.
        remakes: Whether a second instance can be made to find out what a parameter changes.

    Raises:
        ValueError: If ``dt`` is not a positive number.
    """

    metadata: dict[str, Any] = TaskInfo.of({"render_modes": [*RENDER_MODES]})
    observation_space: Any = None
    action_space: Any = None
    most_actions: int | None = None
    is_made: bool = False
    remakes: ClassVar[bool] = False
    rule: ClassVar[Any] = None
    default_timing: ClassVar[Mapping[str, object]] = {}
    default_rewards: ClassVar[Mapping[str, object]] = {}
    rewards = _table("rewards", TrackedDict)
    timing = _table("timing", TrackedDict)
    conditions = _table("conditions", Conditions)
    _arguments: Mapping[str, Any]  # replaced as a whole, never changed

    def __init_subclass__(cls, **kwargs: object):
        """Add metadata and description; let the constructor record the arguments, and make each an attribute."""
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            for name in attributes_of(vars(cls)["__init__"]):
                if not hasattr(cls, name):
                    setattr(cls, name, argument(name))
            cls.__init__ = recorded(vars(cls)["__init__"])  # type: ignore[method-assign]
        if "metadata" in cls.__dict__:
            cls.metadata = TaskInfo.of({"render_modes": [*RENDER_MODES], **cls.metadata})
        describe(cls)

    def __init__(self, dt: float = 100):
        if not np.isscalar(dt) or isinstance(dt, str) or not np.isfinite(dt) or dt <= 0:
            raise ValueError(f"dt must be a positive number of ms, got {dt!r}")
        self.dt = dt
        self.performance: float = 0.0
        self.rewards = {}
        self.timing = {}
        self.conditions = {}

    @property
    def accepted_actions(self) -> int:
        """Number of discrete actions that are accepted; 0 if actions are vectors."""
        return self.most_actions or n_actions(self.action_space)

    @property
    def rng(self) -> LegacyGenerator:
        """Random generator of the environment, with the method names of the old ``RandomState`` as well; settable."""
        return LegacyGenerator(self.np_random)

    @rng.setter
    def rng(self, generator: object) -> None:
        self.np_random = generator_of(generator)

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Start the generator and the action space from ``seed``; ``reset(seed=seed)`` does the same and more."""
        if seed is None:
            self.np_random = np.random.default_rng()
        else:
            gym.Env.reset(self, seed=seed)
        if self.action_space is not None:  # an old constructor may seed before it makes the spaces
            self.action_space.seed(seed)
        return [seed]

    def render(self, mode: str | None = None) -> Any:
        """Return None: environments without trials have no picture."""

    # -- parameters ---------------------------------------------------------------------------------------------------

    def forget_trials_ahead(self) -> None:
        """Discard trials made ahead; called when a parameter has changed."""

    def update(
        self, *, rewards: Mapping[str, Any] | None = None, timing: Mapping[str, Any] | None = None, **parameters: Any
    ) -> None:
        """Change rewards, durations and other parameters, from the next trial on.

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
        tables = {kind: table for kind, table in (("rewards", rewards), ("timing", timing)) if table}
        for kind, changes in {"parameters": parameters, **tables}.items():
            for name in changes:
                if not self.takes(kind, name):
                    raise ValueError(unknown(ONE_OF[kind], name, self.known_names(kind)))
        if parameters or tables:
            self.update_tables(tables, parameters)

    def known_names(self, kind: str) -> list[str]:
        """Names that :meth:`update` accepts: ``"parameters"``, or entries of ``"rewards"`` or ``"timing"``."""
        return [*self.parameters(), *TABLES] if kind == "parameters" else list(self.parameter_tables[kind])

    def takes(self, kind: str, name: str) -> bool:
        """Whether :meth:`update` can change a parameter, reward or period; any can be put into an empty dictionary."""
        return name in self.known_names(kind) or (kind in TABLES and not self.parameter_tables[kind])

    @property
    def parameter_tables(self) -> dict[str, TrackedDict]:
        """The dictionaries of the task, by the name of the attribute."""
        return {"rewards": self.rewards, "timing": self.timing, "conditions": self.conditions}

    def update_tables(
        self,
        tables: Mapping[str, Mapping[str, object]],
        parameters: Mapping[str, object] | None = None,
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
                defaults = {"rewards": self.default_rewards, "timing": self.default_timing}.get(name)
                entries = self.parameter_tables[name].items()
                present = {key: value for key, value in entries if not defaults or key in defaults}
                changes[name] = {**present, **table}
        if changes:
            twin = self.copy_with(changes)
            if not (assigned and self._other_space(twin)):
                self.copy_differences(twin, changes)
        for name, table in tables.items():
            for key, value in table.items():
                self.parameter_tables[name].replace(key, value)
        self.forget_trials_ahead()

    def assign(self, name: str, value: Any) -> None:
        """Set the attribute of an argument, with effect from the next trial on.

        Where the constructor keeps the argument under this name, the argument changes as by :meth:`update`. Where the
        attribute is derived (``sigma`` divided by the square root of ``dt``), the attribute is set as it is.
        """
        twin = self.copy_with({name: value}) if self.remakes and name in self.arguments() else None
        if twin is not None and np.array_equal(vars(twin).get(name, value), value):
            self.copy_differences(twin, {name: value})
        vars(self)[name] = value
        self.forget_trials_ahead()

    @classmethod
    def parameters(cls) -> list[str]:
        """Names of the arguments that can be changed, apart from ``rewards`` and ``timing``."""
        return [name for name in cls._parameters() if name not in OTHERS]

    def arguments(self) -> dict[str, object]:
        """Every argument of the task with the present value, except ``rewards`` and ``timing``."""
        defaults = {name: parameter.default for name, parameter in self._parameters().items() if name != "self"}
        return {name: value for name, value in {**defaults, **self._arguments}.items() if name not in OTHERS}

    def has_parameters_of(self, another: BaseEnv) -> bool:
        """Whether this task and another have equal arguments and equal later changes."""

        def of(task: BaseEnv) -> list[object]:
            attributes = {name: vars(task)[name] for name in task.parameters() if name in vars(task)}
            return [task.arguments(), [dict(table) for table in task.parameter_tables.values()], attributes]

        return type(self) is type(another) and not differ(of(self), of(another))

    @classmethod
    def _parameters(cls) -> dict[str, inspect.Parameter]:
        """All named arguments of the constructor, including arguments forwarded to base constructors."""
        parameters: dict[str, inspect.Parameter] = {}
        for base in cls.__mro__:
            if "__init__" not in vars(base) or not issubclass(base, BaseEnv):
                continue
            named = inspect.signature(vars(base)["__init__"]).parameters
            parameters = {**{name: p for name, p in named.items() if p.kind is not p.VAR_KEYWORD}, **parameters}
            if not any(p.kind is p.VAR_KEYWORD for p in named.values()):
                break
        return parameters

    def copy_with(self, changes: Mapping[str, object]) -> Self:
        """Make a task with some arguments changed, and with reproducible random draws."""
        twin = type(self).__new__(type(self))
        twin.np_random = np.random.Generator(np.random.PCG64(0))
        type(self).__init__(twin, **{**self._arguments, **changes})
        return twin

    def _other_space(self, twin: Any) -> str:
        """Name of a space that differs from another task's; empty if both spaces are equal."""
        if self.observation_space != twin.observation_space:
            return "observation_space"
        return "action_space" if self.action_space != twin.action_space else ""

    def copy_differences(self, twin: object, changes: Mapping[str, object]) -> None:
        """Copy the attributes in which a task made with some changes differs from a task made without.

        Raises:
            ValueError: If a space differs.
        """
        before, after = vars(self.copy_with({})), vars(twin)
        space = self._other_space(twin)
        if space:
            raise ValueError(
                f"{', '.join(changes)} would change the {space.replace('_', ' ')} of {type(self).__name__}: "
                "make another environment"
            )
        for name, value in after.items():
            if name in _OF_SESSION or isinstance(value, np.random.Generator):
                continue
            if isinstance(value, TrackedDict) and isinstance(vars(self).get(name), TrackedDict):
                for key, entry in value.items():
                    if key not in before[name] or differ(before[name][key], entry):
                        vars(self)[name].replace(key, entry)
                for key in before[name].keys() - value.keys():
                    dict.pop(vars(self)[name], key, None)
            elif name not in before or differ(before[name], value):
                vars(self)[name] = value
        self._arguments = {**self._arguments, **changes}


def differ(a: object, b: object) -> bool:
    """Whether two values have different contents.

    Random generators, and environments of one class, count as equal. Functions are compared with what they enclose.
    """
    if a is b:
        return False
    try:
        return _contents(a) != _contents(b)
    except Exception:  # whatever a user's object raises when it is pickled
        return True


def _contents(value: object) -> bytes:
    import cloudpickle

    class Pickler(cloudpickle.Pickler):
        def persistent_id(self, value: object) -> str | None:
            return type(value).__name__ if isinstance(value, (gym.Env, np.random.Generator)) else None

    buffer = io.BytesIO()
    Pickler(buffer).dump(value)
    return buffer.getvalue()
