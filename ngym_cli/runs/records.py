"""Types of the entries in a run's JSON files. Only used entries are listed; further entries are allowed.

A record may come from anywhere. All records are read by ``read``, so that an entry of the wrong type leads to a single
clear message instead of different errors in each command.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from ngym_cli.config.values import Scalar
from ngym_cli.errors import UserError
from ngym_cli.files.reading import read_json

#: States that the record of a run may be in; a run that says "running" but whose process is gone has crashed.
State = Literal["running", "finished", "interrupted", "failed", "crashed"]
STATES: tuple[str, ...] = get_args(State)


def _is_moment(text: str) -> str:
    datetime.fromisoformat(text)
    return text


Count = Annotated[int, Field(ge=0, lt=2**63)]
Interval = Annotated[list[float], Field(min_length=2, max_length=2)]
Moment = Annotated[str, AfterValidator(_is_moment)]


class Record(BaseModel):
    """Table of a JSON file with strict types; unknown entries are ignored."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


class RunProcess(Record):
    """The process that writes a run."""

    host: str | None = None
    pid: int | None = None
    started: str | None = None


class Resumption(Record):
    """A moment at which a run went on."""

    at: Moment
    step: Count


class Code(Record):
    """The user's own code in a run, see ``ngym_cli.config.trust``."""

    files: dict[str, str]
    signature: str | None = None


class Manifest(Record):
    """Record of a run (``manifest.json``)."""

    status: State
    task: str | None = None
    task_id: str | None = None
    alg: str | None = None
    network: str | None = None
    seed: Count | None = None
    seeds: dict[str, int] | None = None
    reset_state: str | None = None
    config: dict[str, Any] | None = None
    command: list[str] | None = None
    started: Moment | None = None
    ended: Moment | None = None
    exit_reason: str | None = None
    steps: Count | None = None
    trials: Count | None = None
    performance: float | None = None
    performance_ci: Interval | None = None
    reward_per_trial: float | None = None
    chance: float | None = None
    ceiling: float | None = None
    rt_from: str | None = None
    process: RunProcess | None = None
    machine: dict[str, Any] | None = None
    versions: dict[str, str] | None = None
    git: dict[str, Any] | None = None
    wall_seconds: float | None = None
    cpu_seconds: float | None = None
    resumed: list[Resumption] | None = None
    until: dict[str, Any] | None = None
    stages: list[dict[str, Any]] | None = None
    init_from: dict[str, Any] | None = None
    code: Code | None = None
    tags: list[str] | None = None
    note: str | None = None


class Condition(Record):
    """Performance at a value of a condition."""

    condition: str
    value: Scalar
    performance: float
    performance_ci: Interval
    trials: Count


class PerturbationRecord(Record):
    """Perturbation of units during an evaluation."""

    kind: str
    units: list[int] | None = None
    value: float | None = None
    sd: float | None = None
    period: str | None = None


class Summary(Record):
    """The result of an evaluation (``summary.json``)."""

    trials: Count
    performance: float
    performance_ci: Interval
    reward_per_trial: float | None
    abort_rate: float
    miss_rate: float
    reaction_time: float | None = None
    trial_length: float | None = None
    chance: float | None = None
    ceiling: float | None = None
    ceiling_error: float | None = None
    reward_ci: Interval | None = None
    reward_ceiling: float | None = None
    conditions: list[Condition] = Field(default_factory=list)
    choices: dict[str, float] = Field(default_factory=dict)
    deterministic: bool = True
    seed: int | None = None
    reset_state: str | None = None
    steps: Count | None = None
    balanced: bool | None = None
    combinations: Count | None = None
    recorded: list[str] | None = None
    perturbations: list[PerturbationRecord] | None = None
    seconds: float | None = None
    run: str | None = None
    model_steps: Count | None = None
    checkpoint: Count | None = None
    changes: dict[str, Any] | None = None
    exports: list[str] | None = None
    comparison: dict[str, Any] | None = None


class EstimateRecord(Record):
    """Statistic of a table of trials."""

    value: float | None


class Statistic(Record):
    """Statistic of an agent and of an animal."""

    name: str
    a: EstimateRecord
    b: EstimateRecord
    difference: EstimateRecord
    distance: float | None


class AnimalComparison(Record):
    """Comparison of an agent with an animal (``comparison.json``)."""

    data: str
    figure: str
    statistics: list[Statistic]
    distance: float | None


class ActivityAgreement(Record):
    """Agreement of activity in a part of the trial, by a measure."""

    part: str
    measure: str
    value: float | None
    corrected: float | None
    shuffled: float | None
    p: float | None
    conditions: Count


class ActivityComparison(Record):
    """Comparison of an agent's activity with a recording (``activity_comparison.json``)."""

    data: str
    by: list[str]
    figure: str
    agreement: list[ActivityAgreement]
    left_out: list[str]


class NetworkDescription(Record):
    """Description from which a network is rebuilt (``model.json``)."""

    format: int
    alg: str
    network: str | None = None
    units: int | None = None
    observation_space: dict[str, Any]
    action_space: dict[str, Any]
    tensors: dict[str, list[int]]
    steps: Count = 0


class Best(Record):
    """Best checkpoint so far (``best.json``)."""

    name: str
    step: Count
    performance: float


def read(path: Path, kind: type[Record]) -> dict[str, Any]:
    """Read and validate a JSON file of a run.

    Raises:
        UserError: if the file is missing or damaged, or an entry is of the wrong type; names the first such entry.
    """
    data = read_json(path)
    try:
        kind.model_validate(data)
    except ValidationError as error:
        raise UserError(f"{path} is damaged: {_complaint(error)}") from None
    return dict(data)


def _complaint(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "all of it"
    given = repr(first["input"])
    given = given if len(given) <= 40 else f"{given[:37]}..."
    return f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}, not {given}"
