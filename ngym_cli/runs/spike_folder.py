"""Folders of spike times with a table of trials, read as the entries of an NWB file.

::

    session/
        trials.csv       start_time, stop_time (s), and a column for each condition
        periods.csv      optional: period, trial (from 0), start_time, stop_time
        spikes.csv       unit, time (s); or one file of times for each unit: spikes/*.npy or spikes/*.txt
        units.csv        optional: unit (name or number, as in spikes.csv), area, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from neurogym.messages.names import unknown

#: Names of the columns of ``spikes.csv``.
UNIT, TIME = ("unit", "cluster", "neuron"), ("time", "spike_time", "times")
#: Smallest share of the spikes between the first and the last trial; below it, the times have other units.
FEWEST_INSIDE = 0.01


def read(path: Path, wanted: Iterable[str], trials: str, periods: str, units: str) -> dict[str, np.ndarray]:
    """Return entries of a folder by the names that they have in NWB files; those that it lacks are left out.

    Args:
        path: the folder.
        wanted: names of data sets, and of tables, whose columns are read.
        trials: name of the table of trials.
        periods: name of the table of periods.
        units: name of the table of units.

    Raises:
        ValueError: if a table lacks a column, or the times of spikes and trials do not have one unit.
    """
    listed = tuple(wanted)
    columns = _columns(path / "trials.csv")
    entries = {f"{trials}/{name}": values for name, values in columns.items()}
    if (path / "periods.csv").exists():
        entries |= {f"{periods}/{name}": values for name, values in _columns(path / "periods.csv").items()}
    if any(name.startswith(units) for name in listed):
        spikes = _spikes(path)
        _check_times(path / "trials.csv", columns, spikes)
        entries[f"{units}/spike_times"] = np.concatenate([np.zeros(0), *spikes.values()])
        entries[f"{units}/spike_times_index"] = np.cumsum([len(each) for each in spikes.values()])
        entries |= {f"{units}/{name}": values for name, values in _of_units(path, list(spikes)).items()}
    return {
        name: values for name, values in entries.items() if any(name == w or name.startswith(f"{w}/") for w in listed)
    }


def column_names(path: Path) -> list[str]:
    """Return the names of the columns of the trials."""
    return list(_columns(path / "trials.csv"))


def unit_columns(path: Path) -> list[str]:
    """Return the names of the columns of ``units.csv``; none where it is missing."""
    table = path / "units.csv"
    return list(_columns(table)) if table.is_file() else []


def files(path: Path) -> list[Path]:
    """Return the files of a folder that are read."""
    tables = [path / f"{name}.csv" for name in ("trials", "periods", "spikes", "units")]
    return [each for each in tables if each.is_file()] + sorted((path / "spikes").glob("*"))


def _columns(path: Path) -> dict[str, np.ndarray]:
    import pandas as pd  # most commands read no folder of spikes

    if not path.is_file():
        raise ValueError(f"{path.name} is missing")
    table = pd.read_csv(path)
    return {str(name): np.asarray(table[name]) for name in table.columns}


def _column(path: Path, columns: Mapping[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    """Return the column that has one of several names."""
    found = next((columns[name] for name in names if name in columns), None)
    if found is None:
        raise ValueError(f"{path.name} has no column {names[0]}: {unknown('column', names[0], columns)}")
    return found


def _spikes(path: Path) -> dict[str, np.ndarray]:
    """Return the sorted spike times of each unit, in seconds, by name."""
    table = path / "spikes.csv"
    if table.is_file():
        columns = _columns(table)
        unit, time = _column(table, columns, UNIT), np.asarray(_column(table, columns, TIME), float)
        names, index = np.unique(unit, return_inverse=True)
        return {str(name): np.sort(time[index == k]) for k, name in enumerate(names.tolist())}
    found = [each for each in files(path) if each.suffix in (".npy", ".txt")]
    if not found:
        raise ValueError("spikes.csv is missing, and there is no file spikes/*.npy or spikes/*.txt")
    return {each.stem: np.sort(_times(each)) for each in found}


def _times(path: Path) -> np.ndarray:
    """Return the spike times of one unit."""
    values = np.load(path, allow_pickle=False) if path.suffix == ".npy" else np.loadtxt(path, ndmin=1)
    if values.ndim != 1 or values.dtype.kind not in "fiu" or not np.isfinite(values).all():
        raise ValueError(f"{path.name} does not hold one column of finite spike times")
    return values.astype(float)


def _check_times(path: Path, trials: Mapping[str, np.ndarray], spikes: Mapping[str, np.ndarray]) -> None:
    """Refuse spikes whose times cannot have the unit of the trials, whose table is in a file."""
    times = np.concatenate([np.zeros(0), *spikes.values()])
    start, stop = (np.asarray(_column(path, trials, (name,)), float) for name in ("start_time", "stop_time"))
    inside = np.mean((times >= np.nanmin(start)) & (times <= np.nanmax(stop))) if len(times) else 0.0
    if inside < FEWEST_INSIDE:
        raise ValueError(
            f"{inside:.1%} of the spikes lie between the first and the last trial ({np.nanmin(start):g} to "
            f"{np.nanmax(stop):g}; spikes up to {times.max(initial=0):g}); both need seconds"
        )


def _of_units(path: Path, names: list[str]) -> dict[str, np.ndarray]:
    """Return the columns of ``units.csv`` in the order of the units with spikes."""
    table = path / "units.csv"
    if not table.is_file():
        return {}
    columns = _columns(table)
    listed = [str(name) for name in _column(table, columns, UNIT)]
    missing = [name for name in names if name not in listed]
    if missing:
        raise ValueError(f"units.csv lacks unit {missing[0]}, which has spikes")
    order = [listed.index(name) for name in names]
    return {name: values[order] for name, values in columns.items()}
