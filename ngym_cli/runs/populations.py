"""Populations of files: recordings of animals (NWB) and arrays of other tools (HDF5, npz) as single trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neurogym.dynamics import PopulationTrials
from ngym_cli.errors import UserError, unknown
from ngym_cli.runs import summary

#: Bin of spike counts and standard deviation of the Gaussian kernel that smooths the counts, seconds.
BIN, KERNEL = 0.02, 0.04

#: Prefix of the arrays of conditions in npz and HDF5 files.
CONDITION = "condition_"


def read_population(path: Path, by: Sequence[str]) -> PopulationTrials:
    """Return the trials of a file.

    Args:
        path: NWB file with a table of trials and units with spike times (rates in bins of 20 ms, smoothed with a
            Gaussian of 40 ms) or exported activity; or npz or HDF5 file with ``activity``, shape (trials, steps,
            units), and where available ``mask``, shape (trials, steps), ``inputs`` and ``condition_NAME``.
        by: columns that tell conditions apart.

    Raises:
        UserError: if the file cannot be read or lacks a column.
    """
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return _from_arrays(path, dict(arrays), by)
        import h5py

        with h5py.File(path, "r") as file:
            if path.suffix == ".nwb":
                return _from_nwb(path, file, by)
            return _from_arrays(path, {name: _read(file, name) for name in file}, by)
    except (OSError, KeyError, ValueError, TypeError, IndexError) as error:
        raise UserError(f"{path} has no trials that can be read: {' '.join(str(error).split())}") from None


def condition_names(columns: Mapping[str, np.ndarray], by: Sequence[str], n: int) -> np.ndarray:
    """Return the condition of each trial in words, shape (trials,).

    Args:
        columns: columns of the trials.
        by: names of the columns that tell conditions apart; none for a single condition.
        n: number of trials.
    """
    parts = [[f"{name} {_word(value)}" for value in columns[name]] for name in by]
    return np.array([", ".join(words) for words in zip(*parts, strict=True)] if parts else ["all trials"] * n)


def _word(value: Any) -> str:
    """Return a value in the words that runs use, whatever type the file has."""
    value = value.decode() if isinstance(value, bytes) else value
    try:
        return summary.label(float(value))
    except (TypeError, ValueError):
        return str(value)


def _from_arrays(path: Path, arrays: Mapping[str, np.ndarray], by: Sequence[str]) -> PopulationTrials:
    activity = np.asarray(arrays["activity"], float)
    if activity.ndim != 3:
        raise ValueError(f"activity must have the shape (trials, steps, units), not {activity.shape}")
    mask = np.asarray(arrays.get("mask", np.ones(activity.shape[:2])), bool)
    columns = {name.removeprefix(CONDITION): each for name, each in arrays.items() if name.startswith(CONDITION)}
    _require(path, columns, by)
    inputs = arrays.get("inputs")
    return PopulationTrials(
        path.stem,
        [trial[kept] for trial, kept in zip(activity, mask, strict=True)],
        condition_names(columns, by, len(activity)),
        None if inputs is None else [np.asarray(x, float)[kept] for x, kept in zip(inputs, mask, strict=True)],
    )


def _require(path: Path, columns: Mapping[str, Any], by: Sequence[str]) -> None:
    for name in by:
        if name not in columns:
            raise unknown(f"column of the trials in {path.name}", name, list(columns))


def _read(file: Any, name: str) -> np.ndarray:
    """Return a dataset; refuse data that lie in another file."""
    import h5py

    item = file.get(name)
    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"{name} is a link")
    if not isinstance(item, h5py.Dataset):
        return np.zeros(0)
    if item.external or item.is_virtual:
        raise ValueError(f"{name} lies in another file")
    return np.asarray(item)


def _from_nwb(path: Path, file: Any, by: Sequence[str]) -> PopulationTrials:
    table = file["intervals/trials"]
    columns = {name: _read(table, name) for name in table}
    _require(path, columns, by)
    spans = list(zip(columns["start_time"], columns["stop_time"], strict=True))
    trials = _spikes(file["units"], spans) if "units" in file else _sampled(file, spans)
    long = np.array([len(trial) > 1 for trial in trials])
    names = condition_names(columns, by, len(spans))
    return PopulationTrials(path.stem, [trial for trial, keep in zip(trials, long, strict=True) if keep], names[long])


def _sampled(file: Any, spans: Sequence[tuple[float, float]]) -> list[np.ndarray]:
    """Return activity that was exported as a time series."""
    series = file["processing/ecephys/activity"]
    values, times = np.asarray(series["data"], float), _read(series, "timestamps")
    return [values[slice(*np.searchsorted(times, (start, stop - 1e-9)))] for start, stop in spans]


def _spikes(units: Any, spans: Sequence[tuple[float, float]]) -> list[np.ndarray]:
    """Return smoothed rates of each unit in each trial (Hz)."""
    from scipy.ndimage import gaussian_filter1d

    spikes = np.split(_read(units, "spike_times"), _read(units, "spike_times_index")[:-1].astype(int))
    found = []
    for start, stop in spans:
        edges = np.arange(start, stop + 1e-9, BIN)
        if len(edges) < 2:
            found.append(np.zeros((0, len(spikes))))
            continue
        counts = np.stack([np.histogram(times, edges)[0] for times in spikes], axis=1) / BIN
        found.append(gaussian_filter1d(counts, KERNEL / BIN, axis=0))
    return found
