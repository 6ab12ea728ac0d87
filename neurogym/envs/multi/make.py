"""Construction of environments with several tasks, by name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from neurogym.core import OrderEnforcing
from neurogym.envs import registration
from neurogym.envs.collections import COLLECTIONS
from neurogym.envs.multi.fitting import distinct
from neurogym.envs.multi.instructions import Instructions, without
from neurogym.envs.multi.schedule import ScheduleEnvs
from neurogym.sampling.scheduler import BaseSchedule, OnceSchedule, schedule_from


def task_ids(text: str | Sequence[str]) -> list[str]:
    """Ids of the tasks that a text names.

    Args:
        text: A collection (``"yang19"``), ids joined by ``+`` (``"RDM-v0+GoNogo-v0"``), or a list of ids.

    Raises:
        gymnasium.error.NameNotFound: If one of them does not exist.
    """
    names = text.split("+") if isinstance(text, str) else list(text)
    listed = [id_ for name in names for id_ in (registration.get_collection(name) if name in COLLECTIONS else [name])]
    return [registration.registered_id(name.strip()) for name in listed]


def make_multi(
    ids: str | Sequence[str],
    schedule: str | BaseSchedule = "random",
    rule_input: bool = True,
    pad: bool = True,
    instructions: Instructions | None = None,
    held_out: str | Sequence[str] | None = None,
    **kwargs: Any,
) -> gym.Env:
    """Make an environment with several tasks, which alternate between trials; see :class:`ScheduleEnvs`.

    Args:
        ids: A collection (``"yang19"``), ids joined by ``+``, or a list of ids.
        schedule: ``random``, ``norepeat``, ``sequential``, ``block:100``, ``sequential_block:100``, or a schedule.
        rule_input: Whether channels ``task`` show the agent which task runs (one-hot).
        pad: Whether tasks with fewer channels or actions are widened; otherwise they are refused.
        instructions: Vectors shown in place of the one-hot input: a file (.npy, .npz) or table (tasks x dimensions), or
            the number of dimensions of random vectors of length 1.
        held_out: Tasks never presented, for tests of what an agent does from their instructions alone: leave it out to
            evaluate on all tasks.
        **kwargs: Arguments of the tasks; each gets those that it takes, of ``timing`` and ``rewards`` the entries
            that it has.

    Raises:
        gymnasium.error.NameNotFound: If a task does not exist.
        ValueError: If the tasks do not fit together, there is no such schedule, or no task takes an argument.

    Example:
        >>> env = make_multi("RDM-v0+DelayComparison-v0", schedule="block:100", dt=50)
        >>> env.observation_space.shape
        (5,)
    """
    names = task_ids(ids)
    if instructions is not None and not rule_input:
        raise ValueError("instructions are shown as rule input, but rule_input is false")
    used: set[str] = set()
    envs = [registration.make(name, **_own_arguments(name, kwargs, used)) for name in names]
    for name, value in kwargs.items():
        for key_name in [f"{name}.{key}" for key in value] if name in ("timing", "rewards") and value else [name]:
            if key_name not in used:
                raise ValueError(f"none of the tasks takes {key_name.replace('.', ' ')}: {', '.join(names)}")
    left = len(without(distinct(names), held_out))
    plan = schedule_from(schedule, left) if isinstance(schedule, str) else schedule
    return OrderEnforcing(ScheduleEnvs(envs, plan, rule_input, distinct(names), pad, instructions, held_out))


def _own_arguments(name: str, kwargs: Mapping[str, Any], used: set[str]) -> dict[str, object]:
    """The arguments that a task takes; what is used is noted in ``used``."""
    parameters = inspect.signature(registration.entry(name)).parameters
    everything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    arguments = {}
    for key, setting in kwargs.items():
        value = setting
        if key in ("timing", "rewards") and value:
            has = getattr(registration.make(name).unwrapped, key, {})
            value = {entry: amount for entry, amount in value.items() if entry in has}
            used.update(f"{key}.{entry}" for entry in value)
            if not value:
                continue
        if everything or key in parameters:
            arguments[key] = value
            used.add(key)
    return arguments


class TransferLearning(ScheduleEnvs):
    """Present each task for a number of trials, then the next task; the last task continues indefinitely.

    Tasks with fewer channels or actions are widened (see ``pad`` of :class:`ScheduleEnvs`). The trial's record has the
    task as ``task``.

    Args:
        envs: The tasks, wrapped or not.
        num_tr_per_task: Trials of each task; that of the last may be left out.
        task_cue: Whether channels ``task`` show the agent which task runs (one-hot).

    Raises:
        ValueError: If there are not as many numbers as tasks, or tasks do not fit together.
    """

    state = ()

    def __init__(self, envs: Sequence[gym.Env], num_tr_per_task: Sequence[int], task_cue: bool = False):
        envs = list(envs)
        super().__init__(envs, OnceSchedule(len(envs), num_tr_per_task), env_input=task_cue, pad=True)
