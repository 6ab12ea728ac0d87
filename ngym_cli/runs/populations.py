"""Populations of files: recordings of animals (NWB) and arrays of other tools (HDF5, npz) as single trials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neurogym.dynamics import PopulationTrials
from neurogym.foreign import hdf5, npz
from ngym_cli.errors import UserError, check_known, message_of
from ngym_cli.runs import summary
from ngym_cli.runs.recordings import ENDINGS

#: Bin of spike counts and standard deviation of the Gaussian kernel that smooths the counts, seconds.
BIN, KERNEL = 0.02, 0.04

#: Prefix of the arrays of conditions in npz and HDF5 files.
CONDITION = "condition_"

#: Prefix of the arrays of periods in npz and HDF5 files: first step and step after the last, shape (2,) or (trials, 2).
PERIOD = "period_"

#: Tables and series of an NWB file, the entries of the file that are read, and most bins of all trials together.
TRIALS, PERIODS, UNITS, SERIES = "intervals/trials", "intervals/periods", "units", "processing/ecephys/activity"
NWB_ENTRIES = (
    *(TRIALS, PERIODS, f"{UNITS}/spike_times", f"{UNITS}/spike_times_index"),
    *(f"{SERIES}/data", f"{SERIES}/timestamps"),
)
MOST_BINS = 10_000_000

#: Key of the whole trials among the parts of trials.
WHOLE_TRIALS = ""

#: Names of the array or column with the area of each neuron.
AREAS = ("area", "location", "brain_area", "brain_region", "region")


class Binning(NamedTuple):
    """Steps in which trials are read, and neurons that are read.

    Attributes:
        dt: ms; steps of a file are averaged. Spikes are counted, without smoothing.
        area: area of the neurons; empty for all.
    """

    dt: float
    area: str = ""


def areas_of(path: Path) -> np.ndarray | None:
    """Return the area of each neuron of a file, words of shape (neurons,); None where the file does not say.

    Raises:
        UserError: if the file cannot be read.
    """
    with _readable(path):
        arrays = _named(path, f"{UNITS}/" if path.suffix == ".nwb" else "", AREAS)
        found = next((arrays[name] for name in AREAS if name in arrays), None)
        return None if found is None else np.array([_word(each) for each in found.ravel()])


def condition_columns(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return columns of the trials of a file by name, numbers or words, shape (trials,).

    Raises:
        UserError: if the file cannot be read or lacks a column.
    """
    with _readable(path):
        columns = _named(path, f"{TRIALS}/" if path.suffix == ".nwb" else CONDITION, names)
        _require(path, columns, names)
        kinds = {name: each.dtype.kind for name, each in columns.items()}
        return {k: each if kinds[k] in "biuf" else np.array(list(map(_word, each))) for k, each in columns.items()}


