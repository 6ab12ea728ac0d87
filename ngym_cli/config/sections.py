"""Sections of a configuration: task, stages of training, evaluations and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_serializer, model_validator

from ngym_cli.config.values import parse_duration, parse_wrappers

#: Largest number of trials in an evaluation, whose table is held in memory.
MOST_TRIALS = 10_000_000

#: Groups of options in the help of commands.
TASK, AGENT, RUN = "Task", "Agent", "Run"


def written(flag: str, panel: str, completes: str = "", changes: bool = False, sweeps: bool = True) -> dict[str, Any]:
    """Return the description of a command-line option, from which ``ngym_cli.config.flags`` makes the option.

    Args:
        flag: name of the option, with underscores.
        panel: group of options in the help.
        completes: name of the completion function in ``ngym_cli.commands.completion``.
        changes: whether an evaluation can change the field.
        sweeps: whether a sweep can vary the field.
    """
    return {"flag": flag, "panel": panel, "completes": completes, "changes": changes, "sweeps": sweeps}


class Section(BaseModel):
    """Section of a configuration: unknown keys are errors, assignments are checked."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True, allow_inf_nan=False)


class WrapperConfig(Section):
    """Wrapper with arguments; in TOML a table of ``name`` and the arguments."""

    name: str
    args: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, data: object) -> Any:
        if isinstance(data, str):
            entries = parse_wrappers(data)
            if len(entries) != 1:
                raise ValueError(f"expected one wrapper, not '{data}'")
            data = entries[0]
        if isinstance(data, Mapping) and "args" not in data:
            return {"name": data.get("name"), "args": {key: value for key, value in data.items() if key != "name"}}
        return data

    @model_serializer
    def _to_flat(self) -> dict[str, Any]:
        return {"name": self.name, **self.args}


class EvaluationConfig(Section):
    """Evaluation on fresh trials with frozen weights, during and after a run."""

    every: int | None = Field(
        default=None,
        ge=0,
        description="steps between evaluations; 0 for one at the end only (100,000; more for long trials)",
        json_schema_extra=written("eval_every", RUN),
    )
    trials: int | None = Field(
        default=None,
        ge=1,
        le=MOST_TRIALS,
        description="trials of each evaluation (2,000; fewer for images and in short runs)",
        json_schema_extra=written("eval_trials", RUN),
    )
    deterministic: bool = Field(default=True, description="take the most probable action instead of drawing actions")


class CheckpointConfig(Section):
    """Checkpoints, from which a run can be resumed."""

    every: int = Field(
        default=100_000,
        ge=0,
        description="steps between checkpoints; 0 for one when interrupted only (100,000)",
        json_schema_extra=written("checkpoint_every", RUN),
    )
    keep: int = Field(default=2, ge=1, description="number of last checkpoints kept, besides the best")


class TaskSettings(Section):
    """Settings of a task, which a stage of a curriculum can override."""

    dt: float | None = Field(
        None,
        ge=0.1,
        le=1e6,
        description="time step in ms (default of the task, mostly 100)",
        json_schema_extra=written("dt", TASK, changes=True),
    )
    task_args: dict[str, Any] = Field(
        default_factory=dict,
        description="argument of the task, as in cohs=0/10/20 (see ngym info TASK)",
        json_schema_extra=written("task_arg", TASK, changes=True),
    )
    timing: dict[str, Any] = Field(
        default_factory=dict,
        description="duration of a period in ms, as in delay=500, delay=200/400 (one is drawn) or "
        "delay=uniform:200:600; also choice:MS1:MS2, truncated_exponential:MEAN:MIN:MAX, until:T",
        json_schema_extra=written("timing", TASK, changes=True),
    )
    rewards: dict[str, float] = Field(
        default_factory=dict,
        description="reward of an outcome, as in fail=-0.1 (see ngym info TASK)",
        json_schema_extra=written("reward", TASK, changes=True),
    )
    wrappers: list[WrapperConfig] = Field(
        default_factory=list,
        description="wrappers, innermost first: name,name:key=value:key=v1/v2 (see ngym list wrappers)",
        json_schema_extra=written("wrappers", TASK, "wrappers", changes=True),
    )

    @field_validator("timing")
    @classmethod
    def _durations(cls, timing: dict[str, Any]) -> dict[str, Any]:
        return {period: parse_duration(value, period) for period, value in timing.items()}

    @field_validator("wrappers", mode="before")
    @classmethod
    def _stack(cls, value: object) -> Any:
        return parse_wrappers(value) if isinstance(value, str) else value

    @field_validator("dt")
    @classmethod
    def _whole_dt(cls, dt: float | None) -> float | None:
        return int(dt) if dt is not None and float(dt).is_integer() else dt


class StageConfig(TaskSettings):
    """Stage of a curriculum: settings that differ from the rest of the configuration, and criteria to end the stage.

    A stage ends when one criterion is met. The last stage needs no criterion; if met, it ends the run.
    """

    name: str | None = Field(None, min_length=1, description="name of the stage")
    task: str | None = Field(None, min_length=1, description="another task; settings of the first do not apply")
    wrappers: list[WrapperConfig] | None = Field(None, description="wrappers instead of those of the run")  # type: ignore[assignment]
    performance: float | None = Field(None, gt=0, le=1, description="end when mean performance reaches this value")
    window: int = Field(500, ge=1, description="number of last trials in that mean, over all environments")
    trials: int | None = Field(None, ge=1, description="end after this number of trials, over all environments")

    @field_validator("dt")
    @classmethod
    def _same_dt(cls, dt: float | None) -> float | None:
        if dt is not None:
            raise ValueError("dt is the same in all stages; it belongs above them")
        return dt

    @property
    def has_end(self) -> bool:
        """Whether the stage has a criterion."""
        return self.performance is not None or self.trials is not None
