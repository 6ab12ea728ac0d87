"""Complete defaults of a task and of wrappers, so that a run's record is explicit."""

from __future__ import annotations

import inspect as inspection
import math
from collections.abc import Callable
from typing import Any

import gymnasium as gym

from neurogym.envs.multi import ScheduleEnvs
from neurogym.messages.plain_data import is_plain
from ngym_cli.config import RunConfig
from ngym_cli.config.extensions import keyword_parameters
from ngym_cli.config.sections import with_none, written_duration
from ngym_cli.config.tasks import ALWAYS, Task, built_in, find_task, find_wrapper
from ngym_cli.environments.properties import TaskProperties, inspect, links_trials
from ngym_cli.environments.stack import inner_task, make_env
from ngym_cli.errors import UserError


def resolve(config: RunConfig) -> tuple[RunConfig, TaskProperties]:
    """Spell out every default of task and wrappers.

    ``ngym_cli.agents.from_config.complete`` does the same for the agent.
    No torch is imported.

    Returns:
        The configuration and what is known of the task.

    Raises:
        UserError: on anything in it that does not exist or does not fit together.
    """
    task = find_task(config.task)
    properties = inspect(config, trained=True)
    inner = inner_task(make_env(task, config.model_copy(update={"wrappers": []})))
    resolved: dict[str, Any] = {"dt": int(properties.dt) if properties.dt.is_integer() else properties.dt}
    plain_defaults = {key: with_none(value) for key, value in _plain_defaults(task).items()}
    resolved["task_args"] = {**plain_defaults, **config.task_args}
    if task.several and isinstance(config.task_args.get("instructions"), str):  # a run keeps the table, not its place
        assert isinstance(inner, ScheduleEnvs) and inner.rule_input.rows is not None
        resolved["task_args"]["instructions"] = inner.rule_input.rows.tolist()
    takes = keyword_parameters(task.entry)
    if not task.several and (takes is None or "timing" in takes):
        written = {period: written_duration(value) for period, value in inner.timing.items()}
        resolved["timing"] = {period: value for period, value in written.items() if value is not None} | config.timing
    if not task.several and (takes is None or "rewards" in takes):
        resolved["rewards"] = {
            key: float(value)
            for key, value in inner.rewards.items()
            if isinstance(key, str) and isinstance(value, int | float) and math.isfinite(value)
        } | config.rewards
    resolved["wrappers"] = [
        entry.model_copy(update={"args": {**_wrapper_defaults(entry.name), **entry.args}}) for entry in config.wrappers
    ]
    if config.reset_state == "auto":
        remembered = properties.links_trials or any(_stage_links_trials(config, k) for k in range(len(config.stages)))
        resolved["reset_state"] = "never" if remembered else "trial"
    return config.model_copy(update=resolved), properties


def rounding(config: RunConfig, properties: TaskProperties) -> str | None:
    """Return a line about durations that are not whole steps, with the durations of the trials; None if all are.

    Args:
        config: complete configuration.
        properties: known properties of the task; the environment has been reset.
    """
    starts, ends = (getattr(properties.inner, name, None) or {} for name in ("start_t", "end_t"))
    changed = []
    for period, written in config.timing.items():
        if isinstance(written, bool) or not isinstance(written, int | float) or period not in starts:
            continue
        actual = float(ends[period] - starts[period])
        # Wrappers that move a period, such as reaction_time, change it by more than a step.
        if 1e-6 * properties.dt < abs(actual - written) < properties.dt and actual > 0:
            changed.append(f"{period} {written:g} ms becomes {actual:g} ms")
    return f"durations are whole steps of {properties.dt:g} ms: {', '.join(changed)}" if changed else None


def _stage_links_trials(config: RunConfig, index: int) -> bool:
    stage_config = config.in_stage(index)
    try:
        task = find_task(stage_config.task)
        return links_trials(make_env(task, stage_config), task)
    except UserError as error:
        raise UserError(f"stage {config.stages[index].name or index + 1}: {error}") from error


def _plain_defaults(task: Task) -> dict[str, object]:
    """Return the task's arguments: defaults, those fixed by an alias, and those with which networks learn better."""
    registered = {} if task.own else dict(gym.registry[task.name].kwargs) if task.name in gym.registry else {}
    without = ("dt", "timing", "rewards")
    if task.several:
        parameters = inspection.signature(task.entry).parameters
        return {name: p.default for name, p in parameters.items() if name not in without and is_plain(p.default)}
    fixed = {name: value for name, value in registered.items() if name not in without and is_plain(value)}
    return {**_defaults(task.entry, without), **fixed, **built_in(task.name)[1].get("trained_with", {})}


def _wrapper_defaults(name: str) -> dict[str, object]:
    cls = find_wrapper(name)
    defaults = {**_defaults(cls, ("env", "envs")), **ALWAYS.get(cls.__name__, {})}
    return {key: with_none(value) for key, value in defaults.items()}


def _defaults(entry: Callable[..., object], without: tuple[str, ...]) -> dict[str, object]:
    """Return the default arguments with plain values (numbers, truth values, words, lists)."""
    parameters = keyword_parameters(entry) or {}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in parameters.items()
        if name not in without and is_plain(value)
    }