def _named(path: Path, start: str, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return those of some arrays that a file has, by name without the beginning that all have in the file."""
    wanted = [f"{start}{name}" for name in names]
    arrays = npz.read(path, wanted.__contains__) if path.suffix == ".npz" else hdf5.read(path, wanted)
    return {name.removeprefix(start): each for name, each in arrays.items()}


def shared_columns(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of conditions of trials that the trials of a file have, too.

    Raises:
        UserError: if there is none, or the file cannot be read.
    """
    recorded = columns_of(path)
    shared = tuple(name for name in dict.fromkeys(names) if name in recorded)
    if not shared:
        ours = ", ".join(dict.fromkeys(names)) or "which have none"
        raise UserError(
            f"{path.name} has no condition of the trials ({ours}); found "
            f"{', '.join(recorded) or 'none'}; expected condition_NAME in HDF5 or a column of the trials in NWB"
        )
    return shared


def check_file(path: Path, option: str) -> None:
    """Refuse a file that cannot be a recording.

    Args:
        path: the file.
        option: name of the option that names the file.

    Raises:
        UserError: with the reason.
    """
    if path.suffix not in ENDINGS:
        raise UserError(f"{option} reads {', '.join(ENDINGS)}, not '{path.name}'")
    if not path.is_file():
        raise UserError(f"no such recording: {path}")
    columns_of(path)


def read_population(path: Path, by: Sequence[str]) -> PopulationTrials:
    """Return the whole trials of a file; see `read_parts`."""
    return read_parts(path, by)[WHOLE_TRIALS]


def read_parts(path: Path, by: Sequence[str], binning: Binning | None = None) -> dict[str, PopulationTrials]:
    """Return the trials of a file, whole (key ``""``) and cut to each period that the file names.

    Args:
        path: NWB file with a table of trials and units with spike times (rates in bins of 20 ms, smoothed with a
            Gaussian of 40 ms) or exported activity; or npz or HDF5 file with ``activity``, shape (trials, steps,
            units), and where available ``mask``, shape (trials, steps), ``inputs``, ``condition_NAME`` and
            ``period_NAME`` (first step and step after the last). A row may be the average of a condition. Periods of
            NWB files are in the table ``intervals/periods``, with columns ``period`` and ``trial``.
        by: columns that tell conditions apart.
        binning: steps and neurons that are read; None: steps as in the file, or as above, and all neurons.

    Raises:
        UserError: if the file cannot be read or lacks a column, or its steps do not fit.
    """
    with _readable(path):
        if path.suffix == ".nwb":
            parts = _from_nwb(path, hdf5.read(path, NWB_ENTRIES), by, binning)
        else:
            npz_file = path.suffix == ".npz"
            arrays = (
                npz.read(path, _is_wanted) if npz_file else hdf5.read(path, list(filter(_is_wanted, hdf5.names(path))))
            )
            parts = _from_arrays(path, arrays, by, 1 if binning is None else _steps_in(binning.dt, arrays.get("dt")))
    if binning is None or not binning.area:
        return parts
    areas = areas_of(path)
    if areas is None:
        raise UserError(f"{path.name} does not say the area of each neuron; expected one of {', '.join(AREAS)}")
    check_known(f"area of {path.name}", binning.area, np.unique(areas).tolist())
    keep = areas == binning.area
    return {part: replace(each, trials=[trial[:, keep] for trial in each.trials]) for part, each in parts.items()}


def _is_wanted(name: str) -> bool:
    return name in ("activity", "mask", "inputs", "dt") or name.startswith((CONDITION, PERIOD))


def _steps_in(dt: float, recorded: np.ndarray | None) -> int:
    """Return the number of recorded steps in a step of a task."""
    if recorded is None or np.size(recorded) != 1:
        raise ValueError(f"its time step is not known; add dt (ms) to the file, of which {dt:g} ms is a multiple")
    number = dt / float(np.ravel(recorded)[0])
    if not np.isfinite(number) or number < 1 - 1e-6 or abs(number - round(number)) > 1e-6:
        raise ValueError(f"the task's step of {dt:g} ms is not a multiple of the recording's {np.ravel(recorded)[0]:g}")
    return round(number)


def _averaged(rows: np.ndarray, steps: int) -> np.ndarray:
    """Return the mean of every so many steps; an incomplete rest is left out."""
    return rows[: len(rows) // steps * steps].reshape(-1, steps, *rows.shape[1:]).mean(1) if steps > 1 else rows


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn any error of reading into an error of a single line."""
    try:
        yield
    except (OSError, KeyError, ValueError, TypeError, IndexError, OverflowError, MemoryError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else message_of(error)
        raise UserError(f"{path} has no trials that can be read: {reason}") from None


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
    with _readable(path):
        if path.suffix == ".nwb":
            return tuple(hdf5.names(path, TRIALS))
        names = npz.names(path) if path.suffix == ".npz" else hdf5.names(path)
        return tuple(name.removeprefix(CONDITION) for name in names if name.startswith(CONDITION))


def _from_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], by: Sequence[str], steps_in_bin: int = 1
) -> dict[str, PopulationTrials]:
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
        rows = _cut(activity, mask, ends, steps_in_bin)
        input_rows = None if inputs is None else _cut(inputs, mask, ends, steps_in_bin)
        populations |= _long(path, period, rows, names, np.arange(n), input_rows)
    return populations


def _cut(values: np.ndarray, mask: np.ndarray, ends: np.ndarray, steps_in_bin: int) -> list[np.ndarray]:
    """Return a period of each trial, averaged over bins, without the steps that are not in the mask."""
    spans = [slice(int(a), int(b)) for a, b in ends]
    return [_averaged(np.asarray(values[k, at], float)[mask[k, at]], steps_in_bin) for k, at in enumerate(spans)]


def _long(
    path: Path,
    period: str,
    rows: list[np.ndarray],
    names: np.ndarray,
    trial: np.ndarray,
    inputs: list[np.ndarray] | None = None,
) -> dict[str, PopulationTrials]:
    """Return a population of the trials that have two steps or more, by the name of the part."""
    long = np.array([len(row) > 1 for row in rows], bool)
    if period != WHOLE_TRIALS and not long.any():
        return {}
    trials = [row for row, keep in zip(rows, long, strict=True) if keep]
    long_inputs = None if inputs is None else [row for row, keep in zip(inputs, long, strict=True) if keep]
    return {period: PopulationTrials(path.stem, trials, names[long], long_inputs, trial[long])}


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


def _table(entries: Mapping[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """Return the columns of a table of an NWB file; none if there is no such table."""
    start = f"{name}/"
    return {key.removeprefix(start): values for key, values in entries.items() if key.startswith(start)}


def _from_nwb(
    path: Path, entries: Mapping[str, np.ndarray], by: Sequence[str], binning: Binning | None = None
) -> dict[str, PopulationTrials]:
    columns = _table(entries, TRIALS)
    _require(path, columns, by)
    spans = _spans(columns)
    for name in by:
        if len(columns[name]) != len(spans):
            raise ValueError(f"column {name} has {len(columns[name])} entries, expected {len(spans)}")
    names = condition_names(columns, by, len(spans))
    rates = _spikes if f"{UNITS}/spike_times" in entries else _sampled
    populations = _long(path, WHOLE_TRIALS, rates(entries, spans, binning), names, np.arange(len(spans)))
    for period, (rows, times) in _periods(entries, len(spans)).items():
        populations |= _long(path, period, rates(entries, times, binning), names[rows], rows)
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
    words = np.array([_word(value) for value in columns["period"]])
    return {str(word): (rows[words == word], spans[words == word]) for word in dict.fromkeys(words.tolist())}


def _sampled(entries: Mapping[str, np.ndarray], spans: np.ndarray, binning: Binning | None) -> list[np.ndarray]:
    """Return activity that was exported as a time series."""
    values, times = (np.asarray(entries[f"{SERIES}/{name}"], float) for name in ("data", "timestamps"))
    if values.ndim != 2 or times.shape != values.shape[:1]:
        raise ValueError(f"{SERIES} has data of shape {values.shape} and timestamps of shape {times.shape}")
    steps = 1 if binning is None else _steps_in(binning.dt, 1000 * np.median(np.diff(times[:1000])).round(6))
    return [_averaged(values[slice(*np.searchsorted(times, (start, stop - 1e-9)))], steps) for start, stop in spans]


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
