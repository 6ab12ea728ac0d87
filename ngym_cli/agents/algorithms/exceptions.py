"""Task-specific defaults of ``tasks.toml``, each with a reason. No torch here."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from ngym_cli.agents.options import Values

__all__ = ["BUDGETS", "EXCEPTIONS", "TaskDefaults", "budget", "exceptional"]


@dataclass(frozen=True)
class TaskDefaults:
    """Task-specific defaults that replace the algorithm's defaults.

    Attributes:
        reason: why the defaults differ.
        hyperparameters: replace the algorithm's defaults; settings of the user have priority.
        algorithm: the task's default algorithm, to which the hyperparameters apply.
        network_args: replace the network's defaults, for networks that have these arguments.
    """

    reason: str
    hyperparameters: Values = field(default_factory=dict)
    algorithm: str = "recurrent_ppo"
    network_args: Values = field(default_factory=dict)

    @property
    def settings(self) -> Values:
        """All that is different."""
        return {**self.hyperparameters, **self.network_args}


_TASKS = tomllib.loads(Path(__file__).parents[1].joinpath("tasks.toml").read_text(encoding="utf-8"))

#: Id of the task to its defaults.
EXCEPTIONS: dict[str, TaskDefaults] = {
    task: TaskDefaults(**{key: value for key, value in row.items() if key != "timesteps"})
    for task, row in _TASKS.items()
    if "reason" in row
}

#: Id of the task to its default number of steps.
BUDGETS: dict[str, int] = {task: row["timesteps"] for task, row in _TASKS.items() if "timesteps" in row}

#: Time constant of the discount in reaction-time tasks: a reward 100 ms later is worth 1 % less.
DISCOUNT_PER_100_MS = 0.99


def reaction_time(dt: float) -> TaskDefaults:
    """Return the defaults of reaction-time tasks, in which the agent decides when to respond.

    With the usual discount (0.9 per step) waiting never increases the return, and the agent responds after a single
    step at every coherence.

    Args:
        dt: time step (ms).
    """
    gamma = round(DISCOUNT_PER_100_MS ** (dt / 100), 6)
    return TaskDefaults("time costs 1 % of the reward per 100 ms, so that looking longer can pay", {"gamma": gamma})


def exceptional(task: str, rt_from: str, dt: float) -> TaskDefaults | None:
    """Return the defaults specific to a task, or None.

    Args:
        task: id.
        rt_from: period from which its reaction times count; "stimulus" where it may be answered while it is seen.
        dt: time step (ms).
    """
    return reaction_time(dt) if rt_from == "stimulus" else EXCEPTIONS.get(task)


def budget(task: str, taught: bool, needs_truth: bool, recurrent: bool = True) -> int | None:
    """Return the default number of steps of a task, or None where the default of the algorithm applies.

    A task's number holds for every recurrent algorithm that learns from the same signal as the task's default
    algorithm: reward, or the right actions.

    Args:
        task: id.
        taught: whether the task is learned from the right actions by default.
        needs_truth: whether the algorithm of the run learns from the right actions.
        recurrent: whether the algorithm of the run trains networks with memory.
    """
    return BUDGETS.get(task) if recurrent and taught == needs_truth else None
