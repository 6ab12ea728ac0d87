"""Typed configuration of a run, made from command-line flags, a TOML file and defaults.

``environments.defaults.resolve`` spells out the defaults of the task and ``agents.from_config.complete`` those of the
agent. The complete configuration is written to ``config.toml`` in the run folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import tomli_w
from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from ngym_cli.config.sections import (
    AGENT,
    RUN,
    TASK,
    CheckpointConfig,
    EvaluationConfig,
    StageConfig,
    TaskSettings,
    flag,
    with_none,
)
from ngym_cli.config.tasks import usual_algorithm, with_recommended
from ngym_cli.config.values import Values

ResetState = Literal["auto", "trial", "session", "block", "never"]

#: Independent random streams of a run, in the order in which they are spawned from its seed. Append only.
STREAMS = ("network", "environments", "evaluation", "schedule")


#: Tables of arguments of a class, in which the word "none" stands for Python's None.
ARGUMENTS = ("task_args", "network_args", "hyperparameters")


class RunConfig(TaskSettings):
    """Everything that determines a run.

    Attributes:
        task: task by id, old name, path/to/file.py:Class or package.module:Class; several as RDM-v0+GoNogo-v0 or a
            collection (yang19); 'all' with --smoke.
        alg: algorithm: recurrent_ppo (default), recurrent_a2c, reinforce, supervised (default of some tasks);
            without memory ppo, a2c, dqn, qrdqn, trpo; or file.py:Class.
        network: network: lstm (default), gru, rnn, ctrnn, ei_rnn; mlp for algorithms without memory; or
            file.py:Class.
        network_args: argument of the network, as in layers=2 (see ngym info lstm).
        units: units per layer (64).
        n_envs: number of parallel environments (64; fewer in short runs).
        timesteps: training steps over all environments, as in 1e5 (the task's own number, see ngym info TASK).
        seed: random seed (0).
        device: device: auto (CPU), cpu or cuda.
        init_from: run whose weights initialise the network.
        reset_state: reset of the recurrent state: auto, trial, session, block (where one begins) or never; auto is
            never if information is carried across trials, otherwise trial.
        until: stop early when performance on fresh trials clearly exceeds this fraction of the ceiling.
        until_performance: stop early when performance on fresh trials clearly exceeds this value.
        track: also send curves to wandb or mlflow (extras of the same names).
        callbacks: your own Stable-Baselines3 callback, path/to/file.py:Class.
        stages: stages of a curriculum, in order.
        hyperparameters: hyperparameter, as in learning_rate=3e-4 (see ngym info recurrent_ppo).
    """

    task: str = Field("RDM-v0", min_length=1, json_schema_extra=flag(TASK, completes="tasks"))
    alg: str = Field("recurrent_ppo", json_schema_extra=flag(AGENT, completes="algorithms"))
    network: str | None = Field(None, json_schema_extra=flag(AGENT, completes="networks"))
    network_args: Values = Field(default_factory=dict, json_schema_extra=flag(AGENT, name="network_arg"))
    units: int | None = Field(None, ge=1, le=65_536, json_schema_extra=flag(AGENT))
    n_envs: int | None = Field(None, ge=1, le=16_384, json_schema_extra=flag(AGENT))
    timesteps: int | None = Field(None, ge=1, le=10**15, json_schema_extra=flag(AGENT))
    seed: int = Field(0, ge=0, lt=2**63, json_schema_extra=flag(RUN))
    device: str = Field("auto", json_schema_extra=flag(RUN))
    init_from: str | None = Field(None, min_length=1, json_schema_extra=flag(AGENT, completes="run_folders"))
    reset_state: ResetState = Field("auto", json_schema_extra=flag(AGENT))
    until: float | None = Field(None, gt=0, le=1, json_schema_extra=flag(AGENT, sweeps=False))
    until_performance: float | None = Field(None, gt=0, le=1, json_schema_extra=flag(AGENT, sweeps=False))
    track: Literal["wandb", "mlflow"] | None = Field(None, json_schema_extra=flag(RUN, completes="trackers"))
    callbacks: list[str] = Field(default_factory=list, json_schema_extra=flag(RUN, name="callback", sweeps=False))
    stages: list[StageConfig] = Field(default_factory=list)
    hyperparameters: Values = Field(default_factory=dict, json_schema_extra=flag(AGENT, name="set_"))
    evaluation: EvaluationConfig = Field(default_factory=lambda: EvaluationConfig())
    checkpoint: CheckpointConfig = Field(default_factory=lambda: CheckpointConfig())

    @model_validator(mode="before")
    @classmethod
    def _usual(cls, data: object) -> object:
        if isinstance(data, Mapping):
            data = with_recommended(data, str(cls.model_fields["task"].default))
            if "alg" not in data and "task" in data:
                return {**data, "alg": usual_algorithm(data["task"])}
        return data

    @field_validator("network_args", "hyperparameters", mode="after")
    @classmethod
    def _none(cls, arguments: Mapping[str, object]) -> dict[str, object]:
        return {key: with_none(value) for key, value in arguments.items()}

    @model_serializer(mode="wrap")
    def _leave_out_unused(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out unused fields that older versions do not know."""
        found: dict[str, Any] = dump(self)
        return {key: value for key, value in found.items() if key != "callbacks" or value}

    @model_validator(mode="after")
    def _one_criterion(self) -> RunConfig:
        if self.until is not None and self.until_performance is not None:
            raise ValueError("until and until_performance are alternatives: give only one")
        return self

    @field_validator("stages")
    @classmethod
    def _ends(cls, stages: list[StageConfig]) -> list[StageConfig]:
        for number, stage in enumerate(stages[:-1], start=1):
            if not stage.has_end:
                raise ValueError(f"stage {stage.name or number} never ends: give it performance or trials")
        return stages

    def in_stage(self, index: int) -> RunConfig:
        """Return the configuration of a stage, or this configuration if there are no stages.

        Args:
            index: number of the stage; -1 is the last, with which evaluations are made.
        """
        if not self.stages:
            return self
        stage = self.stages[index]
        tables = ("task_args", "timing", "rewards")
        other = stage.task not in (None, self.task)
        mine, its = dict(self), dict(stage)
        changed: dict[str, Any] = {key: {**({} if other else mine[key]), **its[key]} for key in tables}
        wrappers = self.wrappers if stage.wrappers is None else stage.wrappers
        changed |= {"task": stage.task or self.task, "wrappers": wrappers, "stages": []}
        return self.model_copy(update=changed)

    def to_toml(self) -> str:
        """Return the configuration as TOML; fields that are None are left out because TOML has no such value."""
        data = self.model_dump()
        stages = [{k: v for k, v in without_none(stage).items() if v != {}} for stage in data.pop("stages")]
        first = {key: data.pop(key) for key in ("task", "alg", "network", "units", "seed", "timesteps")}
        return tomli_w.dumps({**without_none({**first, **data}), **({"stages": stages} if stages else {})})


def without_none(value: object, free: bool = False) -> Any:
    """Drop unset fields; in tables of arguments, where None is a value, write the word "none"."""
    if isinstance(value, Mapping):
        kept = {key: item for key, item in value.items() if free or item is not None}
        return {key: without_none(item, free or key in ARGUMENTS) for key, item in kept.items()}
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return [without_none(item, True) for item in value]
    return value.item() if hasattr(value, "item") else value


def streams(seed: int) -> dict[str, int]:
    """Return a 32-bit seed for each random stream of a run."""
    import numpy as np

    children = np.random.SeedSequence(seed).spawn(len(STREAMS))
    return {name: int(child.generate_state(1)[0]) for name, child in zip(STREAMS, children, strict=True)}
