"""HDF5 files: trials of NWB, and structures of MATLAB v7.3; links to other places are not followed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.behaviour.conversion import from_mapping
from neurogym.behaviour.entries import TableError
from neurogym.foreign.hdf5 import member_of, values_of

if TYPE_CHECKING:
    from pandas import DataFrame


TRIALS_GROUP = "intervals/trials"
DEEPEST_GROUP = 6  #: levels of groups that are read


def read_trials(path: Path) -> DataFrame | None:
    """Return the trials of an NWB file, or None for another HDF5 file.

    Raises:
        TableError: if an NWB file has no table of trials.
    """
    import h5py

    with h5py.File(path, "r") as file:
        trials = member_of(file, TRIALS_GROUP)
        if isinstance(trials, h5py.Group):
            return _nwb(file, trials)
        if path.suffix.lower() == ".nwb":
            raise TableError(f"found no table {TRIALS_GROUP!r}, expected trials as NWB keeps them")
    return None


def identity_of(path: Path) -> str:
    """Return the start and the identifier of the session of an NWB file; empty if the file has none."""
    import h5py

    with h5py.File(path, "r") as file:
        members = [member_of(file, name) for name in ("session_start_time", "identifier")]
        words = [each[()] for each in members if isinstance(each, h5py.Dataset) and each.shape == ()]
    return " ".join(word.decode("utf-8", "replace") if isinstance(word, bytes) else str(word) for word in words)


def _nwb(file: Any, trials: Any) -> DataFrame:
    import h5py

    ids = member_of(trials, "id")
    if not isinstance(ids, h5py.Dataset) or ids.ndim != 1:
        raise TableError(f"found no 'id' in {TRIALS_GROUP!r}, expected trials as NWB keeps them")
    n, columns = len(ids), dict[str, Any]()
    for name in trials:
        data = member_of(trials, name)
        ragged = f"{name}_index" in trials or name.endswith("_index")
        if name != "id" and not ragged and isinstance(data, h5py.Dataset) and data.shape == (n,):
            values = values_of(data)
            if values is not None:
                columns[name] = values
    if not columns:
        raise TableError(f"found no columns in {TRIALS_GROUP!r}, expected a value for each trial")
    for name, member in (("subject", "general/subject/subject_id"), ("session", "general/session_id")):
        data = member_of(file, member)
        if isinstance(data, h5py.Dataset) and data.shape == () and name not in columns:
            word = values_of(data)
            columns[name] = [str(word)] * n
    return from_mapping(columns)


def read_structures(path: Path) -> dict[str, Any]:
    """Return the content of an HDF5 file, such as MATLAB v7.3, as nested dictionaries of vectors and words."""
    import h5py

    with h5py.File(path, "r") as file:
        return _structure(file, file, 0)


def _structure(group: Any, file: Any, depth: int) -> dict[str, Any]:
    import h5py

    content: dict[str, Any] = {}
    for name in group if depth <= DEEPEST_GROUP else ():
        member = None if name.startswith("#") else member_of(group, name)
        if isinstance(member, h5py.Group):
            content[name] = _structure(member, file, depth + 1)
        elif isinstance(member, h5py.Dataset):
            content[name] = _entry(member, file, depth)
    return content


def _entry(data: Any, file: Any, depth: int) -> Any:
    """Return an entry of a structure: characters as a word, references to cells as their content."""
    import h5py

    kind = data.attrs.get("MATLAB_class", b"")
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    if data.attrs.get("MATLAB_empty", 0):
        return "" if kind == "char" else np.zeros(0)
    if h5py.check_ref_dtype(data.dtype) is not None:
        cells = []
        for reference in data[()].ravel():
            target = file[reference] if reference else None
            if isinstance(target, h5py.Dataset) and h5py.check_ref_dtype(target.dtype) is None:
                cells.append(_entry(target, file, depth + 1))
            elif isinstance(target, h5py.Group) and depth < DEEPEST_GROUP:
                cells.append(_structure(target, file, depth + 1))
            else:
                cells.append(None)
        return [cell.item() if isinstance(cell, np.ndarray) and cell.size == 1 else cell for cell in cells]
    values = values_of(data)
    if values is None:
        return np.zeros(0)
    if kind == "char":
        return "".join(map(chr, values.T.ravel().astype(int)))
    if kind == "logical":
        values = values.astype(bool)
    values = values.T
    return values.item() if values.size == 1 else values
