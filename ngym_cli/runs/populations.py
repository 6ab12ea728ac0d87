"""Populations of files: recordings of animals (NWB) and arrays of other tools (HDF5, npz) as single trials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.dynamics import PopulationTrials
from ngym_cli.errors import UserError, check_known, message_of
from ngym_cli.runs import summary
from ngym_cli.runs.recordings import refuse_elsewhere

if TYPE_CHECKING:
    import h5py

#: Bin of spike counts and standard deviation of the Gaussian kernel that smooths the counts, seconds.
BIN, KERNEL = 0.02, 0.04

#: Prefix of the arrays of conditions in npz and HDF5 files.
CONDITION = "condition_"

#: Prefix of the arrays of periods in npz and HDF5 files: first step and step after the last, shape (2,) or (trials, 2).
PERIOD = "period_"

#: Key of the whole trials among the parts of trials.
WHOLE_TRIALS = ""


def read_population(path: Path, by: Sequence[str]) -> PopulationTrials:
    """Return the whole trials of a file; see `read_parts`."""
    return read_parts(path, by)[WHOLE_TRIALS]


def read_parts(path: Path, by: Sequence[str]) -> dict[str, PopulationTrials]:
    """Return the trials of a file, whole (key ``""``) and cut to each period that the file names.

    Args:
        path: NWB file with a table of trials and units with spike times (rates in bins of 20 ms, smoothed with a
            Gaussian of 40 ms) or exported activity; or npz or HDF5 file with ``activity``, shape (trials, steps,
            units), and where available ``mask``, shape (trials, steps), ``inputs``, ``condition_NAME`` and
            ``period_NAME`` (first step and step after the last). A row may be the average of a condition. Periods of
            NWB files are in the table ``intervals/periods``, with columns ``period`` and ``trial``.
        by: columns that tell conditions apart.

    Raises:
        UserError: if the file cannot be read or lacks a column.
    """
    with _opened(path) as file:
        if path.suffix == ".nwb":
            return _from_nwb(path, file, by)
        arrays = dict(file) if path.suffix == ".npz" else {name: _read(file, name) for name in file}
        return _from_arrays(path, arrays, by)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file of arrays; any error of reading is reported in a single line."""
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                yield arrays
        else:
            import h5py

            with h5py.File(path, "r") as file:
                yield file
    except (OSError, KeyError, ValueError, TypeError, IndexError) as error:
        raise UserError(f"{path} has no trials that can be read: {message_of(error)}") from None


def condition_names(columns: Mapping[str, np.ndarray], by: Sequence[str], n: int) -> np.ndarray:
    """Return the condition of each trial in words, shape (trials,).

    Args:
        columns: columns of the trials.
        by: names of the columns that tell conditions apart; none for a single condition.
        n: number of trials.
    """
    labels = [[f"{name} {_word(value)}" for value in columns[name]] for name in by]
    return np.array([", ".join(words) for words in zip(*labels, strict=True)] if labels else ["all trials"] * n)


def _word(value: str | bytes | float) -> str:
    """Return a value in the words that runs use, whatever type the file has."""
    value = value.decode() if isinstance(value, bytes) else value
    try:
        return summary.label(float(value))
    except (TypeError, ValueError):
        return str(value)


def columns_of(path: Path) -> tuple[str, ...]:
    """Return the names of the columns that tell the trials of a file apart.

    Raises:
        UserError: if the file cannot be read.
    """
    with _opened(path) as file:
        if path.suffix == ".nwb":
            return tuple(file["intervals/trials"])
        return tuple(name.removeprefix(CONDITION) for name in file if name.startswith(CONDITION))


def _from_arrays(path: Path, arrays: Mapping[str, np.ndarray], by: Sequence[str]) -> dict[str, PopulationTrials]:
    activity = np.asarray(arrays["activity"], float)
    if activity.ndim != 3:
        raise ValueError(f"activity must have the shape (trials, steps, units), not {activity.shape}")
    if not np.isfinite(activity).all():
        raise ValueError("activity holds values that are not finite; mark missing steps in 'mask'")
    n, steps = activity.shape[:2]
    mask = np.asarray(arrays.get("mask", np.ones((n, steps))), bool)
    for name, each in {"mask": mask, "inputs": arrays.get("inputs", activity)}.items():
        if np.shape(each)[:2] != (n, steps):
            raise ValueError(f"{name} has the shape {np.shape(each)}, expected {(n, steps)} (trials, steps)")
    columns = {name.removeprefix(CONDITION): each for name, each in arrays.items() if name.startswith(CONDITION)}
    _require(path, columns, by)
    for name in by:
        if len(columns[name]) != n:
            raise ValueError(f"{CONDITION}{name} has {len(columns[name])} entries, expected {n}, one for each trial")
    inputs, names = arrays.get("inputs"), condition_names(columns, by, n)
    spans = {WHOLE_TRIALS: np.tile([0, steps], (n, 1))}
    for name, each in arrays.items():
        if name.startswith(PERIOD):
            if each.shape not in ((2,), (n, 2)):
                raise ValueError(f"{name} has the shape {each.shape}, expected (2,) or ({n}, 2)")
            ends = np.broadcast_to(np.nan_to_num(each).astype(int), (n, 2))  # nan: a trial without the period
            if not np.all((ends[:, 0] >= 0) & (ends[:, 0] <= ends[:, 1]) & (ends[:, 1] <= steps)):
                raise ValueError(f"{name}: first step and step after the last must lie between 0 and {steps}")
            spans[name.removeprefix(PERIOD)] = ends
    populations: dict[str, PopulationTrials] = {}
    for period, ends in spans.items():
        segments = [slice(int(a), int(b)) for a, b in ends]
        rows = [activity[k, span][mask[k, span]] for k, span in enumerate(segments)]
        input_segments = (
            None
            if inputs is None
            else [np.asarray(inputs[k, span], float)[mask[k, span]] for k, span in enumerate(segments)]
        )
        populations |= _long(path, period, rows, names, input_segments)
    return populations


