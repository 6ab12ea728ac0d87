"""Recordings as NWB files have them: a table of trials, one of periods, and units with spike times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from neurogym.dynamics import PopulationTrials
from neurogym.foreign import hdf5
from ngym_cli.runs import spike_folder
from ngym_cli.runs.population_parts import (
    WHOLE_TRIALS,
    Binning,
    as_word,
    averaged,
    condition_names,
    long_trials,
    require,
    steps_in,
)

#: Bin of spike counts and standard deviation of the Gaussian kernel that smooths the counts, seconds.
BIN, KERNEL = 0.02, 0.04

#: Tables and series of an NWB file, the entries of the file that are read, and most bins of all trials together.
TRIALS, PERIODS, UNITS, SERIES = "intervals/trials", "intervals/periods", "units", "processing/ecephys/activity"
NWB_ENTRIES = (
    *(TRIALS, PERIODS, f"{UNITS}/spike_times", f"{UNITS}/spike_times_index"),
    *(f"{SERIES}/data", f"{SERIES}/timestamps"),
)
#: Electrodes of the units, the end of those of each unit, and the area of each electrode.
ELECTRODE_ENTRIES = (
    *(f"{UNITS}/electrodes", f"{UNITS}/electrodes_index", "general/extracellular_ephys/electrodes/location"),
)
MOST_BINS = 10_000_000


def read_entries(path: Path, wanted: Sequence[str]) -> dict[str, np.ndarray]:
    """Return entries of an HDF5 file, or of a folder of spikes by the names that they have in NWB files."""
    return spike_folder.read(path, wanted, TRIALS, PERIODS, UNITS) if path.is_dir() else hdf5.read(path, wanted)


def columns_of_trials(path: Path) -> tuple[str, ...]:
    """Return the names of the columns of the trials."""
    return tuple(spike_folder.column_names(path) if path.is_dir() else hdf5.names(path, TRIALS))


def columns_of_units(path: Path) -> dict[str, np.ndarray]:
    """Return the columns of the units that have an entry for each unit, by name."""
    names = spike_folder.unit_columns(path) if path.is_dir() else hdf5.names(path, UNITS)
    entries = read_entries(path, [f"{UNITS}/{name}" for name in ("spike_times_index", *names) if name != "spike_times"])
    n = len(entries[f"{UNITS}/spike_times_index"])
    return {name: each for name, each in _table(entries, UNITS).items() if each.shape == (n,) and "_index" not in name}


def areas_of_electrodes(path: Path) -> np.ndarray | None:
    """Return the area of the first electrode of each unit; None where units or electrodes have none."""
    entries = read_entries(path, ELECTRODE_ENTRIES)
    electrode, ends, areas = (entries.get(name) for name in ELECTRODE_ENTRIES)
    if electrode is None or areas is None:
        return None
    first = np.arange(len(electrode)) if ends is None else np.concatenate([[0], ends[:-1]]).astype(int)
    return areas[electrode[first].astype(int)]


def _table(entries: Mapping[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """Return the columns of a table of an NWB file; none if there is no such table."""
    start = f"{name}/"
    return {key.removeprefix(start): values for key, values in entries.items() if key.startswith(start)}


def from_tables(
    path: Path, entries: Mapping[str, np.ndarray], by: Sequence[str], binning: Binning | None = None
) -> dict[str, PopulationTrials]:
    """Return the trials, whole and cut to each period; arguments as of `populations.read_parts`.

    Args:
        path: file or folder.
        entries: those of `NWB_ENTRIES` that it has.
        by: columns that tell conditions apart.
        binning: steps of the trials; None: bins of `BIN`, smoothed.
    """
    columns = _table(entries, TRIALS)
    require(path, columns, by)
    spans = _spans(columns)
    for name in by:
        if len(columns[name]) != len(spans):
            raise ValueError(f"column {name} has {len(columns[name])} entries, expected {len(spans)}")
    names = condition_names(columns, by, len(spans))
    rates = _spikes if f"{UNITS}/spike_times" in entries else _sampled
    populations = long_trials(path, WHOLE_TRIALS, rates(entries, spans, binning), names, np.arange(len(spans)))
    for period, (rows, times) in _periods(entries, len(spans)).items():
        populations |= long_trials(path, period, rates(entries, times, binning), names[rows], rows)
    return populations


def _spans(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return start and stop of each row of a table, shape (rows, 2), in seconds."""
    spans = np.stack([columns["start_time"], columns["stop_time"]], axis=1).astype(float)
    bins = np.sum(np.maximum(spans[:, 1] - spans[:, 0], 0)) / BIN
    if not bins <= MOST_BINS:
        raise ValueError(f"start_time and stop_time announce {bins:.3g} bins of {BIN} s; the limit is {MOST_BINS:,}")
    return spans


def _periods(entries: Mapping[str, np.ndarray], trials: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the trials that have each period, and start and stop of the period."""
    columns = _table(entries, PERIODS)
    if not {"period", "trial", "start_time", "stop_time"} <= set(columns):
        return {}
    rows, spans = columns["trial"].astype(int), _spans(columns)
    if len(rows) and not 0 <= rows.min() <= rows.max() < trials:
        raise ValueError(f"{PERIODS} names trial {rows.max()} of {trials}")
    words = np.array([as_word(value) for value in columns["period"]])
    return {str(word): (rows[words == word], spans[words == word]) for word in dict.fromkeys(words.tolist())}


def _sampled(entries: Mapping[str, np.ndarray], spans: np.ndarray, binning: Binning | None) -> list[np.ndarray]:
    """Return activity that was exported as a time series."""
    values, times = (np.asarray(entries[f"{SERIES}/{name}"], float) for name in ("data", "timestamps"))
    if values.ndim != 2 or times.shape != values.shape[:1]:
        raise ValueError(f"{SERIES} has data of shape {values.shape} and timestamps of shape {times.shape}")
    steps = 1 if binning is None else steps_in(binning.dt, 1000 * np.median(np.diff(times[:1000])).round(6))
    return [averaged(values[slice(*np.searchsorted(times, (start, stop - 1e-9)))], steps) for start, stop in spans]


def _spikes(entries: Mapping[str, np.ndarray], spans: np.ndarray, binning: Binning | None) -> list[np.ndarray]:
    """Return smoothed rates of each unit in each trial (Hz), or counts in bins."""
    from scipy.ndimage import gaussian_filter1d

    every, ends = (entries[f"{UNITS}/{name}"] for name in ("spike_times", "spike_times_index"))
    spikes = np.split(every.astype(float), ends[:-1].astype(int))
    trains = []
    for start, stop in spans:
        edges = np.arange(start, stop + 1e-9, BIN if binning is None else binning.dt / 1000)
        if len(edges) < 2:
            trains.append(np.zeros((0, len(spikes))))
            continue
        counts = np.stack([np.histogram(times, edges)[0] for times in spikes], axis=1).astype(float)
        trains.append(counts if binning is not None else gaussian_filter1d(counts / BIN, KERNEL / BIN, axis=0))
    return trains
