"""Recordings of neurons that networks learn from: averages of conditions at the task's step, and what is held out."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from neurogym.analysis.encoding import Averages, Split, split
from neurogym.analysis.trial_tables import Table
from neurogym.array_types import FloatArray
from neurogym.dynamics import PopulationTrials
from ngym_cli.config.sections import RecordingConfig
from ngym_cli.errors import UserError, option
from ngym_cli.runs.population_parts import WHOLE_TRIALS, Binning, condition_names
from ngym_cli.runs.populations import (
    areas_of,
    check_file,
    checksum,
    condition_columns,
    kept_units,
    period_spans,
    read_parts,
)
from ngym_cli.runs.recordings import Recording

#: Fewest steps of a part of a trial.
FEWEST_STEPS = 2


@dataclass(frozen=True)
class NeuralRecording:
    """Recording at the time step of a task.

    Attributes:
        parts: trials by part: the periods that file and task share, or else whole trials.
        by: columns that tell conditions apart.
        values: value of each column for each condition.
        areas: area of each neuron, shape (neurons,); None if the file does not say.
        split: held-out neurons and trials.
    """

    parts: dict[str, PopulationTrials]
    by: tuple[str, ...]
    values: dict[str, dict[str, object]]
    areas: np.ndarray | None
    split: Split

    @property
    def conditions(self) -> tuple[str, ...]:
        """Names of the conditions."""
        return tuple(self.values)

    def averages(self, trials: np.ndarray) -> Averages:
        """Return the averages of some trials by condition.

        Args:
            trials: bool, shape (trials of the file,).
        """
        parts = {}
        for part, each in self.parts.items():
            rows = np.flatnonzero(trials[each.rows])
            parts[part] = [each.trials[k] for k in rows], np.asarray(each.condition)[rows]
        return Averages.of(parts)

    def halves(self, trials: np.ndarray, pairs: int) -> list[tuple[Averages, Averages]]:
        """Return averages of random halves of some trials.

        Args:
            trials: bool, shape (trials of the file,).
            pairs: number of pairs of halves.
        """
        first = next(iter(self.parts.values()))
        chosen = np.flatnonzero(trials[first.rows])
        trial, names = np.asarray(first.rows, int)[chosen], np.asarray(first.condition, str)[chosen]
        rng, found = np.random.default_rng(0), []
        for _ in range(pairs):
            shuffled = rng.permutation(len(chosen))
            order = trial[shuffled[np.argsort(names[shuffled], kind="stable")]]
            halves = np.zeros((2, len(trials)), bool)
            halves[0, order[::2]], halves[1, order[1::2]] = True, True
            found.append((self.averages(halves[0]), self.averages(halves[1])))
        return found


def read_neural(settings: RecordingConfig, by: Sequence[str], dt: float, periods: Collection[str]) -> NeuralRecording:
    """Read a recording at the time step of a task.

    Args:
        settings: file, area, scale, loss, and seed of what is held out.
        by: columns that tell conditions apart.
        dt: step of the task, ms.
        periods: names of the task's periods.

    Raises:
        UserError: if the file cannot be read, lacks something, does not suit the loss, or is another than the file
            that the run was made with.
    """
    path = Path(settings.file)
    check_file(path, option("--recording"))
    if settings.sha256 not in ("", checksum(path)):
        raise UserError(f"{path} has changed since the run was made: another checksum than in the configuration")
    binning = Binning(dt, settings.area, settings.unit_filter)
    parts = read_parts(path, by, binning)
    shared = [period for period in parts if period in periods]
    parts = {part: parts[part] for part in shared or [WHOLE_TRIALS]}
    first = next(iter(parts.values()))
    if not first.trials or not first.trials[0].shape[1]:
        raise UserError(f"{path.name} has no trial of two steps of {dt:g} ms, or no neurons")
    activity = np.concatenate([trial for each in parts.values() for trial in each.trials])
    if settings.loss == "bits" and ((activity < 0) | (activity != activity.round())).any():
        raise UserError(
            f"{option('--recording-loss bits')} needs counts of spikes; {path.name} has other numbers at {dt:g} ms"
        )
    if settings.loss == "variance" and settings.scale == "sqrt":
        if (activity < 0).any():
            raise UserError(
                f"{option('--recording-scale sqrt')} needs rates of 0 or more; {path.name} has negative numbers"
            )
        parts = {k: replace(each, trials=[np.sqrt(trial) for trial in each.trials]) for k, each in parts.items()}
    columns = condition_columns(path, by)
    n = len(next(iter(columns.values())))
    names = condition_names(columns, by, n)
    known = {str(name) for each in parts.values() for name in each.condition}
    values = {
        str(name): {column: columns[column][k] for column in by}
        for name, k in zip(*np.unique(names, return_index=True), strict=True)
        if name in known
    }
    areas, keep = areas_of(path), kept_units(path, binning)
    if areas is not None and keep is not None:
        areas = areas[keep]
    units = first.trials[0].shape[1]
    if areas is not None and len(areas) != units:
        raise UserError(f"{path.name} has the area of {len(areas)} neurons, but {units} neurons")
    return NeuralRecording(parts, tuple(by), values, areas, split(names, units, settings.seed))


def network_trials(
    recording: Recording, table: Table, label: str, by: Sequence[str], activity: np.ndarray | None = None
) -> dict[str, PopulationTrials]:
    """Return the trials of an agent's recording, whole and cut to each period.

    Args:
        recording: of an evaluation.
        table: its trials.
        label: name of the population.
        by: columns that tell conditions apart.
        activity: of another network in the same trials; None for the recorded activity.
    """
    values, offsets = (recording["activity"] if activity is None else activity).astype(float), recording.offsets
    names = condition_names(table, by, len(recording))
    all_rows = [slice(int(a), int(b)) for a, b in itertools.pairwise(offsets)]
    populations = {}
    for period, spans in {WHOLE_TRIALS: all_rows, **period_spans(table, offsets, recording.dt)}.items():
        long_trials = [k for k, span in enumerate(spans) if span.stop - span.start >= FEWEST_STEPS]
        if long_trials:
            populations[period] = PopulationTrials(
                label, [values[spans[k]] for k in long_trials], names[long_trials], rows=np.array(long_trials)
            )
    return populations


def check_conditions(recorded: NeuralRecording, path: Path, offered: Collection[str], advice: str) -> None:
    """Refuse a recording with conditions that did not occur in trials of the task.

    Args:
        recorded: the recording.
        path: its file.
        offered: names of the conditions of these trials.
        advice: what would add conditions.

    Raises:
        UserError: names conditions of both.
    """
    missing = [name for name in recorded.conditions if name not in offered]
    if missing:
        raise UserError(
            f"{path.name} has conditions that no trial of the task had: {_some(missing)} (the task: "
            f"{_some(sorted(offered))}); {advice}, or choose {option('--recording-by')}"
        )


def _some(names: Sequence[str]) -> str:
    return "; ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def normalised(averages: Averages) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return z-scored values, with the mean and the standard deviation of each neuron (1 if it does not vary)."""
    weight = averages.trials / averages.trials.sum()
    mean = weight @ averages.values
    sd = np.sqrt(weight @ (averages.values - mean) ** 2)
    sd = np.where(sd > 1e-12, sd, 1.0)
    return (averages.values - mean) / sd, mean, sd


def read_out_of(arrays: Mapping[str, np.ndarray], recorded: NeuralRecording) -> dict[str, np.ndarray]:
    """Return the arrays of the file `folder.READ_OUT`: a read-out with what was held out."""
    extra = {} if recorded.areas is None else {"area": recorded.areas}
    held_out = {"held_out_neurons": recorded.split.neurons, "held_out_trials": recorded.split.trials}
    return {**arrays, **held_out, **extra}
