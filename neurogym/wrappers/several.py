"""What environments of several tasks share: do the tasks fit together, and what are they called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from neurogym.core import TrialEnv, TrialWrapper
from neurogym.utils.scheduler import BaseSchedule
from neurogym.vector import layers


def check_tasks(envs: Sequence[gym.Env], owner: str) -> None:
    """Refuse what cannot be part of an environment of several tasks.

    Args:
        envs: The tasks, wrapped or not.
        owner: What they are to be part of, for messages.

    Raises:
        TypeError: If one is no trial-based task.
        ValueError: If a wrapper is inside that must be outside, or time steps differ.
    """
    for env in envs:
        if not isinstance(env.unwrapped, TrialEnv):
            raise TypeError(f"{owner} needs trial-based tasks, not {env.unwrapped}")
        for layer in layers(env):
            changed = isinstance(layer, TrialWrapper) and any(
                getattr(type(layer), name) is not getattr(TrialWrapper, name) for name in ("observe", "step")
            )
            if changed:
                name = type(layer).__name__
                raise ValueError(f"{name} must be outside {owner}: first {owner} with the tasks, then {name}")
    steps = {name_of(env): env.unwrapped.dt for env in envs}  # type: ignore[attr-defined]
    if len({env.unwrapped.dt for env in envs}) > 1:  # type: ignore[attr-defined]
        listed = ", ".join(f"{name} {dt:g}" for name, dt in steps.items())
        raise ValueError(f"{owner} needs tasks with the same dt, got {listed} ms")


def check_spaces(envs: Sequence[gym.Env], schedule: BaseSchedule | None, pad: bool) -> None:
    """Refuse tasks whose trials cannot follow each other.

    Args:
        envs: The tasks.
        schedule: Names the task of each trial.
        pad: Whether vectors and discrete actions may be widened.

    Raises:
        ValueError: If there is no task, the schedule has another number of conditions, or spaces differ.
    """
    if not envs:
        raise ValueError("ScheduleEnvs needs at least one task")
    if schedule is not None and schedule.n != len(envs):
        raise ValueError(f"the schedule has {schedule.n} conditions, but there are {len(envs)} tasks")
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


def _size(env: gym.Env) -> Any:
    return getattr(env.action_space, "n", env.action_space.shape)


def name_of(env: gym.Env) -> str:
    """Id of a task, or the name of its class."""
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def distinct(names: Sequence[str]) -> list[str]:
    """The names, numbered where one occurs more than once."""
    listed = list(names)
    return [
        name if listed.count(name) == 1 else f"{name}#{listed[:i].count(name) + 1}" for i, name in enumerate(listed)
    ]


def carries(env: gym.Env) -> bool:
    """Whether a task or one of its wrappers carries information across trials."""
    inner = env.unwrapped.metadata.get("carries", False)
    return bool(inner) or any(getattr(layer, "carries", False) for layer in layers(env))
