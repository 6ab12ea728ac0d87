"""Learning of each task: defaults and measured results.

Defaults are in ``ngym_cli/config/tasks.toml``. Results are in ``measured.json``, which
`python -m experiments.records --texts` writes from the records. No torch here.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngym_cli.config.tasks import defaults_table, is_supervised_by_default, recommended
from ngym_cli.config.values import Values
from ngym_cli.errors import option

if TYPE_CHECKING:
    from ngym_cli.agents.algorithms import AlgorithmSpec
    from ngym_cli.config.model import RunConfig

MEASURED = Path(__file__).with_name("measured.json")

# -- defaults of a task ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TaskDefaults:
    """Task-specific defaults that replace the algorithm's defaults.

    Attributes:
        reason: why the defaults differ.
        hyperparameters: replace the algorithm's defaults; settings of the user have priority.
        algorithm: the task's default algorithm, to which the hyperparameters apply.
        network_args: replace the network's defaults, for networks that have these arguments.
        timesteps: number of steps of a run; None: that of the task (`BUDGETS`) or of the algorithm.
        n_envs: number of parallel environments; None: that of the algorithm.
    """

    reason: str
    hyperparameters: Values = field(default_factory=dict)
    algorithm: str = "recurrent_ppo"
    network_args: Values = field(default_factory=dict)
    timesteps: int | None = None
    n_envs: int | None = None

    @property
    def settings(self) -> Values:
        """All that is different."""
        numbers = {"timesteps": self.timesteps, "n_envs": self.n_envs}
        different = {name: value for name, value in numbers.items() if value is not None}
        return {**different, **self.hyperparameters, **self.network_args}


#: Entries of the table that are defaults of the task's default algorithm.
OF_THE_ALGORITHM = ("reason", "hyperparameters", "algorithm", "network_args", "n_envs")

#: Id of the task to its defaults.
EXCEPTIONS: dict[str, TaskDefaults] = {
    task: TaskDefaults(**{key: row[key] for key in OF_THE_ALGORITHM if key in row})
    for task, row in defaults_table().items()
    if "reason" in row
}

#: Task and algorithm to the defaults of the task with this algorithm, which is not the task's default algorithm.
OTHER_ALGORITHMS: dict[tuple[str, str], TaskDefaults] = {
    (task, name): TaskDefaults(algorithm=name, **defaults)
    for task, row in defaults_table().items()
    for name, defaults in row.get("algorithms", {}).items()
}

#: Id of the task to its default number of steps, for every recurrent algorithm that learns from the same signal (reward
#: or right actions) as the task's default algorithm.
BUDGETS: dict[str, int] = {task: row["timesteps"] for task, row in defaults_table().items() if "timesteps" in row}


def usual_steps(task: str, algorithm: AlgorithmSpec) -> int:
    """Return the number of steps of a run of a single task with its usual stages.

    Args:
        task: id.
        algorithm: entry of the algorithm.
    """
    special = OTHER_ALGORITHMS.get((task, algorithm.name))
    if special is not None and special.timesteps is not None:
        return special.timesteps
    alike = algorithm.recurrent and algorithm.supervised == is_supervised_by_default(task)
    return BUDGETS.get(task, algorithm.timesteps) if alike else algorithm.timesteps


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
    """Return the defaults specific to a task with its default algorithm, or None; see `OTHER_ALGORITHMS` for others.

    Args:
        task: id.
        rt_from: period from which its reaction times count; "stimulus" where it may be answered while it is seen.
        dt: time step (ms).
    """
    return reaction_time(dt) if rt_from == "stimulus" else EXCEPTIONS.get(task)


# -- measured results -------------------------------------------------------------------------------------------------

#: Learners with a table: name to the settings that differ from ``ngym run --task TASK``.
LEARNERS: dict[str, dict[str, object]] = {
    "default": {},
    "recommended": {"recommended": True},
    **{alg: {"alg": alg} for alg in ("recurrent_ppo", "recurrent_a2c", "reinforce", "supervised")},
    **{network: {"network": network} for network in ("gru", "ctrnn", "rnn")},
}

#: Share of seeds that must reach 95 % of the ceiling for a task to count as learned.
ENOUGH = 0.9

#: Settings of a run that decide how many steps are needed, with the flag of each.
DECISIVE = {
    "dt": "--dt",
    "task_args": "--task-arg",
    "timing": "--timing",
    "rewards": "--reward",
    "wrappers": "--wrappers",
    "network_args": "--network-arg",
    "units": "--units",
    "n_envs": "--n-envs",
    "hyperparameters": "--set",
    "init_from": "--init-from",
    "reset_state": "--reset-state",
}


@dataclass(frozen=True)
class LineResult:
    """Result of a line with several seeds.

    Attributes:
        steps: steps of a run.
        seconds: median processor time of a run (s), one thread.
        seeds: number of seeds.
        reached: number of seeds that end at 95 % of the ceiling or above.
        performance: median performance at the end.
        target: 95 % of the ceiling.
    """

    steps: int
    seconds: float
    seeds: int
    reached: int
    performance: float
    target: float

    @property
    def learned(self) -> bool:
        """Whether enough seeds reach 95 % of the ceiling."""
        return self.reached >= ENOUGH * self.seeds

    @property
    def share(self) -> str:
        """Number of seeds that reach 95 % of the ceiling, as in "9 of 10"."""
        return f"{self.reached} of {self.seeds}"

    def __str__(self) -> str:
        """Return the result as a phrase."""
        effort = f"{self.seconds:.0f} s, {self.steps:,} steps"
        if self.reached:
            return f"in {effort}; {self.share} seeds"
        best = f"{self.performance:.2f} of {self.target:.2f}"
        return f"not learned: {best} after {effort}; {self.share} seeds"


@functools.cache
def measurements() -> dict[str, dict[str, LineResult]]:
    """Return the measured results by learner and task; empty if there are none."""
    tables: dict[str, dict[str, Any]] = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.is_file() else {}
    return {name: {id_: LineResult(**row) for id_, row in rows.items()} for name, rows in tables.items()}


def measured(task: str, learner: str = "default") -> LineResult | None:
    """Return the measured result of a task with a learner, or None where not measured.

    Args:
        task: id.
        learner: a key of `LEARNERS`.
    """
    return measurements().get(learner, {}).get(task)


def flags(learner: str) -> str:
    """Return the flags of ``ngym run`` that select a learner, a key of `LEARNERS`; empty for the default line."""
    return " ".join(f"--{name}" if value is True else f"--{name} {value}" for name, value in LEARNERS[learner].items())


def line(learner: str, task: str) -> str:
    """Return the command that trains a task with a learner, a key of `LEARNERS`."""
    return f"ngym run --task {task} {flags(learner)}".rstrip()


def _default_line(task: str, settings: Values | None = None) -> RunConfig:
    """Return the configuration of ``ngym run --task TASK``, with some other settings."""
    from ngym_cli.config.model import from_dict  # lists of tasks build no configuration

    return from_dict({"task": task, **(settings or {})})


def learner_of(config: RunConfig) -> str | None:
    """Return the learner of a configuration before defaults are spelled out, or None where there is no table."""
    is_plain = not changed(config)
    for name, settings in LEARNERS.items():
        line = _default_line(config.task, settings)
        if name != "recommended":
            if is_plain and (line.alg, line.network) == (config.alg, config.network):
                return name
        elif recommended(config.task) is not None and all(
            getattr(config, key) == getattr(line, key) for key in ("alg", "network", *DECISIVE)
        ):
            return name
    return None


def measured_seconds(config: RunConfig, task: str, steps: int) -> float | None:
    """Return the processor time (s) that a number of steps took where the line was measured; None elsewhere.

    Args:
        config: configuration before defaults are spelled out.
        task: id of the task.
        steps: number of steps.
    """
    learner = learner_of(config)
    result = measured(task, learner) if learner else None
    return result.seconds * steps / result.steps if result else None


def has_own_stages(config: RunConfig) -> bool:
    """Return whether a run has stages other than the default stages of its task."""
    return bool(config.stages) and config.stages != _default_line(config.task).stages


def changed(config: RunConfig) -> list[str]:
    """Return the flags of the given settings for which a default number of steps was not measured."""
    defaults = _default_line(config.task)
    return [flag for key, flag in DECISIVE.items() if getattr(config, key) != getattr(defaults, key)]


def about_steps(config: RunConfig, task: str) -> str:
    """Return where the default number of steps of a run comes from; empty where ``--timesteps`` was given.

    Args:
        config: configuration before defaults are spelled out.
        task: id of the task.
    """
    if config.timesteps is not None or has_own_stages(config):
        return ""
    learner = learner_of(config)
    flags = [] if learner else changed(config)
    if flags:
        return f" (default, not scaled for {', '.join(map(option, flags))})"
    result = measured(task, learner) if learner else None
    return f" (default, learned by {result.share} seeds)" if result else " (default)"
