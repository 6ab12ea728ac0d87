"""Measured results of default lines: which tasks a learner learns, in how many steps and seconds, with how many seeds.

The numbers are in ``measured.json``, which `python -m experiments.records --texts` writes from the records.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ngym_cli.config import RunConfig, from_dict

FILE = Path(__file__).with_name("measured.json")

#: Learners with a table: name to the settings that differ from ``ngym run --task TASK``.
LEARNERS: dict[str, dict[str, Any]] = {
    "default": {},
    "recommended": {"recommended": True},
    "recurrent_a2c": {"alg": "recurrent_a2c"},
    "reinforce": {"alg": "reinforce"},
    "supervised": {"alg": "supervised"},
    "gru": {"network": "gru"},
    "ctrnn": {"network": "ctrnn"},
    "rnn": {"network": "rnn"},
}

#: Share of seeds that must reach 95 % of the ceiling for a task to count as learned.
ENOUGH = 0.9

#: Settings of a run that decide how many steps are needed, with the flag of each.
DECISIVE = {
    "dt": "--dt", "task_args": "--task-arg", "timing": "--timing", "rewards": "--reward", "wrappers": "--wrappers",
    "network_args": "--network-arg", "units": "--units", "n_envs": "--n-envs", "hyperparameters": "--set",
    "init_from": "--init-from", "reset_state": "--reset-state",
}  # fmt: skip


@dataclass(frozen=True)
class Measured:
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
def _tables() -> dict[str, dict[str, Measured]]:
    if not FILE.is_file():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: {id_: Measured(**row) for id_, row in rows.items()} for name, rows in found.items()}


def measured(task: str, learner: str = "default") -> Measured | None:
    """Return the measured result of a task with a learner, or None where not measured.

    Args:
        task: id.
        learner: a key of `LEARNERS`.
    """
    return _tables().get(learner, {}).get(task)


def learner_of(config: RunConfig) -> str | None:
    """Return the learner of a configuration before defaults are spelled out, or None where there is no table."""
    names = ("alg", "network", *DECISIVE)
    for name, settings in LEARNERS.items():
        line = from_dict({"task": config.task, **settings})
        if all(getattr(config, key) == getattr(line, key) for key in names):
            return name
    return None


def changed(config: RunConfig) -> list[str]:
    """Return the flags of the given settings for which a default number of steps was not measured."""
    blank = RunConfig()
    return [flag for key, flag in DECISIVE.items() if getattr(config, key) != getattr(blank, key)]


def about_steps(config: RunConfig, task: str) -> str:
    """Return where the default number of steps of a run comes from; empty where ``--timesteps`` was given.

    Args:
        config: configuration before defaults are spelled out.
        task: id of the task.
    """
    if config.timesteps is not None or config.stages:
        return ""
    learner = learner_of(config)
    flags = [] if learner else changed(config)
    if flags:
        return f" (default, not scaled for {', '.join(flags)})"
    found = measured(task, learner) if learner else None
    return f" (default, learned by {found.share} seeds)" if found else " (default)"
