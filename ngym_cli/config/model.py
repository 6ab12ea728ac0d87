"""The one typed model of a run: command-line flags, a TOML file and defaults all end here.

A configuration is complete when every default is spelled out in it; ``environments.defaults.resolve`` does that
for the task and ``agents.from_config.complete`` for the agent, and the result is what a run folder keeps as
``config.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_serializer, model_validator

from ngym_cli.config.tasks import is_taught
from ngym_cli.config.values import parse_duration, parse_wrappers

ResetState = Literal["auto", "trial", "never"]

#: The independent random streams of a run, in the order in which they are spawned from its seed. Append only.
STREAMS = ("network", "environments", "evaluation", "schedule")


#: Tables whose keys are arguments of a class; there the word "none" stands for Python's None.
ARGUMENTS = ("network_args", "hyperparameters")


#: Most trials of one evaluation; its table is held in memory.
MOST_TRIALS = 10_000_000

#: Groups of options in the help of commands.
TASK, AGENT, RUN = "Task", "Agent", "Run"


def written(flag: str, panel: str, completes: str = "", changes: bool = False, sweeps: bool = True) -> dict[str, Any]:
    """Return how a field is written on the command line; ``ngym_cli.config.flags`` makes the options from it.

    Args:
        flag: name of the option, with underscores.
        panel: group of options in the help.
        completes: name of what the shell completes it with, in ``ngym_cli.commands.completion``.
        changes: whether an evaluation can change it.
        sweeps: whether a sweep can vary it.
    """
    return {"flag": flag, "panel": panel, "completes": completes, "changes": changes, "sweeps": sweeps}


class Section(BaseModel):
    """A part of a configuration: unknown keys are errors, assignments are checked."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True, allow_inf_nan=False)


class WrapperConfig(Section):
    """One wrapper and its arguments; in TOML a table of ``name`` and the arguments beside it."""

    name: str
    args: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, data: Any) -> Any:
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
    """Evaluation on fresh trials with frozen weights, during a run and at its end."""

    every: int | None = Field(
        default=None,
        ge=0,
        description="steps between evaluations; 0: only at the end (100,000; more where trials are long)",
        json_schema_extra=written("eval_every", RUN),
    )
    trials: int | None = Field(
        default=None,
        ge=1,
        le=MOST_TRIALS,
        description="trials of each evaluation (2,000; fewer of images and in short runs)",
        json_schema_extra=written("eval_trials", RUN),
    )
    deterministic: bool = Field(default=True, description="take the most probable action instead of drawing one")


class CheckpointConfig(Section):
    """From what a run can be resumed."""

    every: int = Field(
        default=100_000,
        ge=0,
        description="steps between checkpoints; 0: only when interrupted (100,000)",
        json_schema_extra=written("checkpoint_every", RUN),
    )
    keep: int = Field(default=2, ge=1, description="how many of the last are kept, beside the best")


class TaskSettings(Section):
    """What may be said about a task; a stage of a curriculum can say it anew."""

    dt: float | None = Field(
        None,
        ge=0.1,
        le=1e6,
        description="time step in ms (the task's own, mostly 100)",
        json_schema_extra=written("dt", TASK, changes=True),
    )
    task_args: dict[str, Any] = Field(
        default_factory=dict,
        description="NAME=VALUE, an argument of the task: cohs=0/10/20 (ngym info TASK)",
        json_schema_extra=written("task_arg", TASK, changes=True),
    )
    timing: dict[str, Any] = Field(
        default_factory=dict,
        description="PERIOD=MS, or a distribution: delay=uniform:200:600, choice:MS1:MS2:.., "
        "truncated_exponential:MEAN:MIN:MAX, constant:X, until:T",
        json_schema_extra=written("timing", TASK, changes=True),
    )
    rewards: dict[str, float] = Field(
        default_factory=dict,
        description="OUTCOME=NUMBER, as fail=-0.1 (ngym info TASK)",
        json_schema_extra=written("reward", TASK, changes=True),
    )
    wrappers: list[WrapperConfig] = Field(
        default_factory=list,
        description="stack, innermost first: name,name:key=value:key=v1/v2 (ngym list wrappers)",
        json_schema_extra=written("wrappers", TASK, "wrappers", changes=True),
    )

    @field_validator("timing")
    @classmethod
    def _durations(cls, timing: dict[str, Any]) -> dict[str, Any]:
        return {period: parse_duration(value, period) for period, value in timing.items()}

    @field_validator("wrappers", mode="before")
    @classmethod
    def _stack(cls, value: Any) -> Any:
        return parse_wrappers(value) if isinstance(value, str) else value

    @field_validator("dt")
    @classmethod
    def _whole_dt(cls, dt: float | None) -> float | None:
        return int(dt) if dt is not None and float(dt).is_integer() else dt


