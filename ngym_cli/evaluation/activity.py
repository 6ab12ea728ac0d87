"""Recordings of an agent, step by step: HDF5 with a ragged array per quantity.

| dataset | shape | what |
|---|---|---|
| `offsets` | (trials + 1,) | where each trial starts in the arrays below, and where the last one ends |
| `activity` | (steps, units) | hidden units of the actor's top layer, after the step was seen |
| `values` | (steps,) | the critic's value |
| `logits` | (steps, actions) | action preferences, or means for continuous actions |
| `observations` | (steps, channels) | what the agent saw |
| `actions`, `rewards` | (steps, ...) | actions taken and rewards received |
| `spikes` | (steps, units) | Poisson counts drawn from `activity`, see `draw_spikes` |
| `events/<period>` | (trials,) | onset of the period from the start of the trial, ms; nan: the trial has none |

Row k of the trial table next to it (``trials.parquet``) is trial k. The file is written as the evaluation continues, so
that memory does not grow with the number of trials.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from ngym_cli.environments.probes import ONSET
from ngym_cli.errors import UserError, check_known, option
from ngym_cli.files.hdf5 import open_to_write
from ngym_cli.runs.recordings import QUANTITIES, Recording

if TYPE_CHECKING:
    from ngym_cli.agents.acting import Act

ACTIVITY_FORMAT = 1

#: Steps gathered before they are written, over all environments, and steps in a chunk of the file.
STEPS_HELD, STEPS_PER_CHUNK = 16_384, 4_096

#: Name of the recorded spikes, their usual largest rate (Hz), and steps whose spikes are drawn at once.
SPIKES, PEAK_RATE, CHUNK = "spikes", 50.0, 65_536


def parse_quantities(names: Iterable[str]) -> tuple[str, ...]:
    """Return each of the names after ``--record`` once.

    Raises:
        UserError: on an unknown one, with the nearest.
    """
    names = tuple(dict.fromkeys(names))
    for name in names:
        check_known("quantity to record", name, QUANTITIES)
    if not names:
        raise UserError(f"{option('--record')} needs one or more of {', '.join(QUANTITIES)}")
    return names


class UnitRecorder:
    """Recorder of trials step by step, which writes finished trials.

    Args:
        path: file to write.
        quantities: names of the recorded quantities.
        n_envs: environments side by side.
        dt: time step, ms.
    """

    def __init__(self, path: Path, quantities: Sequence[str], n_envs: int, dt: float):
        self._disk = contextlib.ExitStack()
        self.file, self._check_disk = self._disk.enter_context(open_to_write(path))
        self.file.attrs.update(format=ACTIVITY_FORMAT, dt=float(dt), unit="ms")
        self.quantities, self.n_envs = tuple(quantities), n_envs
        self._open_trials: dict[str, np.ndarray] = {}
        self._rows_in_trial = np.zeros(n_envs, np.int64)
        self._envs = np.arange(n_envs)
        self._finished: dict[str, list[np.ndarray]] = {name: [] for name in self.quantities}
        self._n_buffered = 0
        self._lengths: list[np.ndarray] = []
        self._onsets: list[dict[str, np.ndarray]] = []

    def __enter__(self) -> UnitRecorder:
        """Return itself."""
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the file; complete unless there was an error."""
        with self._disk:
            if error is None:
                self._complete()

    def step(self, observations: np.ndarray, act: Act, rewards: np.ndarray) -> None:
        """Record a step of all environments.

        Raises:
            UserError: if the agent lacks a quantity (a memoryless one has no hidden activity).
        """
        now = {
            "activity": act.activity,
            "values": act.values,
            "logits": act.logits,
            "observations": observations,
            "actions": act.actions,
            "rewards": rewards,
        }
        for name in self.quantities:
            value = now[name]
            if value is None:
                raise UserError(
                    f"{option('--record')} {name}: this agent has none; it has actions, observations and rewards"
                )
            buffer = self._open_trials.get(name)
            if buffer is None or len(buffer) <= self._rows_in_trial.max():
                buffer = self._open_trials[name] = _longer(buffer, value, int(self._rows_in_trial.max()))
            buffer[self._rows_in_trial, self._envs] = value
        self._rows_in_trial += 1

    def finish(self, finished: Mapping[str, np.ndarray], keep: np.ndarray) -> None:
        """Take the trials that ended in the last step.

        Args:
            finished: as the environments report them.
            keep: mask of the trials to keep, shape (trials,).
        """
        envs = finished["env"]
        lengths = self._rows_in_trial[envs]
        for env, length in zip(envs[keep], lengths[keep], strict=True):
            for name in self.quantities:
                self._finished[name].append(self._open_trials[name][:length, env].copy())
            self._n_buffered += int(length)
        self._lengths.append(lengths[keep])
        onsets = {name: np.asarray(v)[keep] for name, v in finished.items() if name.startswith(ONSET)}
        self._onsets.append({**onsets, "": np.zeros(int(keep.sum()))})
        self._rows_in_trial[envs] = 0
        if self._n_buffered >= STEPS_HELD:
            self._write()

    def _write(self) -> None:
        for name, trials in self._finished.items():
            if not trials:
                continue
            rows = np.concatenate(trials)
            rows = rows.astype(np.float32) if rows.dtype == np.float64 else rows
            if name not in self.file:
                self.file.create_dataset(
                    name,
                    (0, *rows.shape[1:]),
                    rows.dtype,
                    maxshape=(None, *rows.shape[1:]),
                    chunks=(STEPS_PER_CHUNK, *rows.shape[1:]),
                )
            dataset = self.file[name]
            dataset.resize(len(dataset) + len(rows), axis=0)
            dataset[-len(rows) :] = rows
            trials.clear()
        self._n_buffered = 0
        self._check_disk()

    def _complete(self) -> None:
        self._write()
        lengths = np.concatenate([np.zeros(0, np.int64), *self._lengths])
        self.file["offsets"] = np.r_[0, np.cumsum(lengths)]
        for name in dict.fromkeys(name for onsets in self._onsets for name in onsets if name):
            columns = [onsets.get(name, np.full(len(onsets[""]), np.nan)) for onsets in self._onsets]
            self.file[f"events/{name.removeprefix(ONSET)}"] = np.concatenate(columns).astype(float)


