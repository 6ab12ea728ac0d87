"""Types of the entries in a run's JSON files. Only used entries are listed; further entries are allowed.

A record may come from anywhere. All records are read by ``read``, so that an entry of the wrong type leads to a single
clear message instead of different errors in each command.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Required, TypeVar, get_args

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # pydantic takes that of typing from Python 3.12 on

from ngym_cli.config.options import refused
from ngym_cli.config.trust import Code
from ngym_cli.config.values import Scalar
from ngym_cli.errors import UserError
from ngym_cli.files.reading import read_json
from ngym_cli.processes import RunProcess

#: States that the record of a run may be in; a run that says "running" but whose process is gone has crashed.
RunState = Literal["running", "finished", "interrupted", "failed", "crashed"]
RUN_STATES: tuple[str, ...] = get_args(RunState)


def _is_moment(text: str) -> str:
    datetime.fromisoformat(text)
    return text


def _interval_or_none(ends: object) -> object:
    """Return an interval, or None where earlier versions wrote that both ends are unknown."""
    return None if ends == [None, None] else ends


def _nan_if_none(number: object) -> object:
    """Return NaN for None, which JSON has in place of a performance that is not defined."""
    return math.nan if number is None else number


#: Performance and its interval; NaN for episodes without a right answer.
Performance = Annotated[float, Field(allow_inf_nan=True), BeforeValidator(_nan_if_none)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
Interval = Annotated[Sequence[float], Field(min_length=2, max_length=2)]
PerformanceInterval = Annotated[Sequence[Performance], Field(min_length=2, max_length=2)]
Moment = Annotated[str, AfterValidator(_is_moment)]


class Resumption(TypedDict):
    """Resumption of an interrupted run."""

    at: Moment
    step: Count


class EvaluationRow(TypedDict, total=False):
    """Evaluation during a run, as kept in the record of the run."""

    step: Required[Count]
    trials: Count
    performance: Performance
    performance_ci: PerformanceInterval
    deterministic: bool
    tasks: dict[str, list[float]]


class Manifest(TypedDict, total=False):
    """Record of a run (``manifest.json``)."""

    status: Required[RunState]
    task: str | None
    task_id: str | None
    alg: str | None
    network: str | None
    seed: Count | None
    seeds: dict[str, int] | None
    reset_state: str | None
    config: dict[str, object] | None
    command: list[str] | None
    started: Moment | None
    ended: Moment | None
    exit_reason: str | None
    steps: Count | None
    trials: Count | None
    performance: float | None
    performance_ci: PerformanceInterval | None
    reward_per_trial: float | None
    chance: float | None
    blind: float | None
    ceiling: float | None
    rt_from: str | None
    process: RunProcess | None
    machine: dict[str, object] | None
    versions: dict[str, str] | None
    git: dict[str, object] | None
    wall_seconds: float | None
    cpu_seconds: float | None
    resumed: list[Resumption] | None
    until: dict[str, Any] | None
    evaluations: list[EvaluationRow]
    stages: list[dict[str, Any]] | None
    init_from: dict[str, Any] | None
    code: Code | None
    tags: list[str] | None
    note: str | None
    model: str | None
    score: float | None


class ConditionRecord(TypedDict):
    """Performance at a value of a condition."""

    condition: str
    value: Scalar
    performance: Performance
    performance_ci: PerformanceInterval
    trials: Count
    chance: NotRequired[float | None]
    blind: NotRequired[float | None]
    ceiling: NotRequired[float | None]


class PerturbationRecord(TypedDict, total=False):
    """Perturbation of units during an evaluation."""

    kind: Required[str]
    units: list[int] | None
    fraction: float | None
    value: float | None
    sd: float | None
    period: str | None
    by: str | None


class EstimateRecord(TypedDict):
    """Number with its interval, as in ``neurogym.analysis.results.Estimate``; None for unknown."""

    value: float | None
    low: NotRequired[float | None]
    high: NotRequired[float | None]
    se: NotRequired[float | None]


class MeasureRecord(EstimateRecord):
    """Measure of behaviour that a task declares."""

    id: str
    label: str
    unit: NotRequired[str | None]


class ControlRecord(TypedDict):
    """Performance with random units perturbed, equally many as the units of highest rank, and of the intact network."""

    units: Count
    draws: list[list[list[int]]]
    performance: list[Performance]
    mean: EstimateRecord
    intact: Performance


class FitOrigin(TypedDict):
    """Fitted model whose choices an evaluation simulates."""

    path: str
    model: str
    subject: str
    parameters: str


class Summary(TypedDict, total=False):
    """The result of an evaluation (``summary.json``)."""

    trials: Required[Count]
    performance: Required[Performance]
    performance_ci: Required[PerformanceInterval]
    reward_per_trial: Required[float | None]
    fixation_break_rate: float | None
    fixation_periods: str
    early_action_rate: float | None
    decision_period: str
    miss_rate: Required[float]
    reaction_time: float | None
    trial_length: float | None
    chance: float | None
    ceiling: float | None
    chance_among_answers: float | None
    blind: float | None
    ceiling_error: float | None
    no_ceiling: str | None
    sessions: Count | None
    trials_requested: Count | None
    half_width_missed: float | None
    reaction_times_vary: bool
    measures: list[MeasureRecord]
    reward_ci: Annotated[Interval | None, BeforeValidator(_interval_or_none)]
    reward_ceiling: float | None
    conditions: list[ConditionRecord]
    choices: dict[str, float]
    deterministic: bool
    seed: int | None
    reset_state: str | None
    steps: Count | None
    balanced: bool | None
    combinations: Count | None
    recorded: list[str] | None
    perturbations: list[PerturbationRecord] | None
    control: ControlRecord
    seconds: float | None
    run: str | None
    model_steps: Count | None
    checkpoint: Count | None
    changes: dict[str, object] | None
    exports: list[str] | None
    comparison: AnimalComparison | None
    activity: ActivityComparison
    fit: FitOrigin
    until: dict[str, Any]
    warnings: list[str]


class StatisticRecord(TypedDict):
    """Statistic of an agent and of an animal."""

    name: str
    a: EstimateRecord
    b: EstimateRecord
    difference: EstimateRecord
    distance: float | None


class AnimalComparison(TypedDict):
    """Comparison of an agent with an animal (``comparison.json``)."""

    data: str
    figure: str
    statistics: list[StatisticRecord]
    distance: float | None
    name: NotRequired[str]
    columns: NotRequired[str | None]
    left_out: NotRequired[list[str]]
    notes: NotRequired[list[str]]


class ActivityAgreement(TypedDict):
    """Agreement of activity in a part of the trial, by a measure."""

    part: str
    measure: str
    value: float | None
    corrected: float | None
    halves: NotRequired[float | None]
    spread: NotRequired[float | None]
    shuffled: float | None
    p: float | None
    conditions: Count


class ExplainedVariance(TypedDict):
    """Explained variance of neurons in held-out trials by a model, averaged over neurons, with the noise ceiling."""

    model: str
    neurons: str
    value: float | None
    low: float | None
    high: float | None
    ceiling: float | None
    share: float | None
    n: Count


class ActivityComparison(TypedDict):
    """Comparison of an agent's activity with a recording (``activity_comparison.json``)."""

    data: str
    by: list[str]
    figure: str
    agreement: list[ActivityAgreement]
    explained: NotRequired[list[ExplainedVariance]]
    left_out: list[str]


class NetworkDescription(TypedDict, total=False):
    """Description from which a network is rebuilt (``model.json``)."""

    format: Required[int]
    alg: Required[str]
    network: str | None
    units: int | None
    observation_space: Required[dict[str, object]]
    action_space: Required[dict[str, object]]
    tensors: Required[dict[str, list[int]]]
    steps: Count


class Best(TypedDict):
    """Best checkpoint so far (``best.json``)."""

    name: str
    step: Count
    performance: Performance


Record = TypeVar("Record")

_strict: Any = with_config(ConfigDict(extra="allow", strict=True, allow_inf_nan=False))


@functools.cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    """Return the validator of a record: types are strict, further entries are allowed."""
    return TypeAdapter(_strict(kind))


def read(path: Path, kind: type[Record]) -> Record:
    """Read and validate a JSON file of a run.

    Raises:
        UserError: if the file is missing or damaged, or an entry is of the wrong type; names the first such entry.
    """
    data = read_json(path)
    try:
        _adapter(kind).validate_python(data)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"])) or "all of it"
        raise UserError(f"{path} is damaged: {refused(name, None, first)}") from None
    return data
