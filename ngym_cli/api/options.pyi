"""Types of the keyword arguments that are options of the shell, for type checkers and completion.

A test holds these equal to the requests, and writes this module.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypedDict

from neurogym.behaviour.reading import TableSource
from ngym_cli.api.settings import Callbacks, Columns, Part, PerturbedUnits, Wrappers

class TrainOptions(TypedDict, total=False):
    """Keyword arguments of `ngym_cli.train`."""

    dt: float | None
    task_args: Mapping[str, object] | None
    timing: Mapping[str, object] | None
    rewards: Mapping[str, object] | None
    alg: Part | None
    network_args: Mapping[str, object] | None
    units: float | None
    n_envs: float | None
    timesteps: float | None
    seed: int | None
    device: str | None
    init_from: str | None
    reset_state: Literal["auto", "trial", "session", "block", "never"] | None
    until: float | None
    until_performance: float | None
    track: Literal["wandb", "mlflow"] | None
    callbacks: Callbacks | None
    hyperparameters: Mapping[str, object] | None
    eval_every: float | None
    eval_trials: float | None
    checkpoint_every: float | None
    keep: float | None
    recording: str | None
    recording_weight: float | None
    recording_map: Literal["linear", "identity"] | None
    recording_loss: Literal["variance", "bits"] | None
    recording_scale: Literal["zscore", "sqrt"] | None
    recording_by: str | None
    recording_area: str | None
    recording_unit_filter: str | None
    recording_seed: float | None
    recording_only: bool | None
    recommended: bool | None
    schedule: str | None
    prune: str | None
    loss_weight: Mapping[str, object] | None
    task_weight: Mapping[str, object] | None
    threads: float | None
    config: str | Path | None
    name: str | None
    runs_root: str | Path | None
    overwrite: bool | None
    trust: bool | None
    tag: str | Sequence[object] | None

class SweepOptions(TypedDict, total=False):
    """Keyword arguments of `ngym_cli.sweep`."""

    task: Part | Iterable[Part] | None
    dt: float | Iterable[float] | None
    task_args: Mapping[str, object] | None
    timing: Mapping[str, object] | None
    rewards: Mapping[str, object] | None
    wrappers: Wrappers | Iterable[Wrappers] | None
    alg: Part | Iterable[Part] | None
    network: Part | Iterable[Part] | None
    network_args: Mapping[str, object] | None
    units: float | Iterable[float] | None
    n_envs: float | Iterable[float] | None
    timesteps: float | Iterable[float] | None
    seed: int | Iterable[int] | None
    device: str | Iterable[str] | None
    init_from: str | Iterable[str] | None
    reset_state: str | Iterable[str] | None
    until: float | Iterable[float] | None
    until_performance: float | Iterable[float] | None
    track: str | Iterable[str] | None
    callbacks: Part | Sequence[Part] | None
    hyperparameters: Mapping[str, object] | None
    eval_every: float | Iterable[float] | None
    eval_trials: float | Iterable[float] | None
    checkpoint_every: float | Iterable[float] | None
    keep: float | Iterable[float] | None
    recording: str | Iterable[str] | None
    recording_weight: float | Iterable[float] | None
    recording_map: Literal["linear", "identity"] | Iterable[Literal["linear", "identity"]] | None
    recording_loss: Literal["variance", "bits"] | Iterable[Literal["variance", "bits"]] | None
    recording_scale: Literal["zscore", "sqrt"] | Iterable[Literal["zscore", "sqrt"]] | None
    recording_by: str | Iterable[str] | None
    recording_area: str | Iterable[str] | None
    recording_unit_filter: str | Iterable[str] | None
    recording_seed: float | Iterable[float] | None
    recording_only: bool | Iterable[bool] | None
    recommended: bool | Iterable[bool] | None
    schedule: str | Iterable[str] | None
    prune: str | Iterable[str] | None
    loss_weight: Mapping[str, object] | None
    task_weight: Mapping[str, object] | None
    zip: Iterable[Iterable[str]] | None
    on: str | None
    workers: float | None
    slurm: Mapping[str, object] | None
    name: str | None
    sweeps_root: str | Path | None
    trust: bool | None

class EvaluateOptions(TypedDict, total=False):
    """Keyword arguments of `ngym_cli.Run.evaluate`."""

    deterministic: bool | None
    balanced: bool | None
    seed: int | None
    device: str | None
    dt: float | None
    task_args: Mapping[str, object] | None
    timing: Mapping[str, object] | None
    rewards: Mapping[str, object] | None
    wrappers: Wrappers | None
    lesion: PerturbedUnits | None
    silence: PerturbedUnits | None
    clamp: PerturbedUnits | None
    noise: PerturbedUnits | None
    together: bool | None
    record: Columns | None
    spike_rate: float | None
    export: str | Sequence[object] | None
    compare: TableSource | None
    columns: str | Path | None
    compare_activity: TableSource | None
    recording_by: Columns | None
    name: str | None
    overwrite: bool | None

class SimulateOptions(TypedDict, total=False):
    """Keyword arguments of `ngym_cli.simulate`."""

    trials: float | None
    deterministic: bool | None
    seed: int | None
    dt: float | None
    task_args: Mapping[str, object] | None
    timing: Mapping[str, object] | None
    rewards: Mapping[str, object] | None
    together: bool | None
    fitted_model: str | None
    fitted_subject: str | None
    task_stimuli: str | None
    compare: TableSource | None
    columns: str | Path | None
    name: str | None
    overwrite: bool | None
    trust: bool | None

class PlotOptions(TypedDict, total=False):
    """Keyword arguments of `ngym_cli.plot`."""

    by: Columns | None
    group_by: str | None
    evaluation: str | None
    pair: Columns | None
    metric: Columns | None
    delays: float | None
    rank: float | None
    across: str | None
    input: str | Sequence[object] | None
    axes: Columns | None
    outside: str | Sequence[object] | None
    format: str | None
    style: str | None
    out: str | Path | None
    overwrite: bool | None
    runs_root: str | Path | None
    sweeps_root: str | Path | None
    trust: bool | None

class InfoOptions(TypedDict, total=False):
    """Keyword arguments of `ngym_cli.info`."""

    dt: float | None
    task_args: Mapping[str, object] | None
    timing: Mapping[str, object] | None
    rewards: Mapping[str, object] | None
    wrappers: Wrappers | None
    figure: str | Path | None
    overwrite: bool | None

class CheckOptions(TypedDict, total=False):
    """Keyword arguments of `ngym_cli.check`."""

    all: bool | None
    neurogym: bool | None

class ExportOptions(TypedDict, total=False):
    """Keyword arguments of `ngym_cli.export`."""

    out: str | Path | None
    overwrite: bool | None
    runs_root: str | Path | None
    trust: bool | None

class DiffOptions(TypedDict, total=False):
    """Keyword arguments of `ngym_cli.diff`."""

    runs_root: str | Path | None

class WatchOptions(TypedDict, total=False):
    """Keyword arguments of `ngym_cli.watch`."""

    only: str | Mapping[str, object] | None
    overwrite: bool | None
    speed: float | None
    stochastic: bool | None
    seed: int | None
    runs_root: str | Path | None
    trust: bool | None

class ListOptions(TypedDict, total=False):
    """Keyword arguments of `ngym_cli.list`."""

    tag: str | None
    paper: str | None
    obs: str | None
    action: str | None
    learned_by: str | None
    ceilings: bool | None
    task: str | None
    alg: str | None
    status: str | None
    sort: str | None
    runs_root: str | Path | None

class DataOptions(TypedDict, total=False):
    """Keyword arguments of `ngym_cli.data`."""

    columns: str | Path | None
    subject: str | None
    session: str | None
    trial: str | None
    choice: str | None
    correct: str | None
    reward: str | None
    ground_truth: str | None
    rt: str | None
    stimuli: str | None
    pulses: str | None
    duration: str | None
    state: str | None
    choice2: str | None
    gain: str | None
    loss: str | None
    confidence: str | None
    cue: str | None
    where: str | Sequence[object] | None
    derive: str | Sequence[object] | None
    missed: str | Sequence[object] | None
    choices: str | Sequence[object] | None
    data_dir: str | Path | None
    download: bool | None
    by: str | None
    save_columns: str | Path | None
    overwrite: bool | None

class FitOptions(TypedDict, total=False):
    """Keyword arguments of `ngym_cli.fit`."""

    columns: str | Path | None
    subject: str | None
    session: str | None
    trial: str | None
    choice: str | None
    correct: str | None
    reward: str | None
    ground_truth: str | None
    rt: str | None
    stimuli: str | None
    pulses: str | None
    duration: str | None
    state: str | None
    choice2: str | None
    gain: str | None
    loss: str | None
    confidence: str | None
    cue: str | None
    where: str | Sequence[object] | None
    derive: str | Sequence[object] | None
    missed: str | Sequence[object] | None
    choices: str | Sequence[object] | None
    units: int | Sequence[int] | None
    folds: float | None
    seeds: float | None
    test: TableSource | None
    subjects: Literal["each", "pooled", "hierarchical"] | None
    seed: int | None
    times: Literal["ddm", "lba"] | None
    deadline: float | None
    transition: str | None
    between: str | None
    posterior: float | None
    vary: str | Sequence[object] | None
    fix: str | Sequence[object] | None
    prior: str | Sequence[object] | None
    further: str | Sequence[object] | None
    recover: float | None
    design: str | Sequence[object] | None
    design_trials: str | Sequence[object] | None
    task_stimuli: str | None
    on: str | None
    workers: float | None
    slurm: Mapping[str, object] | None
    track: str | Sequence[object] | None
    name: str | None
    runs_root: str | Path | None
    overwrite: bool | None

class ReproduceOptions(TypedDict, total=False):
    """Keyword arguments of `ngym_cli.reproduce`."""

    seeds: float | None
    first_seed: float | None
    on: str | None
    workers: float | None
    slurm: Mapping[str, object] | None