class StageConfig(TaskSettings):
    """One stage of a curriculum: what differs from the rest of the configuration, and when it ends.

    It ends as soon as one of its criteria is met. That of the last stage ends the run; it may be left out.
    """

    name: str | None = Field(None, min_length=1, description="what to call it")
    task: str | None = Field(None, min_length=1, description="another task; settings of the first do not apply to it")
    wrappers: list[WrapperConfig] | None = Field(None, description="in place of the run's stack")  # type: ignore[assignment]
    performance: float | None = Field(None, gt=0, le=1, description="ends when this is the mean of the last trials")
    window: int = Field(500, ge=1, description="how many trials that are, over all environments")
    trials: int | None = Field(None, ge=1, description="ends after so many trials, over all environments")

    @field_validator("dt")
    @classmethod
    def _same_dt(cls, dt: float | None) -> float | None:
        if dt is not None:
            raise ValueError("dt is the same in all stages; it belongs above them")
        return dt

    @property
    def has_end(self) -> bool:
        """Whether there is a criterion."""
        return self.performance is not None or self.trials is not None


class RunConfig(TaskSettings):
    """Everything that determines a run."""

    task: str = Field(
        "RDM-v0",
        min_length=1,
        description="id, old name, path/to/file.py:Class or package.module:Class; several as RDM-v0+GoNogo-v0 or a "
        "collection (yang19); 'all' with --smoke",
        json_schema_extra=written("task", TASK, "tasks"),
    )
    alg: str = Field(
        "recurrent_ppo",
        description="algorithm: recurrent_ppo (the default), recurrent_a2c, reinforce, supervised (the default of "
        "tasks that say so); without memory ppo, a2c, dqn, qrdqn, trpo",
        json_schema_extra=written("alg", AGENT, "algorithms"),
    )
    network: str | None = Field(
        None,
        description="network: lstm (the default), gru, rnn, ctrnn, ei_rnn; mlp for algorithms without memory",
        json_schema_extra=written("network", AGENT, "networks"),
    )
    network_args: dict[str, Any] = Field(
        default_factory=dict,
        description="NAME=VALUE, an argument of the network: layers=2 (ngym info lstm)",
        json_schema_extra=written("network_arg", AGENT),
    )
    units: int | None = Field(
        None, ge=1, le=65_536, description="units per layer (64)", json_schema_extra=written("units", AGENT)
    )
    n_envs: int | None = Field(
        None,
        ge=1,
        le=16_384,
        description="environments side by side (64; fewer in short runs)",
        json_schema_extra=written("n_envs", AGENT),
    )
    timesteps: int | None = Field(
        None,
        ge=1,
        le=10**15,
        description="steps to train for, over all environments, as 1e5 (400,000)",
        json_schema_extra=written("timesteps", AGENT),
    )
    seed: int = Field(
        0, ge=0, lt=2**63, description="determines everything random (0)", json_schema_extra=written("seed", RUN)
    )
    device: str = Field("auto", description="auto (the CPU), cpu or cuda", json_schema_extra=written("device", RUN))
    init_from: str | None = Field(
        None,
        min_length=1,
        description="run whose weights to begin with",
        json_schema_extra=written("init_from", AGENT, "run_folders"),
    )
    reset_state: ResetState = Field(
        "auto",
        description="when the recurrent state resets: auto, trial or never. auto: never if task or wrappers carry "
        "information across trials, else at each trial",
        json_schema_extra=written("reset_state", AGENT),
    )
    until: float | None = Field(
        None,
        gt=0,
        le=1,
        description="end when this fraction of the ceiling is held on fresh trials beyond doubt; --timesteps is "
        "the most",
        json_schema_extra=written("until", AGENT, sweeps=False),
    )
    until_performance: float | None = Field(
        None,
        gt=0,
        le=1,
        description="as --until, but a performance, whatever the ceiling",
        json_schema_extra=written("until_performance", AGENT, sweeps=False),
    )
    track: Literal["wandb", "mlflow"] | None = Field(
        None,
        description="send the curves to wandb or mlflow as well as to TensorBoard (an extra of that name installs it)",
        json_schema_extra=written("track", RUN, "trackers"),
    )
    stages: list[StageConfig] = Field(default_factory=list, description="curriculum, in its order")
    hyperparameters: dict[str, Any] = Field(
        default_factory=dict,
        description="NAME=VALUE, a hyperparameter: learning_rate=3e-4 (ngym info recurrent_ppo)",
        json_schema_extra=written("set_", AGENT),
    )
    evaluation: EvaluationConfig = Field(default_factory=lambda: EvaluationConfig())
    checkpoint: CheckpointConfig = Field(default_factory=lambda: CheckpointConfig())

    @model_validator(mode="before")
    @classmethod
    def _usual_algorithm(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "alg" not in data and is_taught(data.get("task")):
            return {**data, "alg": "supervised"}
        return data

    @field_validator("network_args", "hyperparameters", mode="after")
    @classmethod
    def _none(cls, arguments: dict[str, Any]) -> dict[str, Any]:
        return {key: None if value == "none" else value for key, value in arguments.items()}

    @model_validator(mode="after")
    def _one_criterion(self) -> RunConfig:
        if self.until is not None and self.until_performance is not None:
            raise ValueError("until and until_performance are two ways of saying when to end: give one of them")
        return self

    @field_validator("stages")
    @classmethod
    def _ends(cls, stages: list[StageConfig]) -> list[StageConfig]:
        for number, stage in enumerate(stages[:-1], start=1):
            if not stage.has_end:
                raise ValueError(f"stage {stage.name or number} never ends: give it performance or trials")
        return stages

    def in_stage(self, index: int) -> RunConfig:
        """Return the configuration while a stage is on; this one if there are no stages.

        Args:
            index: of the stage; -1 is the last, which is what evaluations are of.
        """
        if not self.stages:
            return self
        stage = self.stages[index]
        tables = ("task_args", "timing", "rewards")
        other = stage.task not in (None, self.task)
        return self.model_copy(
            update={
                "task": stage.task or self.task,
                "wrappers": self.wrappers if stage.wrappers is None else stage.wrappers,
                **{key: {**({} if other else getattr(self, key)), **getattr(stage, key)} for key in tables},
                "stages": [],
            }
        )

    def to_toml(self) -> str:
        """Return the configuration as TOML; what is None is left out, for TOML has no such value."""
        data = self.model_dump()
        stages = [{k: v for k, v in _without_none(stage).items() if v != {}} for stage in data.pop("stages")]
        first = {key: data.pop(key) for key in ("task", "alg", "network", "units", "seed", "timesteps")}
        return tomli_w.dumps({**_without_none({**first, **data}), **({"stages": stages} if stages else {})})


def _without_none(value: Any, free: bool = False) -> Any:
    """Drop what is not set; in tables of arguments, where None is a value, write it as a word."""
    if isinstance(value, Mapping):
        kept = {key: item for key, item in value.items() if free or item is not None}
        return {key: _without_none(item, free or key in ARGUMENTS) for key, item in kept.items()}
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return [_without_none(item, True) for item in value]
    return value.item() if hasattr(value, "item") else value


def streams(seed: int) -> dict[str, int]:
    """Return one 32-bit seed for each random stream of a run, all derived from its seed."""
    import numpy as np

    children = np.random.SeedSequence(seed).spawn(len(STREAMS))
    return {name: int(child.generate_state(1)[0]) for name, child in zip(STREAMS, children, strict=True)}
