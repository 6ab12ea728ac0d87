"""Base of environments with several tasks: compatibility checks, names and parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.core import TrialEnv, TrialWrapper
from neurogym.parameters.changes import names_of
from neurogym.sampling.scheduler import BaseSchedule
from neurogym.spaces import n_actions
from neurogym.wrappers.forwarding import layers


class JointParameters:
    """Environment whose parameters are the parameters of several tasks.

    Attributes:
        tasks: The tasks, in order.
    """

    tasks: list[TrialEnv]

    def name_in(self, j: int, kind: str, name: str) -> str | None:
        """Name in task ``j`` of a parameter, reward or period of this environment; None if absent."""
        return name

    def name_here(self, j: int, kind: str, name: str) -> str:
        """Name in this environment of a parameter, reward or period of task ``j``."""
        return name

    def _known_names(self, kind: str) -> list[str]:
        """Names of everything that can be changed in any task."""
        names = [self.name_here(j, kind, name) for j in range(len(self.tasks)) for name in self._names(j, kind)]
        return [name for name in dict.fromkeys(names) if self._takes(kind, name)]

    def _takes(self, kind: str, name: str) -> bool:
        """Whether any task has a parameter, reward or period of this name."""
        return any(self.name_in(j, kind, name) in self._names(j, kind) for j in range(len(self.tasks)))

    def _change(self, tables: Mapping[str, Mapping[str, object]], parameters: Mapping[str, object]) -> None:
        """Pass changed parameters and dictionary entries on to the tasks that have these names."""
        for j, task in enumerate(self.tasks):
            of_task = {kind: self._own(j, kind, table) for kind, table in tables.items()}
            task.update(**of_task, **self._own(j, "parameters", parameters))
        super()._change(tables, {})  # type: ignore[misc]  # of the task with which this class is combined

    def _names(self, j: int, kind: str) -> Collection[str]:
        task = self.tasks[j]
        return names_of(task) if kind == "parameters" else getattr(task, kind)

    def _own(self, j: int, kind: str, changes: Mapping[str, object]) -> dict[str, Any]:
        names = {name: self.name_in(j, kind, name) for name in changes}
        return {inner: changes[name] for name, inner in names.items() if inner in self._names(j, kind)}  # type: ignore[misc]


def joint_conditions(tasks: Sequence[TrialEnv]) -> dict[str, Any]:
    """Conditions of several tasks: of one name, all values that any task draws; a distribution stands for itself."""
    joint: dict[str, Any] = {}
    for task in tasks:
        for name, values in task.conditions.items():
            known = joint.setdefault(name, values)
            if known is not values and all(isinstance(each, np.ndarray) and each.ndim == 1 for each in (known, values)):
                joint[name] = np.array(list(dict.fromkeys([*known.tolist(), *values.tolist()])))
    return joint


def check_tasks(envs: Sequence[gym.Env], owner: str, steps_wrappers: bool) -> None:
    """Refuse environments that cannot be combined with other tasks.

    Args:
        envs: The tasks, wrapped or not.
        owner: What they are to be part of, for messages.
        steps_wrappers: Whether it steps the wrappers that are inside, so that they may override ``step``.

    Raises:
        TypeError: If an environment is not a trial-based task.
        ValueError: If a wrapper is inside that must be outside, time steps differ, or a task has jumps.
    """
    for env in envs:
        if not isinstance(env.unwrapped, TrialEnv):
            raise TypeError(f"{owner} needs trial-based tasks, not {env.unwrapped}")
        if env.unwrapped.rule is not None and env.unwrapped.rule.jumps:
            raise ValueError(
                f"{owner} needs tasks whose periods are laid out in advance, {name_of(env)} has jumps; expected tasks "
                "without jumps (train such a task alone, or in a stage of its own)"
            )
        for layer in layers(env):
            if not isinstance(layer, TrialWrapper):
                continue
            if layer.hooks.shows or (layer.hooks.own_step and not steps_wrappers):
                name = type(layer).__name__
                raise ValueError(f"{name} must be outside {owner}: first {owner} with the tasks, then {name}")
    steps = {name_of(env): env.unwrapped.dt for env in envs}  # type: ignore[attr-defined]
    if len({env.unwrapped.dt for env in envs}) > 1:  # type: ignore[attr-defined]
        listed = ", ".join(f"{name} {dt:g}" for name, dt in steps.items())
        raise ValueError(f"{owner} needs tasks with the same dt, got {listed} ms")


def check_spaces(envs: Sequence[gym.Env], schedule: BaseSchedule | None, pad: bool, presented: int) -> None:
    """Refuse tasks with incompatible spaces.

    Args:
        envs: The tasks.
        schedule: Names the task of each trial.
        pad: Whether vectors and discrete actions may be widened.
        presented: Number of tasks that the schedule selects from.

    Raises:
        ValueError: If there is no task, the schedule has another number of conditions, or spaces differ.
    """
    if not envs:
        raise ValueError("ScheduleEnvs needs at least one task")
    if schedule is not None and schedule.n != presented:
        held_out = "" if presented == len(envs) else f", {len(envs) - presented} of them held out"
        raise ValueError(f"the schedule has {schedule.n} conditions, but there are {len(envs)} tasks{held_out}")
    first = envs[0]
    for env in envs[1:]:
        discrete = all(isinstance(e.action_space, gym.spaces.Discrete) for e in (env, first))
        paddable = discrete and len(env.observation_space.shape or ()) == len(first.observation_space.shape or ()) == 1
        same = env.observation_space.shape == first.observation_space.shape and _size(env) == _size(first)
        if not (same or (pad and paddable)):
            raise ValueError(
                f"{name_of(env)} ({env.observation_space.shape} observation, {env.action_space}) does not fit "
                f"{name_of(first)} ({first.observation_space.shape} observation, {first.action_space})"
                + ("; pad=True widens the smaller one" if paddable and not pad else "")
            )


def _size(env: gym.Env) -> int | tuple[int, ...] | None:
    return n_actions(env.action_space) or env.action_space.shape


def name_of(env: gym.Env) -> str:
    """Id of a task, or the name of the class."""
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def distinct(names: Sequence[str]) -> list[str]:
    """Return the names with numbers appended to repeated names."""
    listed = list(names)
    return [
        name if listed.count(name) == 1 else f"{name}#{listed[:i].count(name) + 1}" for i, name in enumerate(listed)
    ]
