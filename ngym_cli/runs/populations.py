"""Populations of files: recordings of animals (NWB, folders of spikes) and arrays of other tools as single trials."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from neurogym.array_types import BoolArray
from neurogym.behaviour.conversion import from_mapping
from neurogym.behaviour.entries import TableError
from neurogym.behaviour.expressions import rows_where
from neurogym.dynamics import PopulationTrials
from neurogym.foreign import hdf5, npz
from ngym_cli.errors import UserError, check_known, message_of, option
from ngym_cli.files.reading import digest
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
from ngym_cli.runs.recordings import ENDINGS
from ngym_cli.runs.spike_tables import (
    NWB_ENTRIES,
    TRIALS,
    UNITS,
    areas_of_electrodes,
    columns_of_trials,
    columns_of_units,
    from_tables,
    read_entries,
)

#: Prefix of the arrays of conditions in npz and HDF5 files.
CONDITION = "condition_"

#: Prefix of the arrays of periods in npz and HDF5 files: first step and step after the last, shape (2,) or (trials, 2).
PERIOD = "period_"

#: Prefix of the arrays of neurons in npz and HDF5 files.
UNIT = "unit_"

#: Names of the array or column with the area of each neuron.
AREAS = ("area", "location", "brain_area", "brain_region", "region")


def areas_of(path: Path) -> np.ndarray | None:
    """Return the area of each neuron of a file, words of shape (neurons,); None where the file does not say.

    Raises:
        UserError: if the file cannot be read.
    """
    with _readable(path):
        arrays = _named(path, f"{UNITS}/" if _has_spikes(path) else "", AREAS)
        found = next((arrays[name] for name in AREAS if name in arrays), None)
        if found is None and path.suffix == ".nwb":
            found = areas_of_electrodes(path)
        return None if found is None else np.array([as_word(each) for each in found.ravel()])


def condition_columns(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return columns of the trials of a file by name, numbers or words, shape (trials,).

    Raises:
        UserError: if the file cannot be read or lacks a column.
    """
    with _readable(path):
        columns = _named(path, f"{TRIALS}/" if _has_spikes(path) else CONDITION, names)
        require(path, columns, names)
        kinds = {name: each.dtype.kind for name, each in columns.items()}
        return {k: each if kinds[k] in "biuf" else np.array(list(map(as_word, each))) for k, each in columns.items()}


