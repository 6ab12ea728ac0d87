"""Sections of a configuration: task with durations of periods, stages of training, evaluations and checkpoints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, SupportsFloat

from pydantic import AfterValidator, Field, field_validator, model_serializer, model_validator

from ngym_cli.config.fields import Flag, Joined, Section
from ngym_cli.config.values import Call, Values, parse_scalar, parse_value, parse_wrappers, split_entries, write_value
from ngym_cli.errors import UserError

#: Largest number of trials in an evaluation, whose table is held in memory.
MOST_TRIALS = 10_000_000

#: Groups of options in the help of commands.
TASK, AGENT, RECORDING, RUN = "Task", "Agent", "Recording", "Run"


def with_none(value: Any) -> Any:
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


#: Arguments of a class by name; the word "none" in a file stands for None.
Arguments = Annotated[dict[str, Any], AfterValidator(with_none)]


class WrapperConfig(Section):
    """Wrapper with arguments; in TOML a table of ``name`` and the arguments."""

    name: str
    args: Arguments = Field(default_factory=dict)

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

    @model_serializer
    def _to_flat(self) -> dict[str, Any]:
        return {"name": self.name, **self.args}


class EvaluationConfig(Section):
    """Evaluation on fresh trials with frozen weights, during and after a run."""

    every: Annotated[
        int | None,
        Flag(
            "Steps between evaluations; 0 for one at the end only (100,000; more for long trials).",
            RUN,
            names=("--eval-every",),
        ),
        Field(ge=0),
    ] = None
    trials: Annotated[
        int | None,
        Flag(
            "Trials of each evaluation.",
            RUN,
            names=("--eval-trials",),
            default="2,000, fewer for images and in short runs",
        ),
        Field(ge=1, le=MOST_TRIALS),
    ] = None
    deterministic: bool = Field(True, description="take the most probable action instead of drawing actions")
    half_width: float | None = Field(
        None,
        ge=0,
        lt=0.5,
        description="half width of the 95 % interval of performance up to which the last evaluation adds linked trials "
        "(0.02; 0, which adds none, in short runs and where trials are given)",
    )
    exact: bool | None = Field(
        None,
        description="no more sessions and blocks than the trials fill, in place of at least 40 sessions (true where "
        "trials are given)",
    )


class CheckpointConfig(Section):
    """Checkpoints, from which a run can be resumed."""

    every: Annotated[
        int, Flag("Steps between checkpoints; 0 for one when interrupted only.", RUN, default="100,000"), Field(ge=0)
    ] = 100_000
    keep: Annotated[
        int,
        Flag("Checkpoints kept, evenly spaced over the training, besides the best (20).", RUN, names=("--keep",)),
        Field(ge=1),
    ] = 20


class RecordingConfig(Section):
    """Recording of neurons that a network learns from, besides the task."""

    file: Annotated[
        str,
        Flag("Recording that the network learns from (NWB, HDF5, npz, folder).", RECORDING, names=("--recording",)),
        Field(min_length=1),
    ]
    weight: Annotated[
        float, Flag("Weight of the recording in the loss.", RECORDING, default="1"), Field(gt=0, le=1e6)
    ] = 1.0
    map: Annotated[
        Literal["linear", "identity"],
        Flag("Read-out of the neurons: linear (from all units), or identity (a unit for each neuron).", RECORDING),
    ] = "linear"
    loss: Annotated[
        Literal["variance", "bits"],
        Flag("Loss: variance (share left unexplained), or bits (per spike, of counts; Poisson).", RECORDING),
    ] = "variance"
    scale: Annotated[
        Literal["zscore", "sqrt"],
        Flag("Scale of rates before averaging, with variance: zscore, or sqrt, of which the z-score.", RECORDING),
    ] = "zscore"
    by: Annotated[
        Joined, Flag("Conditions of the recording, as in coh,ground_truth.", RECORDING, default="those the task shares")
    ] = None
    area: Annotated[str, Flag("Area of the neurons.", RECORDING, default="all")] = ""
    unit_filter: Annotated[
        str, Flag("Neurons that are read, by columns of the units, as in 'quality = good'.", RECORDING, default="all")
    ] = ""
    seed: Annotated[
        int, Flag("Random seed of the held-out neurons and trials.", RECORDING, default="0"), Field(ge=0, lt=2**63)
    ] = 0
    only: Annotated[bool, Flag("Learn from the recording alone; the task only shows its stimuli.", RECORDING)] = False
    sha256: str = Field("", description="checksum of the file, made when the run is")

    @property
    def conditions(self) -> tuple[str, ...]:
        """Names of the requested conditions; empty for those that the task shares."""
        return tuple(split_entries(self.by))


class TaskSettings(Section):
    """Settings of a task, which a stage of a curriculum can override."""

    dt: Annotated[
        float | None,
        Flag("Time step in ms.", TASK, changes=True, default="see ngym info TASK, mostly 100"),
        Field(ge=0.1, le=1e6),
    ] = None
    task_args: Annotated[
        Arguments,
        Flag(
            "Argument of the task, as in cohs=0/10/20 (see ngym info TASK).", TASK, names=("--task-arg",), changes=True
        ),
    ] = Field(default_factory=dict)
    timing: Annotated[
        Values,
        Flag(
            "Duration of a period in ms, as in delay=500, delay=200/400 (one is drawn) or delay=uniform:200:600; also "
            "choice:MS1:MS2, truncated_exponential:MEAN:MIN:MAX, until:T.",
            TASK,
            parse=str,
            changes=True,
        ),
    ] = Field(default_factory=dict)
    rewards: Annotated[
        dict[str, float],
        Flag(
            "Reward of an outcome, as in fail=-0.1 (see ngym info TASK).",
            TASK,
            names=("--reward",),
            parse=parse_scalar,
            changes=True,
        ),
    ] = Field(default_factory=dict)
    wrappers: Annotated[
        list[WrapperConfig],
        Flag(
            "Wrappers, innermost first: name,name:key=value:key=v1/v2 (see ngym list wrappers); none.",
            TASK,
            completes="wrappers",
            changes=True,
        ),
    ] = Field(default_factory=list)

    @field_validator("timing")
    @classmethod
    def _durations(cls, timing: Mapping[str, object]) -> dict[str, object]:
        return {period: Duration.parse(value, period).written for period, value in timing.items()}

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
    """

    name: str | None = Field(None, min_length=1)
    task: str | None = Field(None, min_length=1, description="another task; settings of the first do not apply")
    wrappers: list[WrapperConfig] | None = None  # type: ignore[assignment]
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


