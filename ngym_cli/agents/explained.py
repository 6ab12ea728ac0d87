"""Explained variance of recorded neurons by a trained network, and by what it should be better than."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neurogym.analysis.encoding import (
    HALVES,
    Averages,
    aligned,
    explained,
    noise_ceiling,
    regressed_on_units,
    regressed_on_variables,
    without_each,
)
from neurogym.analysis.results import Estimate, bootstrap
from neurogym.analysis.trial_tables import Table
from neurogym.array_types import FloatArray
from neurogym.foreign import npz
from ngym_cli.agents import weights
from ngym_cli.config.sections import RecordingConfig
from ngym_cli.errors import UserError, option
from ngym_cli.runs import RunFolder, folder, neural
from ngym_cli.runs.population_parts import WHOLE_TRIALS
from ngym_cli.runs.populations import checksum
from ngym_cli.runs.recordings import Recording
from ngym_cli.runs.records import ExplainedVariance

if TYPE_CHECKING:
    from neurogym.dynamics import PopulationTrials
    from ngym_cli.config.model import ResolvedConfig

#: Names of what neurons are predicted from.
NETWORK, READ_OUT, UNTRAINED = "network", "trained read-out", "untrained network"
AVERAGES, VARIABLES = "averages of other trials", "task variables"
#: Added to the name where each condition is predicted from the others.
UNSEEN = ", unseen"
#: Names of neurons.
HELD_OUT, LEARNED, ALL = "held out", "learned", "all"


@dataclass(frozen=True)
class Judgement:
    """Neurons as predicted and as observed in held-out trials.

    Attributes:
        rows: explained variance by model and neurons.
        observed: averages of the held-out trials, shape (rows, neurons).
        predicted: the same as predicted from the network.
        explained: explained variance of each neuron by the network, shape (neurons,).
        times: part and step of each row, shape (rows,).
        conditions: condition of each row, shape (rows,).
        held_out: whether each neuron was held out, shape (neurons,).
    """

    rows: list[ExplainedVariance]
    observed: FloatArray
    predicted: FloatArray
    explained: FloatArray
    times: np.ndarray
    conditions: np.ndarray
    held_out: np.ndarray


def settings_of(config: ResolvedConfig, path: Path) -> tuple[RecordingConfig, bool]:
    """Return the settings by which a file is read, and whether the run learned from the file."""
    if config.recording is not None and config.recording.sha256 == checksum(path):
        return config.recording.model_copy(update={"file": str(path)}), True
    return RecordingConfig(file=str(path)), False


def judge(
    run: RunFolder,
    config: ResolvedConfig,
    recording: Recording,
    table: Table,
    path: Path,
    by: Sequence[str],
    settings: RecordingConfig | None = None,
) -> Judgement:
    """Predict neurons of a file from a network's activity, and score the predictions in held-out trials.

    Each prediction is fitted to the averages of the other trials: a ridge regression on the units of the network, and
    of the same network before training, on the same stimuli; a regression on the task's variables at each step; and
    these averages themselves. The trained read-out of a run that learned from the file is scored as it is.

    Args:
        run: the run.
        config: its complete configuration.
        recording: activity and observations of the network in an evaluation.
        table: trials of the evaluation.
        path: file of the neurons.
        by: columns that tell conditions apart.
        settings: settings of another run that learned from the file, whose held-out neurons are told apart.

    Raises:
        UserError: if the file cannot be used, or conditions have single trials.
    """
    own, has_learned = settings_of(config, path)
    settings, learned = settings or own, has_learned or settings is not None
    ours = neural.network_trials(recording, table, run.name, by)
    recorded = neural.read_neural(settings, by, recording.dt, [part for part in ours if part != WHOLE_TRIALS])
    more_trials = f"record more than {len(recording)} trials ({option('--trials')})"
    neural.check_conditions(recorded, path, {str(name) for name in ours[WHOLE_TRIALS].condition}, more_trials)
    held_out = recorded.split.trials
    if len(set(recorded.conditions)) > int(held_out.sum()):
        raise UserError(f"{path.name} has conditions of single trials; two or more of each are needed to hold some out")
    network = _averages(ours, recorded)
    networks = {NETWORK: network}
    if "observations" in recording.quantities and recording["observations"].ndim == 2:
        activity = weights.replayed(weights.untrained(config), recording["observations"], recording.offsets)
        begin = neural.network_trials(recording, table, run.name, by, activity)
        networks[UNTRAINED] = _averages(begin, recorded)
    train, test = recorded.averages(~held_out), recorded.averages(held_out)
    one, other = recorded.halves(~held_out, 1)[0]
    if one.rows.keys() != other.rows.keys():  # single trials of a condition
        one = other = train
    halves = [each for pair in recorded.halves(np.ones(len(held_out), bool), HALVES) for each in pair]
    arrays, times, conditions = aligned([train, test, one, other, *networks.values(), *halves])
    (y, observed, *two), units = arrays[:4], dict(zip(networks, arrays[4:], strict=False))
    pairs = arrays[4 + len(networks) :]
    variables = {name: np.array([recorded.values[condition][name] for condition in conditions]) for name in recorded.by}
    regressions: dict[str, Callable[..., FloatArray]] = {
        name: partial(regressed_on_units, x, y, (two[0], two[1])) for name, x in units.items()
    }
    regressions[VARIABLES] = partial(regressed_on_variables, y, times, variables)
    predicted = {name: predict() for name, predict in regressions.items()} | {AVERAGES: y}
    if len(np.unique(conditions)) > 2:
        predicted |= {name + UNSEEN: without_each(predict, conditions) for name, predict in regressions.items()}
    ceiling = noise_ceiling(list(zip(pairs[::2], pairs[1::2], strict=True)), observed)
    scores = {name: explained(each, observed) for name, each in predicted.items()}
    if has_learned and settings.loss == "variance" and (run.path / folder.READ_OUT).is_file():
        scores[READ_OUT] = _by_read_out(run.path / folder.READ_OUT, units[NETWORK], train, observed)
    rows = _rows(scores, ceiling, _groups(recorded, learned))
    return Judgement(
        rows, observed, predicted[NETWORK], scores[NETWORK], times, conditions, recorded.split.neurons & learned
    )


def _averages(ours: Mapping[str, PopulationTrials], recorded: neural.NeuralRecording) -> Averages:
    return Averages.of({part: (ours[part].trials, ours[part].condition) for part in recorded.parts})


def _by_read_out(path: Path, activity: FloatArray, train: Averages, observed: FloatArray) -> FloatArray:
    """Return the explained variance of each learned neuron by the read-out of a run; nan for others."""
    arrays = npz.read(path, lambda _: True)
    learned = ~arrays["held_out_neurons"]
    _, mean, sd = neural.normalised(train)
    predicted = np.full_like(observed, np.nan)
    predicted[:, learned] = (activity @ arrays["weights"].T + arrays["bias"]) * sd[learned] + mean[learned]
    return explained(predicted, observed)


def _groups(recorded: neural.NeuralRecording, learned: bool) -> dict[str, np.ndarray]:
    """Return groups of neurons by name, bool (neurons,)."""
    held_out = recorded.split.neurons
    groups = {HELD_OUT: held_out, LEARNED: ~held_out} if learned else {ALL: np.ones(len(held_out), bool)}
    names = np.unique(recorded.areas).tolist() if recorded.areas is not None else []
    if len(names) > 1:
        first = next(iter(groups))
        groups |= {f"{first}, {name}" if learned else name: groups[first] & (recorded.areas == name) for name in names}
    return {name: members for name, members in groups.items() if members.any()}


def _rows(
    scores: Mapping[str, FloatArray], ceiling: FloatArray, groups: Mapping[str, np.ndarray]
) -> list[ExplainedVariance]:
    """Return the mean over neurons, with a bootstrap interval over neurons, of each model and group."""
    rows: list[ExplainedVariance] = []
    for group, members in groups.items():
        for model, values in scores.items():
            usable = members & np.isfinite(values) & np.isfinite(ceiling)
            if not usable.any():
                continue
            chosen, n = values[usable], int(usable.sum())
            draws = bootstrap(lambda k, chosen=chosen: chosen[k].mean(), n)  # type: ignore[misc]
            mean, top = Estimate.percentile(chosen.mean(), draws, observations=n), float(ceiling[usable].mean())
            rows.append(
                {
                    "model": model,
                    "neurons": group,
                    "value": mean.value,
                    "low": mean.low,
                    "high": mean.high,
                    "ceiling": top,
                    "share": mean.value / top if top > 0 else None,
                    "n": n,
                }
            )
    return rows