def _named(path: Path, start: str, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return those of some arrays that a file has, by name without the beginning that all have in the file."""
    wanted = [f"{start}{name}" for name in names]
    arrays = npz.read(path, wanted.__contains__) if path.suffix == ".npz" else read_entries(path, wanted)
    return {name.removeprefix(start): each for name, each in arrays.items()}


def _has_spikes(path: Path) -> bool:
    """Return whether a recording has a table of trials and units, as NWB files and folders of spikes have."""
    return path.suffix == ".nwb" or path.is_dir()


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


def checksum(path: Path) -> str:
    """Return the SHA-256 of a recording: of the file, or of the names and contents of those of a folder."""
    if not path.is_dir():
        return digest(path)
    listed = "".join(f"{each.relative_to(path)} {digest(each)}\n" for each in spike_folder.files(path))
    return hashlib.sha256(listed.encode()).hexdigest()


def check_file(path: Path, option: str) -> None:
    """Refuse a file that cannot be a recording.

    Args:
        path: the file.
        option: name of the option that names the file.

    Raises:
        UserError: with the reason.
    """
    if not path.is_dir() and path.suffix not in ENDINGS:
        raise UserError(f"{option} reads {', '.join(ENDINGS)} and folders of spike times, not '{path.name}'")
    if not path.exists():
        raise UserError(f"no such recording: {path}")
    columns_of(path)


def read_population(path: Path, by: Sequence[str]) -> PopulationTrials:
    """Return the whole trials of a file; see `read_parts`."""
    return read_parts(path, by)[WHOLE_TRIALS]


def read_parts(path: Path, by: Sequence[str], binning: Binning | None = None) -> dict[str, PopulationTrials]:
    """Return the trials of a file, whole (key ``""``) and cut to each period that the file names.

    Args:
        path: NWB file with a table of trials and units with spike times (rates in bins of 20 ms, smoothed with a
            Gaussian of 40 ms) or exported activity; a folder of spike times (`spike_folder`); or npz or HDF5 file with
            ``activity``, shape (trials, steps, units), and where available ``mask``, shape (trials, steps), ``inputs``,
            ``condition_NAME`` and ``period_NAME`` (first step and step after the last). A row may be the average of a
            condition. Periods of NWB files are in the table ``intervals/periods``, with columns ``period`` and
            ``trial``.
        by: columns that tell conditions apart.
        binning: steps and neurons that are read; None: steps as in the file, or as above, and all neurons.

    Raises:
        UserError: if the file cannot be read or lacks a column, or its steps do not fit.
    """
    with _readable(path):
        if _has_spikes(path):
            parts = from_tables(path, read_entries(path, NWB_ENTRIES), by, binning)
        else:
            npz_file = path.suffix == ".npz"
            arrays = (
                npz.read(path, _is_wanted) if npz_file else hdf5.read(path, list(filter(_is_wanted, hdf5.names(path))))
            )
            parts = _from_arrays(path, arrays, by, 1 if binning is None else steps_in(binning.dt, arrays.get("dt")))
    keep = None if binning is None else kept_units(path, binning)
    if keep is None:
        return parts
    return {part: replace(each, trials=[trial[:, keep] for trial in each.trials]) for part, each in parts.items()}


def kept_units(path: Path, binning: Binning) -> BoolArray | None:
    """Return which neurons of a file are read, shape (neurons,); None for all.

    Raises:
        UserError: if the file does not say their areas, lacks a column, or no neuron is left.
    """
    keep = None
    if binning.area:
        areas = areas_of(path)
        if areas is None:
            raise UserError(f"{path.name} does not say the area of each neuron; expected one of {', '.join(AREAS)}")
        check_known(f"area of {path.name}", binning.area, np.unique(areas).tolist())
        keep = areas == binning.area
    if binning.unit_filter:
        try:
            units = from_mapping(_unit_columns(path))
            chosen = np.logical_and.reduce([rows_where(units, each) for each in binning.unit_filter.split(" and ")])
        except TableError as error:
            raise UserError(f"{option('--recording-unit-filter')}: units of {path.name}: {error}") from None
        keep = chosen if keep is None else keep & chosen
        if not keep.any():
            raise UserError(f"{option('--recording-unit-filter')}: no neuron of {path.name} is left")
    return keep


def _unit_columns(path: Path) -> dict[str, np.ndarray]:
    """Return what a file says of each neuron by name: columns of the units, or arrays ``unit_NAME``."""
    with _readable(path):
        if not _has_spikes(path):
            every = npz.names(path) if path.suffix == ".npz" else hdf5.names(path)
            return _named(path, UNIT, [name.removeprefix(UNIT) for name in every if name.startswith(UNIT)])
        return columns_of_units(path)


def _is_wanted(name: str) -> bool:
    return name in ("activity", "mask", "inputs", "dt") or name.startswith((CONDITION, PERIOD))


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn any error of reading into an error of a single line."""
    try:
        yield
    except (OSError, KeyError, ValueError, TypeError, IndexError, OverflowError, MemoryError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else message_of(error)
        raise UserError(f"{path} has no trials that can be read: {reason}") from None


def columns_of(path: Path) -> tuple[str, ...]:
    """Return the names of the columns that tell the trials of a file apart.

    Raises:
        UserError: if the file cannot be read.
    """
    with _readable(path):
        if _has_spikes(path):
            return columns_of_trials(path)
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
    require(path, columns, by)
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
        populations |= long_trials(path, period, rows, names, np.arange(n), input_rows)
    return populations


def _cut(values: np.ndarray, mask: np.ndarray, ends: np.ndarray, steps_in_bin: int) -> list[np.ndarray]:
    """Return a period of each trial, averaged over bins, without the steps that are not in the mask."""
    spans = [slice(int(a), int(b)) for a, b in ends]
    return [averaged(np.asarray(values[k, at], float)[mask[k, at]], steps_in_bin) for k, at in enumerate(spans)]


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