#: Longest duration of a period (ms).
LONGEST = 10_000_000


@dataclass(frozen=True)
class Duration:
    """Duration of a period as written in a configuration.

    Attributes:
        written: a duration in ms; a list of durations, one of which is drawn; or a call such as ``uniform:200:600``: a
            distribution and its arguments.
    """

    written: Any

    @classmethod
    def parse(cls, text: object, period: str) -> Duration:
        """Read the duration of a period.

        Args:
            text: as on the command line or in a configuration file.
            period: name of the period, for messages.

        Raises:
            UserError: on an unknown distribution, wrong arguments, or a negative duration.
        """
        from neurogym.sampling.distributions import Distribution

        try:
            duration = cls(parse_value(text) if isinstance(text, str) else text)
            if isinstance(duration.written, bool):
                raise ValueError(f"{duration} is not a valid duration")
            shortest, _ = Distribution.of(duration.for_task).bounds()
        except (UserError, ValueError, TypeError) as error:
            raise UserError(f"timing {period}: {error}") from None
        if not 0 <= shortest < math.inf:
            raise UserError(f"timing {period}: a duration must be 0 ms or more, not {shortest:g}")
        if shortest > LONGEST:
            raise UserError(f"timing {period}: a duration must be at most {LONGEST:,} ms, not {shortest:g}")
        return duration

    @classmethod
    def of_task(cls, value: Any) -> Duration | None:
        """Return a task's own duration, or None for a function.

        Example:
            >>> str(Duration.of_task(("uniform", (200, 600))))
            'uniform:200:600'
        """
        from neurogym.sampling.distributions import Distribution

        kind, numbers = Distribution.of(value)
        if kind == "callable":
            return None
        if kind == "constant":
            return cls(_number(numbers))
        values = [numbers] if kind == "until" else numbers
        if not isinstance(value[0], str):
            return cls([_number(item) for item in values])
        return cls(str(Call(kind, tuple(str(_number(item)) for item in values))))

    @property
    def for_task(self) -> object:
        """The duration in the form that tasks take: a number, a list, or (distribution, arguments).

        Example:
            >>> [Duration(each).for_task for each in ("uniform:200:600", "until:2000", 500)]
            [('uniform', [200, 600]), ('until', 2000), 500]
        """
        if not isinstance(self.written, str):
            return self.written
        name, *arguments = self.written.split(":")
        numbers = [parse_scalar(item) for item in arguments]
        single = name in ("constant", "until") and len(numbers) == 1
        return (name, numbers[0] if single else numbers)

    def __str__(self) -> str:
        """Return the written form."""
        return write_value(self.written)


def _number(value: SupportsFloat) -> int | float:
    """Return a whole number as int, to be written without a decimal point."""
    value = float(value)
    return int(value) if value.is_integer() else value
