"""Sections of a configuration: task, stages of training, evaluations and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_serializer, model_validator

from ngym_cli.config.docstrings import sections
from ngym_cli.config.durations import parse_duration
from ngym_cli.config.values import Values, parse_wrappers

#: Largest number of trials in an evaluation, whose table is held in memory.
MOST_TRIALS = 10_000_000

#: Groups of options in the help of commands.
TASK, AGENT, RUN = "Task", "Agent", "Run"


def flag(panel: str, name: str = "", completes: str = "", changes: bool = False, sweeps: bool = True) -> dict[str, Any]:
    """Return the description of a command-line option, from which ``ngym_cli.config.flags`` makes the option.

    Args:
        panel: group of options in the help.
        name: name of the option, with underscores, if different from the field's.
        completes: name of the completion function in ``ngym_cli.commands.completion``.
        changes: whether an evaluation can change the field.
        sweeps: whether a sweep can vary the field.
    """
    return {"name": name, "panel": panel, "completes": completes, "changes": changes, "sweeps": sweeps}


class Section(BaseModel):
    """Section of a configuration: unknown keys are errors, assignments are checked.

    The section ``Attributes:`` of a docstring explains the fields, also in the help of commands.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True, allow_inf_nan=False)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: object) -> None:
        """Give the fields of a section their explanations."""
        for name, text in sections(cls.__doc__)[1].get("Attributes", {}).items():
            cls.model_fields[name].description = text.rstrip(".")


def with_none(value: object) -> object:
    """Return the value of an argument with Python's None for the word "none", which files have instead.

    Example:
        >>> with_none(["none", 1]), with_none({"a": "none"})
        ([None, 1], {'a': None})
    """
    if isinstance(value, Mapping):
        return {key: with_none(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_none(item) for item in value]
    return None if value == "none" else value


class WrapperConfig(Section):
    """Wrapper with arguments; in TOML a table of ``name`` and the arguments."""

    name: str
    args: Values = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, data: object) -> object:
        if isinstance(data, str):
            entries = parse_wrappers(data)
            if len(entries) != 1:
                raise ValueError(f"expected one wrapper, not '{data}'")
            data = entries[0]
        if isinstance(data, Mapping) and "args" not in data:
            return {"name": data.get("name"), "args": {key: value for key, value in data.items() if key != "name"}}
        return data

    @field_validator("args", mode="after")
    @classmethod
    def _without_words(cls, arguments: Mapping[str, object]) -> dict[str, object]:
        return {key: with_none(value) for key, value in arguments.items()}

    @model_serializer
    def _to_flat(self) -> dict[str, Any]:
        return {"name": self.name, **self.args}


class EvaluationConfig(Section):
    """Evaluation on fresh trials with frozen weights, during and after a run.

    Attributes:
        every: steps between evaluations; 0 for one at the end only (100,000; more for long trials).
        trials: trials of each evaluation (2,000; fewer for images and in short runs).
        deterministic: take the most probable action instead of drawing actions.
    """

    every: int | None = Field(None, ge=0, json_schema_extra=flag(RUN, name="eval_every"))
    trials: int | None = Field(None, ge=1, le=MOST_TRIALS, json_schema_extra=flag(RUN, name="eval_trials"))
    deterministic: bool = True


class CheckpointConfig(Section):
    """Checkpoints, from which a run can be resumed.

    Attributes:
        every: steps between checkpoints; 0 for one when interrupted only (100,000).
        keep: number of last checkpoints kept, besides the best.
    """

    every: int = Field(100_000, ge=0, json_schema_extra=flag(RUN, name="checkpoint_every"))
    keep: int = Field(2, ge=1)


class TaskSettings(Section):
    """Settings of a task, which a stage of a curriculum can override.

    Attributes:
        dt: time step in ms (default of the task, mostly 100).
        task_args: argument of the task, as in cohs=0/10/20 (see ngym info TASK).
        timing: duration of a period in ms, as in delay=500, delay=200/400 (one is drawn) or delay=uniform:200:600;
            also choice:MS1:MS2, truncated_exponential:MEAN:MIN:MAX, until:T.
        rewards: reward of an outcome, as in fail=-0.1 (see ngym info TASK).
        wrappers: wrappers, innermost first: name,name:key=value:key=v1/v2 (see ngym list wrappers).
    """

    dt: float | None = Field(None, ge=0.1, le=1e6, json_schema_extra=flag(TASK, changes=True))
    task_args: Values = Field(default_factory=dict, json_schema_extra=flag(TASK, name="task_arg", changes=True))
    timing: Values = Field(default_factory=dict, json_schema_extra=flag(TASK, changes=True))
    rewards: dict[str, float] = Field(default_factory=dict, json_schema_extra=flag(TASK, name="reward", changes=True))
    wrappers: list[WrapperConfig] = Field(
        default_factory=list, json_schema_extra=flag(TASK, completes="wrappers", changes=True)
    )

    @field_validator("task_args", mode="after")
    @classmethod
    def _without_words(cls, arguments: Mapping[str, object]) -> dict[str, object]:
        return {key: with_none(value) for key, value in arguments.items()}

    @field_validator("timing")
    @classmethod
    def _durations(cls, timing: Mapping[str, object]) -> dict[str, object]:
        return {period: parse_duration(value, period) for period, value in timing.items()}

    @field_validator("wrappers", mode="before")
    @classmethod
    def _stack(cls, value: object) -> object:
        return parse_wrappers(value) if isinstance(value, str) else value

    @field_validator("dt")
    @classmethod
    def _whole_dt(cls, dt: float | None) -> float | None:
        return int(dt) if dt is not None and float(dt).is_integer() else dt


class StageConfig(TaskSettings):
    """Stage of a curriculum: settings that differ from the rest of the configuration, and criteria to end the stage.

    A stage ends when one criterion is met. The last stage needs no criterion; if met, it ends the run.

    Attributes:
        name: name of the stage.
        task: another task; settings of the first do not apply.
        wrappers: wrappers instead of those of the run.
        performance: end when mean performance reaches this value.
        window: number of last trials in that mean, over all environments.
        trials: end after this number of trials, over all environments.
    """

    name: str | None = Field(None, min_length=1)
    task: str | None = Field(None, min_length=1)
    wrappers: list[WrapperConfig] | None = None  # type: ignore[assignment]
    performance: float | None = Field(None, gt=0, le=1)
    window: int = Field(500, ge=1)
    trials: int | None = Field(None, ge=1)

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
