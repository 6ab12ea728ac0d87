"""Sections of a configuration: task with durations of periods, stages of training, evaluations and checkpoints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, SupportsFloat

from pydantic import AfterValidator, Field, field_validator, model_serializer, model_validator

from ngym_cli.config.fields import Joined, Section
from ngym_cli.config.values import Call, Values, parse_scalar, parse_value, parse_wrappers, split_entries, write_value
from ngym_cli.errors import UserError

#: Largest number of trials in an evaluation, whose table is held in memory.
MOST_TRIALS = 10_000_000


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

    every: int | None = Field(None, ge=0)
    trials: int | None = Field(None, ge=1, le=MOST_TRIALS)
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

    every: int = Field(100_000, ge=0)
    keep: int = Field(20, ge=1)


class RecordingConfig(Section):
    """Recording of neurons that a network learns from, besides the task."""

    file: str = Field(min_length=1)
    weight: float = Field(1.0, gt=0, le=1e6)
    map: Literal["linear", "identity"] = "linear"
    loss: Literal["variance", "bits"] = "variance"
    scale: Literal["zscore", "sqrt"] = "zscore"
    by: Joined = None
    area: str = ""
    unit_filter: str = ""
    seed: int = Field(0, ge=0, lt=2**63)
    only: bool = False
    sha256: str = Field("", description="checksum of the file, made when the run is")

    @property
    def conditions(self) -> tuple[str, ...]:
        """Names of the requested conditions; empty for those that the task shares."""
        return tuple(split_entries(self.by))


class TaskSettings(Section):
    """Settings of a task, which a stage of a curriculum can override."""

    dt: float | None = Field(None, ge=0.1, le=1e6)
    task_args: Arguments = {}
    timing: Values = {}
    rewards: dict[str, float] = {}
    wrappers: list[WrapperConfig] = []

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