def _longer(old: np.ndarray | None, value: np.ndarray, most: int) -> np.ndarray:
    """Return a larger array (steps, environments, ...) for longer trials, with the present content."""
    value = np.asarray(value)
    new = np.zeros((max(64, 2 * (most + 1)), *value.shape), value.dtype)
    if old is not None:
        new[: len(old)] = old
    return new


def stepwise(quantities: tuple[str, ...]) -> tuple[str, ...]:
    """Return the quantities to record at each step: spikes are drawn from the activity afterwards.

    Args:
        quantities: names, as in ``ngym eval --record``.
    """
    return tuple(dict.fromkeys("activity" if name == SPIKES else name for name in quantities))


def draw_spikes(path: Path, peak_rate: float, seed: int) -> None:
    """Add spike counts of every unit and step to a recording.

    The rate of a unit is linear in its activity: 0 at the lowest and ``peak_rate`` at the highest recorded activity of
    the unit, ``gain * (activity - low)`` in Hz; ``gain`` and ``low`` are attributes of the dataset. A unit whose
    activity never changes is silent.

    Args:
        path: HDF5 file with ``activity``.
        peak_rate: largest rate of each unit, Hz.
        seed: random seed of the counts.
    """
    rng = np.random.default_rng(seed)
    with open_to_write(path, "r+") as (file, check_disk):
        activity, dt = file["activity"], float(file.attrs["dt"]) / 1000
        chunks = [slice(k, k + CHUNK) for k in range(0, len(activity), CHUNK)]
        low = np.min([activity[chunk].min(axis=0) for chunk in chunks], axis=0).astype(float)
        high = np.max([activity[chunk].max(axis=0) for chunk in chunks], axis=0).astype(float)
        gain = np.divide(peak_rate, high - low, out=np.zeros_like(low), where=high > low)
        counts = file.create_dataset(SPIKES, activity.shape, np.uint16)
        counts.attrs.update(peak_rate=float(peak_rate), unit="spikes per step", gain=gain, low=low)
        for chunk in chunks:
            counts[chunk] = rng.poisson(gain * (activity[chunk] - low) * dt)
            check_disk()


def spike_rates(recording: Recording) -> np.ndarray:
    """Return the rates (Hz) from which the spikes of a recording were drawn, shape (steps, units).

    Args:
        recording: with spikes.
    """
    gain, low, _ = spike_scale(recording)
    return np.asarray(gain * (recording["activity"] - low), np.float32)


def spike_scale(recording: Recording) -> tuple[np.ndarray, np.ndarray, float]:
    """Return gain (Hz per unit of activity), activity at rate 0 of each unit, and the largest rate (Hz).

    Args:
        recording: with spikes.
    """
    gain, low, peak = (recording.attribute(f"{SPIKES}@{name}") for name in ("gain", "low", "peak_rate"))
    return gain, low, float(peak)


def spike_times(recording: Recording, starts: np.ndarray) -> list[np.ndarray]:
    """Return the times of the spikes of each unit (s), at random within their steps.

    Args:
        recording: with spikes.
        starts: start of each trial, seconds.
    """
    rng, dt = np.random.default_rng(0), recording.dt / 1000
    begin = recording.times(starts)
    trains = [np.repeat(begin, counts) for counts in recording[SPIKES].T]
    return [np.sort(times + dt * rng.random(len(times))) for times in trains]
