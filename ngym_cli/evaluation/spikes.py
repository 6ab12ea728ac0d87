"""Poisson spikes drawn from recorded activity, whose rates are therefore known."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ngym_cli.runs.recordings import Recording

#: Name of the recorded quantity, and its usual largest rate (Hz).
SPIKES, PEAK_RATE = "spikes", 50.0

#: Steps that are drawn at once.
CHUNK = 65_536


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
    import h5py

    rng = np.random.default_rng(seed)
    with h5py.File(path, "r+") as file:
        activity, dt = file["activity"], float(file.attrs["dt"]) / 1000
        parts = [slice(k, k + CHUNK) for k in range(0, len(activity), CHUNK)]
        low = np.min([activity[part].min(axis=0) for part in parts], axis=0).astype(float)
        high = np.max([activity[part].max(axis=0) for part in parts], axis=0).astype(float)
        gain = np.divide(peak_rate, high - low, out=np.zeros_like(low), where=high > low)
        counts = file.create_dataset(SPIKES, activity.shape, np.uint16)
        counts.attrs.update(peak_rate=float(peak_rate), unit="spikes per step", gain=gain, low=low)
        for part in parts:
            counts[part] = rng.poisson(gain * (activity[part] - low) * dt)


def rates(recording: Recording) -> np.ndarray:
    """Return the rates (Hz) from which the spikes of a recording were drawn, shape (steps, units).

    Args:
        recording: with spikes.
    """
    gain, low, _ = scale(recording)
    return np.asarray(gain * (recording["activity"] - low), np.float32)


def scale(recording: Recording) -> tuple[np.ndarray, np.ndarray, float]:
    """Return gain (Hz per unit of activity), activity at rate 0 of each unit, and the largest rate (Hz).

    Args:
        recording: with spikes.
    """
    import h5py

    with h5py.File(recording.path, "r") as file:
        held = file[SPIKES].attrs
        return np.asarray(held["gain"]), np.asarray(held["low"]), float(held["peak_rate"])


def spike_times(recording: Recording, starts: np.ndarray) -> list[np.ndarray]:
    """Return the times of the spikes of each unit (s), at random within their steps.

    Args:
        recording: with spikes.
        starts: start of each trial, seconds.
    """
    rng, dt = np.random.default_rng(0), recording.dt / 1000
    begin = recording.times(starts)
    found = [np.repeat(begin, counts) for counts in recording[SPIKES].T]
    return [np.sort(times + dt * rng.random(len(times))) for times in found]
