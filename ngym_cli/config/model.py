"""Typed configuration of a run, made from command-line flags, a TOML file and defaults.

``agents.defaults.prepare`` spells out every default; the complete configuration is written to ``config.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import tomli_w
from pydantic import (
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from ngym_cli.config.fields import Options, Section, Texts, checked
from ngym_cli.config.sections import (
    Arguments,
    CheckpointConfig,
    EvaluationConfig,
    RecordingConfig,
    StageConfig,
    TaskSettings,
)
from ngym_cli.config.tasks import usual_algorithm, with_defaults, with_recommended

ResetState = Literal["auto", "trial", "session", "block", "never"]

#: Independent random streams of a run, in the order in which they are spawned from its seed. Append only.
STREAMS = ("network", "environments", "evaluation", "schedule")


#: Older names of hyperparameters, in runs and recipes of earlier versions.
OLDER_HYPERPARAMETERS = {"trial_gamma": "inter_trial_discount"}

#: Tables of arguments of a class, in which the word "none" stands for Python's None.
ARGUMENT_TABLES = ("task_args", "network_args", "hyperparameters")


class RunConfig(TaskSettings):
    """Everything that determines a run."""

    task: str = Field("RDM-v0", min_length=1)
    alg: str = "recurrent_ppo"
    network: str | None = None
    network_args: Arguments = {}
    units: int | None = Field(None, ge=1, le=65_536)
    n_envs: int | None = Field(None, ge=1, le=16_384)
    timesteps: int | None = Field(None, ge=1, le=10**15)
    seed: int = Field(0, ge=0, lt=2**63)
    device: str = "auto"
    init_from: str | None = Field(None, min_length=1)
    reset_state: ResetState = "auto"
    until: float | None = Field(None, gt=0, le=1)
    until_performance: float | None = Field(None, gt=0, le=1)
    track: Literal["wandb", "mlflow"] | None = None
    callbacks: Texts = []
    stages: list[StageConfig] = Field(default_factory=list, description="stages of a curriculum, in order")
    hyperparameters: Arguments = {}
    evaluation: EvaluationConfig = Field(default_factory=EvaluationConfig)
    checkpoint: CheckpointConfig = Field(default_factory=CheckpointConfig)
    recording: RecordingConfig | None = None

    @model_validator(mode="before")
    @classmethod
    def _usual(cls, data: object) -> object:
        if isinstance(data, Mapping):
            data = with_defaults(with_recommended(data, str(cls.model_fields["task"].default)))
            if "alg" not in data and "task" in data:
                return {**data, "alg": usual_algorithm(data["task"])}
        return data

    @field_validator("hyperparameters", mode="before")
    @classmethod
    def _present_names(cls, arguments: object) -> object:
        if not isinstance(arguments, Mapping):
            return arguments
        for older, present in OLDER_HYPERPARAMETERS.items():
            if older in arguments and present in arguments:
                raise ValueError(f"{older} is the older name of {present}: give only one")
        return {OLDER_HYPERPARAMETERS.get(key, key): value for key, value in arguments.items()}

    @model_serializer(mode="wrap")
    def _leave_out_unused(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out unused fields that older versions do not know."""
        fields: dict[str, Any] = dump(self)
        return {key: value for key, value in fields.items() if key not in ("callbacks", "recording") or value}

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

    def in_stage(self, index: int) -> Self:
        """Return the configuration of a stage, or this configuration if there are no stages.

        Args:
            index: number of the stage; -1 is the last, with which evaluations are made.
        """
        if not self.stages:
            return self
        stage = self.stages[index]
        tables = ("task_args", "timing", "rewards")
        is_another_task = stage.task not in (None, self.task)
        run_values, stage_values = dict(self), dict(stage)
        changed: dict[str, Any] = {
            key: {**({} if is_another_task else run_values[key]), **stage_values[key]} for key in tables
        }
        wrappers = self.wrappers if stage.wrappers is None else stage.wrappers
        changed |= {"task": stage.task or self.task, "wrappers": wrappers, "stages": []}
        return self.model_copy(update=changed)

    def to_toml(self, settings: Mapping[str, Any] | None = None) -> str:
        """Return the configuration as TOML; fields that are None are left out because TOML has no such value.

        Args:
            settings: the configuration as plain data, if known.
        """
        data = dict(self.model_dump() if settings is None else settings)
        stages = [{k: v for k, v in without_none(stage).items() if v != {}} for stage in data.pop("stages")]
        first = {key: data.pop(key) for key in ("task", "alg", "network", "units", "seed", "timesteps")}
        return tomli_w.dumps({**without_none({**first, **data}), **({"stages": stages} if stages else {})})


def from_dict(data: Mapping[str, object], source: str = "", typed: bool = False) -> RunConfig:
    """Return a validated configuration; see `ngym_cli.config.fields.checked`."""
    return checked(RunConfig, data, source, typed)


def without_none(value: object, free: bool = False) -> Any:
    """Drop unset fields; in tables of arguments, where None is a value, write the word "none"."""
    if isinstance(value, Mapping):
        entries = {key: item for key, item in value.items() if free or item is not None}
        return {key: without_none(item, free or key in ARGUMENT_TABLES) for key, item in entries.items()}
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


class ResolvedEvaluation(EvaluationConfig):
    """Evaluation settings of a complete configuration."""

    every: int
    trials: int
    half_width: float = Field(0.0, ge=0, lt=0.5)
    exact: bool = False


class ResolvedConfig(RunConfig):
    """Complete configuration of a run, as in ``config.toml``: nothing that a run needs is left open."""

    model_config = ConfigDict(frozen=True)

    dt: float
    network: str
    units: int
    n_envs: int
    timesteps: int
    evaluation: ResolvedEvaluation


class Shorthand(Section):
    """Options that stand for an entry of a table of `RunConfig`, or for several settings."""

    recommended: bool | None = None
    schedule: str | None = None
    prune: str | None = None
    loss_weight: dict[str, float] = {}
    task_weight: dict[str, float] = {}


#: Sections whose options are those of a run.
RUN_SECTIONS = (RunConfig, Shorthand)
#: Settings that an evaluation can change.
CHANGED_CONDITIONS = Options((TaskSettings,), "Changed conditions", chosen=lambda flag: flag.changes)
