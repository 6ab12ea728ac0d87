"""Evaluations in the formats of other tools: CSV tables, padded arrays, and NWB files for neurophysiology tools."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neurogym.analysis.trial_tables import Table
from ngym_cli import runs
from ngym_cli.environments.probes import ONSET
from ngym_cli.errors import UserError, library, one_line, option
from ngym_cli.evaluation.activity import SPIKES, spike_rates, spike_scale, spike_times
from ngym_cli.files.hdf5 import open_to_write
from ngym_cli.files.writing import atomic_file, atomic_path
from ngym_cli.runs.populations import CONDITION, PERIOD, period_spans
from ngym_cli.runs.recordings import ACTIVITY_FILE, Recording
from ngym_cli.runs.trial_table import read_trials, to_arrow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from hdmf.data_utils import DataChunkIterator
    from pynwb import NWBFile

#: Time between trials in the exported session, ms: trials of different environments are laid one after the other.
GAP = 1_000.0


#: Names of recorded quantities in the file where they differ.
ARRAY_NAMES = {"observations": "inputs", "logits": "outputs"}

#: Largest size of the padded arrays, bytes.
MAX_ARRAY_BYTES = 8 << 30


def export(folder: Path, run: runs.RunFolder, form: str) -> Path:
    """Write an evaluation as ``trials.csv``, ``trials.npz`` or ``session.nwb`` in the folder of the evaluation.

    Args:
        folder: of the evaluation.
        run: run of the evaluation.
        form: ``csv``, ``npz`` or ``nwb``.

    Raises:
        UserError: if pynwb is needed and not installed or finds fault with the file, nothing was recorded for padded
            arrays, or these would be too large.
    """
    return {"csv": _csv, "npz": _npz, "nwb": _nwb}[form](folder, run)


def _csv(folder: Path, run: runs.RunFolder) -> Path:
    from pyarrow import csv

    table = to_arrow(read_trials(folder / "trials.parquet"))
    lists = [name for name in table.column_names if str(table.schema.field(name).type).startswith("list")]
    for name in lists:
        words = ["" if row is None else " ".join(map(str, row)) for row in table.column(name).to_pylist()]
        table = table.set_column(table.column_names.index(name), name, [words])
    for at, field in enumerate(table.schema):
        if str(field.type) in ("string", "large_string"):
            table = table.set_column(at, field.name, [[_cell(word) for word in table.column(at).to_pylist()]])
    table = table.rename_columns([str(_cell(name)) for name in table.column_names])
    with atomic_file(folder / "trials.csv") as file:
        csv.write_csv(table, file)
    return folder / "trials.csv"


def _cell(word: str | None) -> str | None:
    """Return a word with a quote in front if a spreadsheet would run the word as a formula."""
    return f"'{word}" if word and word[0] in "=+-@\t\r" else word


def _npz(folder: Path, run: runs.RunFolder) -> Path:
    """Write ``trials.npz`` in the folder of an evaluation that was recorded.

    Arrays: each recorded quantity, shape (trials, steps, ...), 0 after the end of a trial; ``mask`` (trials, steps),
    true within trials; ``rates`` (Hz) where spikes were drawn; ``dt`` (ms); ``condition_NAME`` for each column of the
    trial table; and ``period_NAME`` (trials, 2) for each period, its first step and the step after its last.

    Raises:
        UserError: if the arrays would be larger than 8 GB.
    """
    recording, table = Recording(folder), read_trials(folder / "trials.parquet")
    lengths = np.diff(recording.offsets)
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    arrays = {"mask": mask, "dt": np.array(recording.dt)}
    content = {ARRAY_NAMES.get(name, name): recording[name] for name in recording.quantities}
    if SPIKES in content:
        content["rates"] = spike_rates(recording)
    size = sum(mask.size * values[:1].nbytes for values in content.values())
    if size > MAX_ARRAY_BYTES:
        raise UserError(
            f"the padded arrays would take {size / 1e9:.0f} GB; ask for fewer {option('--trials')}, or record less"
        )
    for name, values in content.items():
        arrays[name] = np.zeros((*mask.shape, *values.shape[1:]), values.dtype)
        arrays[name][mask] = values
    arrays |= {CONDITION + name: values for name, values in _columns(table).items()}
    for name, spans in period_spans(table, recording.offsets, recording.dt).items():
        ends = np.array([[span.start, span.stop] for span in spans], np.int64).reshape(-1, 2)
        arrays[PERIOD + name] = ends - recording.offsets[:-1, None]
    with atomic_file(folder / "trials.npz") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    return folder / "trials.npz"


def _columns(table: Table) -> Table:
    """Return the columns of a trial table as numbers and words; columns of unequal vectors are left out."""
    columns = {}
    for name, values in table.items():
        if values.dtype != object:
            columns[name] = values
        elif any(isinstance(value, list | np.ndarray) for value in values):
            if len({np.shape(value) for value in values}) == 1:
                columns[name] = np.array(values.tolist(), float)
        else:
            columns[name] = np.array(["" if value is None else str(value) for value in values], str)
    return columns


def _nwb(folder: Path, run: runs.RunFolder) -> Path:
    pynwb = library("pynwb", "export to NWB needs pynwb", "nwb")
    manifest, table = run.manifest(), read_trials(folder / "trials.parquet")
    recording = Recording(folder) if (folder / ACTIVITY_FILE).exists() else None
    session = pynwb.NWBFile(
        session_description=f"{len(table['trial']):,} trials of {manifest.get('task')} by an artificial agent",
        identifier=f"{run.path}/{folder.name}",
        session_start_time=datetime.fromisoformat(str(manifest.get("started"))),
        experiment_description=f"evaluation {folder.name} of a network trained with {manifest.get('alg')}",
        source_script=str(manifest.get("command", "ngym")),
        source_script_file_name="ngym",
        keywords=["artificial neural network", str(manifest.get("task"))],
        subject=pynwb.file.Subject(
            subject_id=run.name,
            species="artificial neural network",
            sex="U",
            age="P0D",
            description=f"{manifest.get('network')}, seed {manifest.get('seed')}",
        ),
    )
    try:
        starts = _trials(session, table)
        if recording is not None:
            _series(pynwb, session, recording, starts)
            if SPIKES in recording.quantities:
                _units(pynwb, session, recording, starts)
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"{folder} cannot be written as NWB: {one_line(error)}") from error
    with atomic_path(folder / "session.nwb") as temporary:
        with open_to_write(temporary) as (stored, _), pynwb.NWBHDF5IO(mode="w", file=stored) as file:
            file.write(session)
        faults = pynwb.validate(path=str(temporary))
        if faults:
            raise UserError(f"pynwb finds fault with the file: {faults[0]}")
    return folder / "session.nwb"


def _trials(session: NWBFile, table: Table) -> np.ndarray:
    """Add the trials and the epochs of all periods; return the start of each trial in seconds."""
    length = table["length_ms"] / 1000
    starts = np.r_[0, np.cumsum(length + GAP / 1000)][: len(length)]
    columns = {_nwb_name(key): values for key, values in table.items() if values.ndim == 1 and key != "trial"}
    for name in columns:
        session.add_trial_column(name, _meaning(name))
    ready = {name: _plain(values) for name, values in columns.items()}
    for k, (start, duration) in enumerate(zip(starts, length, strict=True)):
        session.add_trial(start_time=start, stop_time=start + duration, **{name: v[k] for name, v in ready.items()})
    periods = [name.removeprefix(ONSET) for name in table if name.startswith(ONSET)]
    if not periods:
        return starts
    epochs = session.create_time_intervals("periods", "periods of each trial, as far as it went")
    epochs.add_column("period", "name of the period")
    epochs.add_column("trial", "row of the trial in the trials table")
    for k, start in enumerate(starts):
        for name in periods:
            begin = table[ONSET + name][k] / 1000
            end = min(begin + table[f"period_{name}"][k] / 1000, length[k])
            if end > begin:
                epochs.add_interval(start_time=start + begin, stop_time=start + end, period=name, trial=k)
    return starts


def _nwb_name(name: str) -> str:
    """Return a column name valid in NWB: no slashes, no colons, not empty."""
    return name.replace("/", "_").replace(":", "_") or "unnamed"


def _plain(values: np.ndarray) -> list[float] | list[int] | list[str]:
    """Return a column as numbers, truth values or words, the types that NWB supports."""
    if values.dtype.kind in "iuf":
        return values.astype(float if values.dtype.kind == "f" else np.int64).tolist()
    if values.dtype.kind == "b":
        return values.astype(np.int64).tolist()
    return ["" if item is None else str(item) for item in values]


def _meaning(name: str) -> str:
    if name.startswith("period_"):
        return f"duration of the period {name.removeprefix('period_')}, ms"
    if name.startswith(ONSET):
        return f"onset of the period {name.removeprefix(ONSET)} from the start of the trial, ms"
    return {
        "rt": "reaction time, ms",
        "length_ms": "length of the trial, ms",
        "reward": "summed reward",
        "outcome": "correct, error, abort or miss",
        "choice": "action on the step that ended the trial",
        "fixation_in": "periods in which the task asks for fixation",
        "decision_onset": "onset of the period from which answers count, from the start of the trial, ms",
        "first_action": "first action other than fixation, from the start of the trial, ms",
    }.get(name, name)


def _series(pynwb: ModuleType, session: NWBFile, recording: Recording, starts: np.ndarray) -> None:
    """Add each recorded quantity as a time series, read from the file in pieces while writing."""
    times = recording.times(starts)
    module = session.create_processing_module("ecephys", "activity of the network's units at each step")
    first = None
    for name in (name for name in recording.quantities if name != SPIKES):
        about = {
            "activity": "hidden units of the network, one column each",
            "values": "value that the critic assigns",
            "logits": "action preferences",
            "observations": "input to the network",
        }.get(name, name)
        series = pynwb.TimeSeries(
            name=name,
            data=_lazily(recording, name),
            unit="a.u.",
            timestamps=times if first is None else first,
            description=about,
            comments="steps of all trials, one trial after the other",
        )
        first = series if first is None else first
        module.add(series)


def _units(pynwb: ModuleType, session: NWBFile, recording: Recording, starts: np.ndarray) -> None:
    """Add spikes as units, with the relation of the rate of each unit to the series ``activity``."""
    gain, low, peak = spike_scale(recording)
    units = pynwb.misc.Units(
        name="units",
        description=f"Poisson spikes; rate (Hz) = gain * (activity - low), at most {peak:g} Hz, of the series activity",
    )
    units.add_column("gain", "Hz per unit of activity")
    units.add_column("low", "activity at rate 0")
    for k, times in enumerate(spike_times(recording, starts)):
        units.add_unit(spike_times=times, gain=gain[k], low=low[k])
    session.units = units


def _lazily(recording: Recording, name: str) -> DataChunkIterator:
    """Return a quantity in pieces, so that the whole array is never in memory."""
    import h5py
    from hdmf.data_utils import DataChunkIterator

    def rows() -> Iterator[np.ndarray]:
        with h5py.File(recording.path, "r") as file:
            dataset = file[name]
            for at in range(0, len(dataset), 4096):
                yield from np.asarray(dataset[at : at + 4096])

    with h5py.File(recording.path, "r") as file:
        shape, dtype = file[name].shape, file[name].dtype
    return DataChunkIterator(data=rows(), maxshape=(None, *shape[1:]), dtype=dtype, buffer_size=4096)