def _long(
    path: Path, period: str, rows: list[np.ndarray], names: np.ndarray, inputs: list[np.ndarray] | None = None
) -> dict[str, PopulationTrials]:
    """Return a population of the trials that have two steps or more, by the name of the part."""
    long = np.array([len(row) > 1 for row in rows], bool)
    if period != WHOLE_TRIALS and not long.any():
        return {}
    trials = [row for row, keep in zip(rows, long, strict=True) if keep]
    long_inputs = None if inputs is None else [row for row, keep in zip(inputs, long, strict=True) if keep]
    return {period: PopulationTrials(path.stem, trials, names[long], long_inputs)}


def period_spans(table: Mapping[str, np.ndarray], offsets: np.ndarray, dt: float) -> dict[str, list[slice]]:
    """Return the steps of each period in each trial of a run's recording.

    Args:
        table: trials of the run.
        offsets: first step of each trial and the end of the last, shape (trials + 1,).
        dt: step, ms.
    """
    spans: dict[str, list[slice]] = {}
    n = len(offsets) - 1
    for period in (name.removeprefix("period_") for name in table if name.startswith("period_")):
        onset = np.nan_to_num(table.get(f"onset_{period}", np.zeros(n))) / dt
        length = np.nan_to_num(table[f"period_{period}"]) / dt
        spans[period] = [
            slice(min(int(start + int(a)), int(stop)), min(int(start + int(a + b)), int(stop)))
            for start, stop, a, b in zip(offsets[:-1], offsets[1:], onset, length, strict=False)
        ]
    return spans


def _require(path: Path, columns: Mapping[str, object], by: Sequence[str]) -> None:
    for name in by:
        check_known(f"column of the trials in {path.name}", name, columns)


def _read(file: h5py.Group, name: str) -> np.ndarray:
    """Return a dataset, or nothing for a group; data that lie in another file are refused."""
    import h5py

    refuse_elsewhere(file, name)
    return np.asarray(file[name]) if isinstance(file[name], h5py.Dataset) else np.zeros(0)


def _from_nwb(path: Path, file: h5py.Group, by: Sequence[str]) -> dict[str, PopulationTrials]:
    table = file["intervals/trials"]
    columns = {name: _read(table, name) for name in table}
    _require(path, columns, by)
    spans = list(zip(columns["start_time"], columns["stop_time"], strict=True))
    names = condition_names(columns, by, len(spans))
    rates = _spikes if "units" in file else _sampled
    populations = _long(path, WHOLE_TRIALS, rates(file, spans), names)
    for period, (rows, times) in _periods(file).items():
        populations |= _long(path, period, rates(file, times), names[rows])
    return populations


def _periods(file: h5py.Group) -> dict[str, tuple[np.ndarray, list[tuple[float, float]]]]:
    """Return the trials that have each period, and start and stop of the period."""
    if "intervals/periods" not in file or not {"period", "trial"} <= set(file["intervals/periods"]):
        return {}
    table = file["intervals/periods"]
    columns = {name: _read(table, name) for name in ("period", "trial", "start_time", "stop_time")}
    words = np.array([_word(value) for value in columns["period"]])
    return {
        str(word): (
            columns["trial"][words == word].astype(int),
            list(zip(columns["start_time"][words == word], columns["stop_time"][words == word], strict=True)),
        )
        for word in dict.fromkeys(words.tolist())
    }


def _sampled(file: h5py.Group, spans: Sequence[tuple[float, float]]) -> list[np.ndarray]:
    """Return activity that was exported as a time series."""
    series = file["processing/ecephys/activity"]
    values, times = _read(series, "data").astype(float), _read(series, "timestamps")
    return [values[slice(*np.searchsorted(times, (start, stop - 1e-9)))] for start, stop in spans]


def _spikes(file: h5py.Group, spans: Sequence[tuple[float, float]]) -> list[np.ndarray]:
    """Return smoothed rates of each unit in each trial (Hz)."""
    from scipy.ndimage import gaussian_filter1d

    units = file["units"]
    spikes = np.split(_read(units, "spike_times"), _read(units, "spike_times_index")[:-1].astype(int))
    trains = []
    for start, stop in spans:
        edges = np.arange(start, stop + 1e-9, BIN)
        if len(edges) < 2:
            trains.append(np.zeros((0, len(spikes))))
            continue
        counts = np.stack([np.histogram(times, edges)[0] for times in spikes], axis=1) / BIN
        trains.append(gaussian_filter1d(counts, KERNEL / BIN, axis=0))
    return trains
